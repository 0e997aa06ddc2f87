import { Type } from '@uwdata/flechette'
import { formulaTest } from '../fast/fused-arithmetic.ts'
import { lettersTest } from '../fast/text/letters.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { arithmeticNode, negateNode } from './arithmetic.ts'
import { callNode, castNode } from './call.ts'
import { columnNode } from './column.ts'
import { compareNodes, compareWithLiteral } from './compare.ts'
import {
  constantTest,
  isBoolNode,
  isNullNode,
  isUnknownNode,
  junctionNode,
  notNode,
  testOfValues,
  valuesOfTest,
} from './logic.ts'
import { inNode, likeNode } from './membership.ts'
import type { TestNode, ValueNode } from './node.ts'
import { flipped } from './operators.ts'
import { valueTestNode } from './value-test.ts'

/** The nodes for a boolean plan that was folded: without constant parts but literals, and without needless nulls. */
export function buildTest(plan: Plan): TestNode {
  switch (plan.kind) {
    case 'literal':
      return constantTest(plan.value as boolean | null)
    case 'and':
    case 'or':
      return junctionNode(plan.kind, plan.args.map(buildTest))
    case 'not':
      return notNode(buildTest(plan.arg))
    case 'isBool':
      return isBoolNode(buildTest(plan.arg), plan.value, plan.negated)
    case 'isNull':
      if (isBoolean(plan.arg) && plan.arg.kind !== 'column')
        return isUnknownNode(buildTest(plan.arg), plan.negated)
      return isNullNode(buildValue(plan.arg), plan.negated)
    case 'compare':
      return buildCompare(plan)
    case 'in':
      return inNode(buildValue(plan.arg), plan.arg.type, plan.values, plan.hasNull, plan.negated)
    case 'like':
      return likeNode(buildValue(plan.arg), plan)
    default:
      return testOfValues(buildValue(plan))
  }
}

function buildCompare(plan: Extract<Plan, { kind: 'compare' }>): TestNode {
  const { operator, left } = plan
  const ofLetters = lettersTest(plan)
  if (ofLetters && left.kind === 'call') {
    return valueTestNode(buildValue(left.args[0]!), ofLetters, { negated: operator === '<>' })
  }
  const slow = compareSteps(plan)
  return formulaTest(plan, slow, buildValue) ?? slow
}

/** A comparison for which each step of its sides is calculated by itself. */
function compareSteps({ operator, left, right }: Extract<Plan, { kind: 'compare' }>): TestNode {
  if (right.kind === 'literal')
    return compareWithLiteral(operator, buildValue(left), right.type, right.value!)
  if (left.kind === 'literal') {
    return compareWithLiteral(flipped[operator], buildValue(right), left.type, left.value!)
  }
  return compareNodes(operator, buildValue(left), buildValue(right))
}

export function buildValue(plan: Plan): ValueNode {
  switch (plan.kind) {
    case 'column':
      return columnNode(plan)
    case 'literal':
      return constantNode(plan)
    case 'arithmetic':
      return arithmeticNode(plan, buildValue(plan.left), buildValue(plan.right))
    case 'negate':
      return negateNode(plan, buildValue(plan.arg))
    case 'call':
      return callNode(plan, plan.args.map(buildValue))
    case 'cast':
      return castNode(plan, buildValue(plan.arg), plan.arg.type)
    default:
      return valuesOfTest(buildTest(plan), plan.type)
  }
}

function constantNode({ type, value }: { readonly type: Plan['type']; readonly value: Scalar }): ValueNode {
  return {
    cost: 0,
    raises: false,
    constant: value,
    vector(frame) {
      const values: Scalar[] = new Array(frame.length).fill(value)
      return { kind: 'scalars', type, values, valid: value === null ? frame.noRows() : null }
    },
  }
}

function isBoolean(plan: Plan): boolean {
  return plan.type.typeId === Type.Bool
}

import { Type } from '@uwdata/flechette'
import type { Plan, Scalar } from '../plan/plan.ts'
import { arithmeticNode, negateNode } from './arithmetic.ts'
import { callNode, castNode } from './call.ts'
import { caseNode } from './case.ts'
import { columnNode } from './column.ts'
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
import type { Ask, TestNode, ValueNode } from './node.ts'
import { askEach, literalOnRight, type QuestionPlan, questionNode, questionOf } from './question.ts'

/**
 * A faster way to answer what the nodes of this folder answer, for some plans. It gives undefined for a plan that
 * is not one of them, and asks `slow` for values that do not lie in memory as it needs them.
 */
export interface FastPath {
  /** What it is switched off by. */
  readonly name: string
  /** For a boolean expression. */
  readonly test?: (plan: Plan, slow: TestNode, build: Build) => TestNode | undefined
  /** For an expression of any type. */
  readonly value?: (plan: Plan, slow: ValueNode, build: Build) => ValueNode | undefined
  /** For what a comparison, `IN` or `LIKE` asks of values. A literal stands on the right of a comparison. */
  readonly ask?: (plan: QuestionPlan, slow: Ask) => Ask | undefined
}

/** Makes the nodes for plans. */
export interface Build {
  test(plan: Plan): TestNode
  value(plan: Plan): ValueNode
}

/**
 * Makes nodes for plans that were folded: without constant parts but literals, and without needless nulls. The
 * first of the fast paths is asked first; what is `slow` to it are those that follow, and last the plain nodes.
 * `afterNode` is called for each node, which a builder that is asked again finds.
 */
export function builder(fastPaths: readonly FastPath[], afterNode: () => void = () => {}): Build {
  // Fast paths ask for nodes of parts that the slow way has, too. Without these maps each level would double.
  const tests = new Map<Plan, TestNode>()
  const values = new Map<Plan, ValueNode>()
  const build: Build = {
    test(given) {
      const known = tests.get(given)
      if (known !== undefined) return known
      const plan = given.kind === 'compare' ? literalOnRight(given) : given
      let node = plainTest(plan)
      for (const path of fastPaths.toReversed()) node = path.test?.(plan, node, build) ?? node
      tests.set(given, node)
      afterNode()
      return node
    },
    value(plan) {
      const known = values.get(plan)
      if (known !== undefined) return known
      let node = plainValue(plan)
      for (const path of fastPaths.toReversed()) node = path.value?.(plan, node, build) ?? node
      values.set(plan, node)
      afterNode()
      return node
    },
  }

  function plainTest(plan: Plan): TestNode {
    switch (plan.kind) {
      case 'literal':
        return constantTest(plan.value as boolean | null)
      case 'and':
      case 'or':
        return junctionNode(plan.kind, plan.args.map(build.test))
      case 'not':
        return notNode(build.test(plan.arg))
      case 'isBool':
        return isBoolNode(build.test(plan.arg), plan.value, plan.negated)
      case 'isNull':
        if (plan.arg.type.typeId === Type.Bool && plan.arg.kind !== 'column')
          return isUnknownNode(build.test(plan.arg), plan.negated)
        return isNullNode(build.value(plan.arg), plan.negated)
      case 'compare':
      case 'in':
      case 'like':
        return asked(plan)
      default:
        return testOfValues(build.value(plan))
    }
  }

  function asked(plan: QuestionPlan): TestNode {
    const question = questionOf(plan)
    let ask = askEach(question)
    for (const path of fastPaths.toReversed()) ask = path.ask?.(plan, ask) ?? ask
    return questionNode(question, question.args.map(build.value), ask)
  }

  function plainValue(plan: Plan): ValueNode {
    switch (plan.kind) {
      case 'column':
        return columnNode(plan)
      case 'literal':
        return constantNode(plan)
      case 'arithmetic':
        return arithmeticNode(plan, build.value(plan.left), build.value(plan.right))
      case 'negate':
        return negateNode(plan, build.value(plan.arg))
      case 'call':
        return callNode(plan, plan.args.map(build.value))
      case 'cast':
        return castNode(plan, build.value(plan.arg))
      case 'case':
        return caseNode(plan, build)
      default:
        return valuesOfTest(build.test(plan), plan.type)
    }
  }

  return build
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

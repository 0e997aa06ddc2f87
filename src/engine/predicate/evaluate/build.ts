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
import type { TestNode, ValueNode, VectorTest } from './node.ts'
import { literalOnRight, testEach, type ValueTestPlan, valueTestNode, valueTestOf } from './value-test.ts'

/**
 * A loop over the values of whole columns, for some plans: a faster implementation of nodes of this folder. Each function
 * returns undefined for any other plan. Its result calls `slow` for values whose layout in memory it does not support.
 */
export interface Kernel {
  /** The name that a setting switches it off by. */
  readonly name: string
  /** When it is chosen, in words. */
  readonly chosenFor: string
  /** A predicate that it is chosen for. */
  readonly example: string
  /** The kinds of plans that it is asked about. */
  readonly plans: readonly Plan['kind'][]
  readonly test?: TestKernel
  readonly vectorTest?: VectorTestKernel
  readonly value?: ValueKernel
}

/** For a boolean expression. */
export type TestKernel = (plan: Plan, slow: TestNode, build: Build) => TestNode | undefined
/** For the test in a comparison, `IN` or `LIKE`. In a comparison a literal is on the right. */
export type VectorTestKernel = (plan: ValueTestPlan, slow: VectorTest) => VectorTest | undefined
/** For an expression of any type. */
export type ValueKernel = (plan: Plan, slow: ValueNode, build: Build) => ValueNode | undefined

/** Builds the nodes for plans. */
export interface Build {
  test(plan: Plan): TestNode
  value(plan: Plan): ValueNode
}

/**
 * Builds nodes for folded plans: the only constant parts are literals, and needless nulls are gone. Calls `afterNode`
 * for each node, which later calls of the builder return from its cache.
 */
export function builder(kernels: readonly Kernel[], afterNode: () => void = () => {}): Build {
  // Kernels build nodes of parts that plain nodes also have. Without these maps the work would double per level.
  const tests = new Map<Plan, TestNode>()
  const values = new Map<Plan, ValueNode>()
  const build: Build = {
    test(given) {
      const known = tests.get(given)
      if (known !== undefined) return known
      const plan = given.kind === 'compare' ? literalOnRight(given) : given
      const node = chosen(plan, plainTest(plan), (kernel, slow) => kernel.test?.(plan, slow, build))
      tests.set(given, node)
      afterNode()
      return node
    },
    value(plan) {
      const known = values.get(plan)
      if (known !== undefined) return known
      const node = chosen(plan, plainValue(plan), (kernel, slow) => kernel.value?.(plan, slow, build))
      values.set(plan, node)
      afterNode()
      return node
    },
  }

  /** The first kernel that supports a plan. Its `slow` is the next one that does, and finally the plain node. */
  function chosen<T>({ kind }: Plan, plain: T, make: (kernel: Kernel, slow: T) => T | undefined): T {
    const asked = kernels.filter(({ plans }) => plans.includes(kind))
    return asked.reduceRight((slow, kernel) => make(kernel, slow) ?? slow, plain)
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
        return plainValueTest(plan)
      default:
        return testOfValues(build.value(plan))
    }
  }

  function plainValueTest(plan: ValueTestPlan): TestNode {
    const valueTest = valueTestOf(plan)
    const vectorTest = chosen(plan, testEach(valueTest), (kernel, slow) => kernel.vectorTest?.(plan, slow))
    return valueTestNode(valueTest, valueTest.args.map(build.value), vectorTest)
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

import { type DataType, Type } from '@uwdata/flechette'
import { CatalogError } from '../../../../src/base/errors.ts'
import { roundToHalf } from '../../../../src/engine/arrow/half.ts'
import type { CompareOperator, LikePlan, Plan, Scalar } from '../../../../src/engine/predicate/plan/plan.ts'

/** The value a column, or a field of a struct, has in the row at hand. */
export type Cell = (path: readonly number[]) => Scalar

/** What a filter wants of an expression decides which operands of AND and OR are looked at. */
type Wanted = 'true' | 'false' | 'both'

const opposite = { true: 'false', false: 'true', both: 'both' } as const

/** Whether a predicate is true for a row: one row at a time, as simply as it can be said. */
export function isTrue(plan: Plan, cell: Cell): boolean {
  return truth(plan, cell, 'true') === true
}

function truth(plan: Plan, cell: Cell, wanted: Wanted): boolean | null {
  switch (plan.kind) {
    case 'and':
      return conjunction(plan.args, cell, wanted, (arg) => truth(arg, cell, wanted))
    case 'or':
      return not(conjunction(plan.args, cell, opposite[wanted], (arg) => not(truth(arg, cell, wanted))))
    case 'not':
      return not(truth(plan.arg, cell, opposite[wanted]))
    case 'isBool':
      return (truth(plan.arg, cell, plan.value ? 'true' : 'false') === plan.value) !== plan.negated
    case 'isNull': {
      const value =
        plan.arg.type.typeId === Type.Bool ? truth(plan.arg, cell, 'both') : evaluate(plan.arg, cell)
      return (value === null) !== plan.negated
    }
    case 'compare': {
      if (isConstantNull(plan.left) || isConstantNull(plan.right)) return null
      const a = evaluate(plan.left, cell)
      const b = evaluate(plan.right, cell)
      return a === null || b === null ? null : compare(plan.operator, a, b)
    }
    case 'in': {
      const value = isConstantNull(plan.arg) ? null : evaluate(plan.arg, cell)
      if (value === null) return null
      if (plan.values.some((one) => compare('=', value, one))) return !plan.negated
      return plan.hasNull ? null : plan.negated
    }
    case 'like': {
      if (plan.pattern === null) return null
      const value = evaluate(plan.arg, cell)
      return value === null ? null : like(value as string, plan.pattern, plan.insensitive) !== plan.negated
    }
    default:
      return evaluate(plan, cell) as boolean | null
  }
}

function conjunction(
  args: readonly Plan[],
  _cell: Cell,
  wanted: Wanted,
  ask: (arg: Plan) => boolean | null,
): boolean | null {
  let result: boolean | null = true
  for (const arg of args) {
    const value = ask(arg)
    if (value === false) return false
    if (value === null) result = null
    if (value === null && wanted === 'true') return null
  }
  return result
}

function not(value: boolean | null): boolean | null {
  return value === null ? null : !value
}

/** Operations on a constant that is null are null for every row, and their other operands do not matter. */
function isConstantNull(plan: Plan): boolean {
  try {
    return evaluate(plan, noRow) === null
  } catch {
    return false
  }
}

// One for all, as taking a stack for each takes most of the time.
const notConstant = new TypeError('not constant')

function noRow(): never {
  throw notConstant
}

/** The value of an expression in a row. */
export function evaluate(plan: Plan, cell: Cell): Scalar {
  switch (plan.kind) {
    case 'literal':
      return plan.value
    case 'column':
      return cell(plan.path)
    case 'arithmetic': {
      if (isConstantNull(plan.left) || isConstantNull(plan.right)) return null
      const a = evaluate(plan.left, cell)
      const b = evaluate(plan.right, cell)
      return a === null || b === null ? null : calculate(plan.operator, plan.type, a as number, b as number)
    }
    case 'negate': {
      const value = evaluate(plan.arg, cell)
      if (value === null) return null
      return plan.type.typeId === Type.Float ? -(value as number) : wrap(plan.type, -BigInt(value as number))
    }
    case 'call': {
      if (plan.function.strict && plan.args.some(isConstantNull)) return null
      if (plan.function.takesFirst) {
        for (const arg of plan.args) {
          const value = evaluate(arg, cell)
          if (value !== null) return value
        }
        return null
      }
      const args = plan.args.map((arg) => evaluate(arg, cell))
      return plan.function.strict && args.includes(null) ? null : plan.function.evaluate(...args)
    }
    case 'case': {
      const operand = plan.operand && evaluate(plan.operand, cell)
      const branch = plan.branches.find(({ when }) => {
        if (plan.operand === undefined) return truth(when, cell, 'true') === true
        const value = operand === null ? null : evaluate(when, cell)
        return value !== null && compare('=', operand as Scalar, value)
      })
      return evaluate(branch ? branch.result : plan.otherwise, cell)
    }
    case 'cast': {
      const value = evaluate(plan.arg, cell)
      return value === null ? null : plan.convert(value)
    }
    default:
      return truth(plan, cell, 'both')
  }
}

function compare(operator: CompareOperator, a: Scalar, b: Scalar): boolean {
  const order = orderOf(a, b)
  switch (operator) {
    case '=':
      return order === 0
    case '<>':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

function orderOf(a: Scalar, b: Scalar): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  const [x, y] = [a, b].map((value) => (Number.isNaN(value) ? Infinity : value)) as [number, number]
  const [xIsNaN, yIsNaN] = [Number(Number.isNaN(a)), Number(Number.isNaN(b))]
  return x < y ? -1 : x > y ? 1 : xIsNaN - yIsNaN
}

function like(value: string, pattern: NonNullable<LikePlan['pattern']>, insensitive: boolean): boolean {
  const source = pattern.map((part) =>
    typeof part === 'string'
      ? part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
      : part.any === 'one'
        ? '.'
        : '.*',
  )
  return new RegExp(`^${source.join('')}$`, insensitive ? 'isu' : 'su').test(value)
}

function calculate(operator: string, type: DataType, a: number, b: number): Scalar {
  if (type.typeId !== Type.Int) {
    const result = { '+': a + b, '-': a - b, '*': a * b, '/': a / b, '%': a % b }[operator]!
    if (type.typeId !== Type.Float || type.precision === 2) return result
    return type.precision === 1 ? Math.fround(result) : roundToHalf(result)
  }
  const [x, y] = [BigInt(a), BigInt(b)]
  if (operator === '+') return wrap(type, x + y)
  if (operator === '-') return wrap(type, x - y)
  if (operator === '*') return wrap(type, x * y)
  if (y === 0n) throw new CatalogError('InvalidInput', 'division by zero')
  if (operator === '%') return wrap(type, x % y)
  if (type.signed && y === -1n && x === -(2n ** BigInt(type.bitWidth - 1))) {
    throw new CatalogError('InvalidInput', 'overflow')
  }
  return wrap(type, x / y)
}

function wrap(type: DataType, value: bigint): Scalar {
  if (type.typeId !== Type.Int) throw new TypeError('not an integer')
  const cut = type.signed ? BigInt.asIntN(type.bitWidth, value) : BigInt.asUintN(type.bitWidth, value)
  return type.bitWidth === 64 ? cut : Number(cut)
}

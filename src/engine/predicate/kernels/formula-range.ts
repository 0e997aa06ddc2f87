import { type DataType, type IntType, Type } from '@uwdata/flechette'
import { isWidening } from '../evaluate/call.ts'
import type { Plan } from '../plan/plan.ts'

/** An operation of a formula. */
export type Step = Extract<Plan, { kind: 'arithmetic' | 'negate' | 'cast' | 'call' }>

/** Whether a loop computes an operation: one that cannot fail. */
export function isStep(plan: Plan): plan is Step {
  if (plan.kind === 'cast') {
    const { arg, type } = plan
    if (!isWidening(arg.type, type)) return false
    return isShort(arg.type) || (type.typeId === Type.Float && (arg.type as IntType).signed)
  }
  if (plan.kind === 'call') return plan.function.kernel?.kind === 'double'
  if (plan.kind === 'negate') return isNumber(plan.type)
  if (plan.kind !== 'arithmetic') return false
  const { operator, type, right } = plan
  if (type.typeId === Type.Float || (operator !== '/' && operator !== '%')) return true
  // The smallest value divided by -1 does not fit, and a division by 0 fails.
  if (right.kind !== 'literal' || Number(right.value) === 0 || Number(right.value) === -1) return false
  return rangeOf(plan) !== undefined || (type as IntType).signed
}

export function isNumber(type: DataType): boolean {
  return type.typeId === Type.Int || type.typeId === Type.Float
}

/** Whether values of a number type are numbers in JavaScript. */
export function isShort(type: DataType): boolean {
  return type.typeId !== Type.Int || type.bitWidth < 64
}

/** The range of an expression's values; both bounds are doubles. */
export type Range = readonly [min: number, max: number]

/** Deeper parts are taken to have any value of their type. */
const maxLevels = 8

/** Up to here a quotient of doubles, rounded down, is that of whole numbers. */
const maxDividend = 2 ** 51

/**
 * The range of an integer, if the types guarantee that doubles hold it and each step before it exactly. That takes
 * three fifths of the time of a BigInt for each step.
 */
export function rangeOf(plan: Plan, levels = maxLevels): Range | undefined {
  const { type } = plan
  if (type.typeId !== Type.Int) return undefined
  if (plan.kind === 'literal') return exact([Number(plan.value), Number(plan.value)])
  const ofType = rangeOfType(type)
  const [arg, other] =
    plan.kind === 'arithmetic'
      ? [plan.left, plan.right]
      : plan.kind === 'negate' || plan.kind === 'cast'
        ? [plan.arg]
        : []
  const isDivision = plan.kind === 'arithmetic' && (plan.operator === '/' || plan.operator === '%')
  // A narrow sum wraps.
  if (isShort(type) && !isDivision) return ofType
  if (arg === undefined || levels === 0 || (plan.kind === 'cast' && !isWidening(arg.type, type)))
    return ofType
  const a = rangeOf(arg, levels - 1)
  if (a === undefined || plan.kind === 'cast') return a ?? ofType
  if (plan.kind === 'negate') return within(type, [-a[1], -a[0]])
  const b = other && rangeOf(other, levels - 1)
  if (plan.kind !== 'arithmetic' || b === undefined) return ofType
  const { operator } = plan
  if (operator === '/' || operator === '%') {
    if (b[0] !== b[1] || b[0] === 0 || Math.max(-a[0], a[1]) > maxDividend) return ofType
    return divided(operator, a, b[0])
  }
  return within(type, ranges[operator](a, b))
}

const ranges = {
  '+': (a: Range, b: Range): Range => [a[0] + b[0], a[1] + b[1]],
  '-': (a: Range, b: Range): Range => [a[0] - b[1], a[1] - b[0]],
  '*': (a: Range, b: Range): Range => {
    const corners = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
    return [Math.min(...corners), Math.max(...corners)]
  },
} as const

function divided(operator: '/' | '%', [min, max]: Range, divisor: number): Range {
  const ends = [Math.trunc(min / divisor), Math.trunc(max / divisor)] as const
  if (operator === '/') return divisor > 0 ? ends : [ends[1], ends[0]]
  const most = Math.abs(divisor) - 1
  return [Math.max(Math.min(min, 0), -most), Math.min(Math.max(max, 0), most)]
}

/** A range of 64-bit integers; undefined if doubles do not hold it, or it wraps. */
function within(type: DataType, range: Range): Range | undefined {
  return range[0] < 0 && !(type as IntType).signed ? undefined : exact(range)
}

function exact(range: Range): Range | undefined {
  return range[0] >= Number.MIN_SAFE_INTEGER && range[1] <= Number.MAX_SAFE_INTEGER ? range : undefined
}

/** The range of an integer of at most 32 bits. */
function rangeOfType({ bitWidth, signed }: IntType): Range | undefined {
  if (bitWidth > 32) return undefined
  return signed ? [-(2 ** (bitWidth - 1)), 2 ** (bitWidth - 1) - 1] : [0, 2 ** bitWidth - 1]
}

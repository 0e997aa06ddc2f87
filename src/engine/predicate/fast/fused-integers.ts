import { type DataType, Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { FastPath } from '../evaluate/build.ts'
import type { ValueNode } from '../evaluate/node.ts'
import type { NumberArray } from '../evaluate/vector.ts'
import type { Plan } from '../plan/plan.ts'
import { checkTime } from '../work.ts'
import { bothValid } from './arithmetic.ts'
import { functionOf, keptFunction, mayGenerate, numbered } from './generate.ts'

const maxOperations = 8

type Loop = (n: number, out: Int32Array, ...parameters: unknown[]) => void

/** The range of the values; both bounds are doubles. */
type Range = readonly [min: number, max: number]

/**
 * Sums, differences and products of integers of up to 32 bits as 64-bit ones, such as `a * 2 + id`, in one loop for the
 * whole formula. Doubles hold integers up to 2^53 exactly. If the types guarantee that no step leaves this range, the
 * loop computes with doubles, and writes both halves of the result. That takes three fifths of the time of widening
 * columns, and of a BigInt for each step. For columns of 64 bits it would take as long as these.
 *
 * Loops are generated from texts of this file only. Input of a caller, such as a literal, is passed as an argument.
 */
export const fusedIntegers: FastPath = {
  name: 'fused-integers',
  value(plan, slow, build) {
    if (!isStep(plan) || !mayGenerate()) return undefined
    const formula = new Formula(build.value)
    const found = formula.write(plan)
    const { leaves, constants, operations } = formula
    if (found === undefined || leaves.length === 0) return undefined
    return {
      cost: leaves.reduce((sum, leaf) => sum + leaf.cost, operations),
      raises: slow.raises,
      vector(frame, need) {
        checkTime()
        const arrays: NumberArray[] = []
        let valid: Bitmap | null = null
        for (const leaf of leaves) {
          const vector = leaf.vector(frame, need)
          if (vector.kind !== 'numbers') return slow.vector(frame, need)
          arrays.push(vector.values)
          valid = bothValid(frame, valid, vector.valid, need)
        }
        const values = frame.array(BigInt64Array, frame.length)
        const kinds = arrays.map((array) => array.constructor.name).join()
        const loop = loopOf(`/*${kinds}*/${found.text}`, leaves.length, constants.length)
        loop(frame.length, new Int32Array(values.buffer, 0, frame.length * 2), ...arrays, ...constants)
        return { kind: 'longs', type: plan.type, valid, values }
      },
    }
  },
}

interface Term {
  /** A JavaScript expression, which refers to arrays `v…` and numbers `k…`. */
  readonly text: string
  readonly range: Range
}

class Formula {
  readonly leaves: ValueNode[] = []
  readonly constants: number[] = []
  operations = 0
  readonly #value: (plan: Plan) => ValueNode

  constructor(value: (plan: Plan) => ValueNode) {
    this.#value = value
  }

  /** The plan as a term; undefined if the loop does not support a part of it, or a part may be inexact. */
  write(plan: Plan): Term | undefined {
    if (isStep(plan)) {
      if (++this.operations > maxOperations) return undefined
      if (plan.kind === 'negate') return step('-', { text: '0', range: [0, 0] }, this.write(plan.arg))
      return step(plan.operator as keyof typeof ranges, this.write(plan.left), this.write(plan.right))
    }
    if (plan.kind === 'literal' && typeof plan.value === 'bigint') {
      const value = Number(plan.value)
      return exact({ text: `k${this.constants.push(value) - 1}`, range: [value, value] })
    }
    const range = plan.kind === 'cast' ? rangeOfType(plan.arg.type) : undefined
    if (plan.kind !== 'cast' || range === undefined) return undefined
    return { text: `v${this.leaves.push(this.#value(plan.arg)) - 1}[i]`, range }
  }
}

/** Where the results are stored. */
const ranges = {
  '+': (a: Range, b: Range): Range => [a[0] + b[0], a[1] + b[1]],
  '-': (a: Range, b: Range): Range => [a[0] - b[1], a[1] - b[0]],
  '*': (a: Range, b: Range): Range => {
    const corners = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
    return [Math.min(...corners), Math.max(...corners)]
  },
} as const

function step(operator: keyof typeof ranges, left: Term | undefined, right: Term | undefined) {
  if (left === undefined || right === undefined) return undefined
  const range = ranges[operator](left.range, right.range)
  return exact({ text: `(${left.text}${operator}${right.text})`, range })
}

function exact(term: Term): Term | undefined {
  const [min, max] = term.range
  return min >= Number.MIN_SAFE_INTEGER && max <= Number.MAX_SAFE_INTEGER ? term : undefined
}

/** Whether the loop supports an operation. */
function isStep(plan: Plan): plan is Extract<Plan, { kind: 'arithmetic' | 'negate' }> {
  if (plan.kind !== 'negate' && !(plan.kind === 'arithmetic' && plan.operator in ranges)) return false
  const { type } = plan
  return type.typeId === Type.Int && type.bitWidth === 64 && type.signed
}

/** The range of an integer of at most 32 bits. */
function rangeOfType(type: DataType): Range | undefined {
  if (type.typeId !== Type.Int || type.bitWidth > 32) return undefined
  const { bitWidth, signed } = type
  return signed ? [-(2 ** (bitWidth - 1)), 2 ** (bitWidth - 1) - 1] : [0, 2 ** bitWidth - 1]
}

/**
 * The loop for a text, which includes the types of its arrays: a loop that gets several types is much slower. Most
 * results fit into 32 bits and need no double: as long as all of them do, V8 computes with integers only.
 */
function loopOf(text: string, leaves: number, constants: number): Loop {
  const body = `for (let i = 0; i < n; i++) {
    const x = ${text}
    const low = x | 0
    out[2 * i] = low
    out[2 * i + 1] = x === low ? low >> 31 : Math.floor(x / 4294967296)
  }`
  const parameters = ['n', 'out', ...numbered('v', leaves), ...numbered('k', constants)]
  return keptFunction(`integers ${text}`, () => functionOf<Loop>(parameters, body))
}

import type { DataType } from '@uwdata/flechette'
import { addRow, type Bitmap, forEachRow, intersect, isEmpty, subtract } from '../../arrow/bitmap.ts'
import { compare } from '../plan/fold.ts'
import type { CasePlan, NonNullScalar, Plan, Scalar } from '../plan/plan.ts'
import { checkTime, spend } from '../work.ts'
import type { Build } from './build.ts'
import { eachNeeded, type Frame } from './frame.ts'
import { type ValueNode, wantTrue } from './node.ts'
import { readerOf, vectorFor, writerOf } from './read.ts'
import type { Vector } from './vector.ts'

/** Writes the rows of `open` that take a branch into `chosen`. */
type Choose = (frame: Frame, open: Bitmap, operand: Read | undefined, chosen: Bitmap) => void
type Read = (row: number) => Scalar

/** `CASE`. Each part is evaluated only for the rows that reach it, so that no other row can make it fail. */
export function caseNode(plan: CasePlan, build: Build): ValueNode {
  const operand = plan.operand && build.value(plan.operand)
  const branches = plan.branches.map(({ when, result }) => ({
    ...chooser(when, operand !== undefined, build),
    result: build.value(result),
  }))
  const otherwise = build.value(plan.otherwise)
  const parts = [
    ...branches,
    ...branches.map(({ result }) => result),
    otherwise,
    ...(operand ? [operand] : []),
  ]
  return {
    cost: parts.reduce((sum, part) => sum + part.cost, 5),
    raises: parts.some((part) => part.raises),
    vector(frame, need) {
      const target = new Target(frame, plan.type)
      const mark = frame.mark()
      const open = frame.copyOf(need)
      const chosen = frame.bitmap()
      const read = operand && readerOf(operand.vector(frame, need))
      for (const { choose, result } of branches) {
        checkTime()
        const inner = frame.mark()
        choose(frame, open, read, chosen)
        intersect(chosen, open, chosen, frame.words)
        if (!isEmpty(chosen, frame.words)) {
          target.put(result, chosen)
          subtract(open, chosen, open, frame.words)
        }
        frame.release(inner)
        if (isEmpty(open, frame.words)) break
      }
      if (!isEmpty(open, frame.words)) target.put(otherwise, open)
      frame.release(mark)
      return target.vector
    },
  }
}

/** Steps of a comparison of two values. */
const stepsOfCompare = 20

function chooser(when: Plan, compared: boolean, build: Build) {
  if (!compared) {
    const test = build.test(when)
    const choose: Choose = (frame, open, _, chosen) => {
      test.test(frame, open, wantTrue, chosen, frame.bitmap())
    }
    return { cost: test.cost, raises: test.raises, choose }
  }
  const node = build.value(when)
  const choose: Choose = (frame, open, operand, chosen) => {
    const { constant } = node
    const value = constant === undefined ? readerOf(node.vector(frame, open)) : () => constant
    eachNeeded(frame.length, open, chosen, (row) => {
      const a = operand!(row)
      const b = a === null ? null : value(row)
      spend(stepsOfCompare)
      return b !== null && compare('=', a as NonNullScalar, b)
    })
  }
  return { cost: node.cost + 20, raises: node.raises, choose }
}

/** Collects values from several expressions. It allocates its scratch memory on construction. */
export class Target {
  readonly vector: Vector
  /** The rows that have a value. */
  readonly valid: Bitmap
  readonly #frame: Frame

  constructor(frame: Frame, type: DataType) {
    this.#frame = frame
    this.valid = frame.noRows()
    this.vector = vectorFor(frame, type, this.valid)
  }

  /** Copies an expression's values for some rows. Calls `charge` for each value that may have any size. */
  put(node: ValueNode, rows: Bitmap, charge?: (value: Scalar) => void): void {
    const { vector, valid } = this
    const { words } = this.#frame
    const source = node.constant === undefined ? node.vector(this.#frame, rows) : undefined
    if (source !== undefined && source.kind === vector.kind && isArray(source) && isArray(vector)) {
      const known = source.valid
      for (let q = 0; q < words; q++) valid[q]! |= known === null ? rows[q]! : rows[q]! & known[q]!
      const [from, to] = [source.values as Int32Array, vector.values as Int32Array]
      forEachRow(
        rows,
        (row) => {
          to[row] = from[row]!
        },
        words,
      )
      return
    }
    const { constant } = node
    const read = source === undefined ? () => constant! : readerOf(source)
    const write = writerOf(vector)
    forEachRow(
      rows,
      (row) => {
        const value = read(row)
        if (value === null) return
        charge?.(value)
        addRow(valid, row)
        write(row, value)
      },
      words,
    )
  }
}

function isArray(vector: Vector): vector is Extract<Vector, { kind: 'numbers' | 'longs' }> {
  return vector.kind === 'numbers' || vector.kind === 'longs'
}

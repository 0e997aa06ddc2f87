import type { Field } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { type Bitmap, clearTrailing, copyRows, countRows, forEachRow, isEmpty } from '../../arrow/bitmap.ts'
import { buildBatch } from '../../arrow/input/build.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import { assemble, childWithin, type Piece } from '../../arrow/take/take.ts'
import { expressionRowError, isRowError } from '../errors.ts'
import type { ValuePlan } from '../plan/expression.ts'
import type { LiteralPlan } from '../plan/plan.ts'
import { afterPart, kept, type WorkBudget } from '../work.ts'
import { builder, type Kernel } from './build.ts'
import { type Allocate, columnBuilder } from './column-builder.ts'
import type { Frame, Rows } from './frame.ts'
import type { ValueNode } from './node.ts'
import type { Vector } from './vector.ts'
import { walker } from './walk.ts'

/** The rows to evaluate an expression for, and the form of the result. */
export interface ValueOptions {
  /** The rows to evaluate, bit 0 being the first; all by default. No other row can make it fail. */
  readonly live?: Bitmap | undefined
  /**
   * Whether the column has a value for each row, also for those that are not in `live`: null, or 0 if the column takes
   * no nulls. By default it has values for the rows of `live` only.
   */
  readonly inPlace?: boolean
  /**
   * Bytes of values without a fixed size, such as texts, after which evaluation stops. The column then has values for
   * the first rows only, and at least one. Not with `inPlace`. Default: no limit.
   */
  readonly mostBytes?: number
  readonly budget?: WorkBudget
  /** Allocates at least that many bytes of zeroed memory for values of fixed size. Default: new memory. */
  readonly memory?: Allocate
  /** The number of a row in errors. Default: its index. */
  readonly numberOf?: (row: number) => number
}

type RowNumbers = NonNullable<ValueOptions['numberOf']>

/** Evaluates an expression for rows from `start`, a multiple of 32, to `end`. */
type ValueSteps = (
  rows: Rows,
  start: number,
  end: number,
  options: ValueOptions & { readonly budget: WorkBudget },
) => Generator<void, AnyBatch>

/** Prepares an expression for evaluation. */
export function valueEvaluator({ plan, path, field }: ValuePlan, kernels: readonly Kernel[]): ValueSteps {
  if (path !== undefined) return columnValues(path, field)
  if (plan.kind === 'literal') return constantValues(plan, field)
  const node = kept(builder, () => builder(kernels, afterPart)).value(plan)
  const walk = walker(node.cost)
  return function* values(rows, start, end, options) {
    const { live, inPlace = false, budget, numberOf = itself, memory } = options
    const { mostBytes = Number.POSITIVE_INFINITY } = options
    const length = Math.max(0, end - start)
    const size = inPlace || live === undefined ? length : countFirst(live, length)
    const column = columnBuilder(field, size, mostBytes, memory)
    const evaluate = (frame: Frame, need: Bitmap) => vectorOf(node, frame, need, numberOf)
    const take = (vector: Vector, frame: Frame, _word: number, need: Bitmap) => {
      if (!field.nullable && vector.valid !== null) refuseNull(field, frame, need, vector.valid, numberOf)
      column.add(vector, frame, need, inPlace ? { base: frame.start - start } : 'next')
    }
    for (const _ of walk(rows, start, end, live, budget, evaluate, take)) {
      if (column.isFull) return column.done(column.rows)
      yield
    }
    return column.done(size)
  }
}

function itself(row: number): number {
  return row
}

function countFirst(live: Bitmap, length: number): number {
  const words = (length + 31) >>> 5
  const first = live.slice(0, words)
  if (words > 0) clearTrailing(first, length)
  return countRows(first)
}

/** The values of a slice. If a row fails, the error has its number. */
function vectorOf(node: ValueNode, frame: Frame, need: Bitmap, numberOf: RowNumbers): Vector {
  // A constant part has no vector of its own within other expressions.
  const mark = frame.mark()
  try {
    return node.vector(frame, need)
  } catch (error) {
    if (!isRowError(error)) throw error
    frame.release(mark)
    const row = firstFailure(node, frame, need)
    const { details, cause } = row.error ?? error
    throw expressionRowError(details, numberOf(frame.start + row.row), { cause })
  }
}

/** Finds the first row that fails on its own, by bisection. */
function firstFailure(node: ValueNode, frame: Frame, need: Bitmap) {
  const rows: number[] = []
  forEachRow(need, (row) => rows.push(row), frame.words)
  const some = frame.bitmap()
  const mark = frame.mark()
  let [from, to] = [0, rows.length]
  let found: ReturnType<typeof failureOf>
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    some.fill(0, 0, frame.words)
    for (let i = from; i < middle; i++) some[rows[i]! >>> 5]! |= 1 << (rows[i]! & 31)
    const failure = failureOf(node, frame, some)
    frame.release(mark)
    if (failure === undefined) from = middle
    else {
      to = middle
      found = failure
    }
  }
  return { row: rows[from] ?? 0, error: found }
}

function failureOf(node: ValueNode, frame: Frame, need: Bitmap) {
  try {
    node.vector(frame, need)
    return undefined
  } catch (error) {
    if (isRowError(error)) return error
    throw error
  }
}

function refuseNull(field: Field, frame: Frame, need: Bitmap, valid: Bitmap, numberOf: RowNumbers): void {
  const { words } = frame
  const missing = frame.bitmap()
  copyRows(need, missing, words)
  for (let q = 0; q < words; q++) missing[q]! &= ~valid[q]!
  if (isEmpty(missing, words)) return
  const q = missing.subarray(0, words).findIndex((word) => word !== 0)
  const word = missing[q]!
  throw nullError(field, numberOf(frame.start + (q << 5) + 31 - Math.clz32(word & -word)))
}

function nullError({ name }: Field, row: number): Error {
  const facts = `its value is null, and column ${JSON.stringify(name)} takes no nulls. `
  return expressionRowError(`${facts}Leave such rows out, or use coalesce(value, other).`, row)
}

/** The rows of `live` before `length`, as runs. */
function runsOf(live: Bitmap | undefined, start: number, length: number): ArrayLike<number> {
  if (live === undefined) return length > 0 ? [start, start + length] : []
  const runs = new RunBuilder()
  const words = (length + 31) >>> 5
  forEachRow(
    live,
    (row) => {
      if (row < length) runs.add(start + row, start + row + 1)
    },
    words,
  )
  return runs.done()
}

/** The values of a column, without a copy if all rows are wanted. */
function columnValues(path: readonly number[], field: Field): ValueSteps {
  // biome-ignore lint/correctness/useYield: a column needs no steps
  return function* values(rows, start, end, { live, inPlace = false, numberOf = itself }) {
    let batch = rows.columns[path[0]!]!
    for (const index of path.slice(1)) batch = childWithin(batch, index, field.name)
    const wanted = runsOf(live, start, Math.max(0, end - start))
    if (!field.nullable && batch.nullCount > 0) {
      for (let i = 0; i < wanted.length; i += 2) {
        for (let row = wanted[i]!; row < wanted[i + 1]!; row++) {
          if (!batch.isValid(row)) throw nullError(field, numberOf(row))
        }
      }
    }
    const runs = inPlace ? runsOf(undefined, start, Math.max(0, end - start)) : wanted
    return assemble(field.type, [{ batch, runs }])
  }
}

/** Rows of a constant that are created once and then shared. */
const repeatedRows = 65_536

function constantValues({ value }: LiteralPlan, field: Field): ValueSteps {
  // biome-ignore lint/correctness/useYield: a constant needs no steps
  return function* values(_rows, start, end, { live, inPlace = false, mostBytes }) {
    const length = Math.max(0, end - start)
    const size = inPlace || live === undefined ? length : countFirst(live, length)
    if (value === null) return nullBatch(field.type, size)
    const one = buildBatch({ ...field, nullable: true }, { values: [value], rows: [0] })
    const most =
      mostBytes === undefined ? size : Math.max(1, Math.floor(mostBytes / Math.max(1, byteLength(one))))
    return repeated(field, one, Math.min(size, most))
  }
}

function repeated(field: Field, one: AnyBatch, size: number): AnyBatch {
  let batch = one
  try {
    while (batch.length < Math.min(size, repeatedRows)) {
      batch = assemble(field.type, [{ batch, runs: [0, batch.length, 0, batch.length] }])
    }
    const pieces: Piece[] = []
    for (let rest = size; rest > 0; rest -= batch.length) {
      pieces.push({ batch, runs: [0, Math.min(rest, batch.length)] })
    }
    return pieces.length === 0 ? assemble(field.type, [{ batch, runs: [] }]) : assemble(field.type, pieces)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const problem = `${size} values of ${JSON.stringify(field.name)} take more memory than one column can have.`
    throw invalid(`${problem} Give a shorter value.`, { cause })
  }
}

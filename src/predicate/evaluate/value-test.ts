import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, intersect, subtract } from '../../arrow/bitmap.ts'
import { StepTest } from '../fast/functions/bucket-test.ts'
import { lookUpCodes } from '../fast/kernels/compare.ts'
import type { TextTest } from '../fast/text/text-test.ts'
import type { Scalar } from '../plan/plan.ts'
import { addValidity, validRowsOf } from './column.ts'
import { eachNeeded } from './each-needed.ts'
import { Frame, sliceRows } from './frame.ts'
import { vectorOf } from './load.ts'
import { type TestNode, type ValueNode, wantTrue } from './node.ts'
import { readerOf, toTexts } from './read.ts'
import type { Booleans, Codes, Longs, Numbers, Vector, Wide } from './vector.ts'

type Loop<V> = (vector: V, n: number, need: Bitmap, out: Bitmap) => void

/**
 * A question asked of one value, such as a comparison with a literal: how it is answered for each kind of
 * vector. A loop writes the rows of `need`, none of them null, for which the answer is yes into `out`.
 */
export interface ValueTest {
  readonly numbers?: Loop<Numbers>
  readonly longs?: Loop<Longs>
  readonly wide?: Loop<Wide>
  readonly booleans?: Loop<Booleans>
  readonly texts?: TextTest
  /** For whatever has no loop of its own. */
  readonly scalar: (value: Scalar) => boolean
}

interface Answers {
  /** What to say of a value for which the answer is yes, and of one for which it is no. */
  readonly negated: boolean
  /** Whether no means null: a value that is not in a list which holds NULL. */
  readonly noIsNull?: boolean
}

/** Asks a question of each value of an expression; null where the value is null. */
export function valueTestNode(
  arg: ValueNode,
  test: ValueTest,
  { negated, noIsNull = false }: Answers,
): TestNode {
  const tables = new WeakMap<object, Uint8Array>()
  const { steps } = arg
  const bySteps = steps && StepTest.suits(steps) ? new StepTest(steps, test.scalar) : undefined
  return {
    cost: arg.cost + (test.texts === undefined ? 0 : 3),
    raises: arg.raises,
    test(frame, need, wanted, yes, no) {
      const mark = frame.mark()
      const found = negated ? no : yes
      const missed = negated ? yes : no
      const of = bySteps && steps?.arg.vector(frame, need)
      let asked = of && knownRows(frame, of, need)
      if (of?.kind !== 'longs' || !bySteps!.ask(of, frame.length, asked!, found)) {
        const vector = arg.vector(frame, need)
        asked = knownRows(frame, vector, need)
        if (vector.kind === 'codes') askEntries(frame, vector, test, tables, asked, found)
        else askRows(frame, vector, test, asked, found)
      }
      if (noIsNull) missed.fill(0, 0, frame.words)
      else if (negated || wanted !== wantTrue) subtract(asked!, found, missed, frame.words)
      frame.release(mark)
    },
  }
}

/** The rows of `need` that are not null. */
function knownRows(frame: Frame, { valid }: Vector, need: Bitmap): Bitmap {
  if (valid === null) return need
  const known = frame.bitmap()
  intersect(need, valid, known, frame.words)
  return known
}

function askRows(frame: Frame, vector: Vector, test: ValueTest, need: Bitmap, out: Bitmap): void {
  const n = frame.length
  if (test.texts !== undefined) test.texts(toTexts(frame, vector, need), n, need, out)
  else if (vector.kind === 'numbers' && test.numbers) test.numbers(vector, n, need, out)
  else if (vector.kind === 'longs' && test.longs) test.longs(vector, n, need, out)
  else if (vector.kind === 'wide' && test.wide) test.wide(vector, n, need, out)
  else if (vector.kind === 'booleans' && test.booleans) test.booleans(vector, n, need, out)
  else {
    const read = readerOf(vector)
    eachNeeded(n, need, out, (row) => test.scalar(read(row)))
  }
}

/** Asks once for each entry of a dictionary, then looks the rows' codes up. */
function askEntries(
  frame: Frame,
  vector: Codes,
  test: ValueTest,
  tables: WeakMap<object, Uint8Array>,
  need: Bitmap,
  out: Bitmap,
): void {
  let table = tables.get(vector.key)
  if (table === undefined) {
    table = answersFor(vector.entries, test, tables)
    tables.set(vector.key, table)
  }
  lookUpCodes(vector.codes, table, frame.length, need, out)
}

/** For each entry 1 if the answer is yes. */
function answersFor(
  entries: readonly AnyBatch[],
  test: ValueTest,
  tables: WeakMap<object, Uint8Array>,
): Uint8Array {
  const answers = new Uint8Array(entries.reduce((sum, batch) => sum + batch.length, 0))
  const frame = new Frame()
  let first = 0
  for (const batch of entries) {
    for (let start = 0; start < batch.length; start += sliceRows) {
      frame.moveTo(
        { length: batch.length, columns: [batch] },
        start,
        Math.min(start + sliceRows, batch.length),
      )
      const out = frame.bitmap()
      const known = validRowsOf(frame, batch, frame.allRows(), addValidity(frame, batch, null))
      const vector = vectorOf(frame, batch, known, known)
      // Run-end-encoded values may be encoded by a dictionary in turn.
      if (vector.kind === 'codes') askEntries(frame, vector, test, tables, known, out)
      else askRows(frame, vector, test, known, out)
      for (let i = 0; i < frame.length; i++) answers[first + start + i] = (out[i >>> 5]! >>> (i & 31)) & 1
    }
    first += batch.length
  }
  return answers
}

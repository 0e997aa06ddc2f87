import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { ValueKernel, VectorTestKernel } from '../evaluate/build.ts'
import { counted } from '../evaluate/call.ts'
import { addValidity, validRowsOf, vectorOf } from '../evaluate/column.ts'
import { eachNeeded, Frame } from '../evaluate/frame.ts'
import { Memo } from '../evaluate/memo.ts'
import type { ValueNode, VectorTest } from '../evaluate/node.ts'
import { readerOf, valuesFrom } from '../evaluate/read.ts'
import { isEncoded } from '../evaluate/scalar.ts'
import type { Codes } from '../evaluate/vector.ts'
import type { CallPlan } from '../plan/plan.ts'
import { checkTimeAfterProgress } from '../work.ts'
import { generated } from './generate.ts'

/** A test of dictionary- or run-end-encoded values: each entry is tested once. */
export const dictionaryTest: VectorTestKernel = (plan, slow) =>
  plan.kind === 'compare' && plan.right.kind !== 'literal' ? undefined : testEntries(slow)

/** A call whose only varying argument is a column: each entry is computed once. */
export const dictionaryCall: ValueKernel = (plan, slow, build) => {
  if (plan.kind !== 'call') return undefined
  const varying = plan.args.filter((arg) => arg.kind !== 'literal')
  const only = varying.length === 1 ? varying[0]! : undefined
  if (only?.kind !== 'column') return undefined
  return callEntries(plan, plan.args.indexOf(only), slow, build.value(only))
}

/** Tests each entry of a dictionary once, then looks up the rows' codes. */
export function testEntries(slow: VectorTest): VectorTest {
  const tables = new WeakMap<object, EntryResults>()
  const test: VectorTest = (frame, vectors, need, out) => {
    const [vector] = vectors
    if (vector.kind !== 'codes') {
      slow(frame, vectors, need, out)
      return
    }
    let results = tables.get(vector.key)
    if (results === undefined) {
      const entries = vector.entries.reduce((sum, batch) => sum + batch.length, 0)
      results = { table: new Uint8Array(entries), known: 0 }
      tables.set(vector.key, results)
    }
    // Run-end-encoded values may be dictionary-encoded in turn.
    fillResults(results, vector.entries, test)
    lookUp(vector.codes, results.table, frame.length, need, out)
  }
  return test
}

/** 1 for each of the first `known` entries that passes. */
interface EntryResults {
  readonly table: Uint8Array
  known: number
}

const entriesAtOnce = 4096

/** Tests the remaining entries. A dictionary may be long, so results are kept when the work pauses. */
function fillResults(results: EntryResults, entries: readonly AnyBatch[], test: VectorTest): void {
  if (results.known === results.table.length) return
  const frame = new Frame()
  try {
    let first = 0
    for (const batch of entries) {
      const rows = { length: batch.length, columns: [batch] }
      for (let start = results.known - first; start < batch.length; start = results.known - first) {
        frame.moveTo(rows, start, Math.min(start + entriesAtOnce, batch.length))
        const out = frame.bitmap()
        const known = validRowsOf(frame, batch, frame.allRows(), addValidity(frame, batch, null))
        test(frame, [vectorOf(frame, batch, known, known)], known, out)
        for (let i = 0; i < frame.length; i++) {
          results.table[first + start + i] = (out[i >>> 5]! >>> (i & 31)) & 1
        }
        results.known += frame.length
        checkTimeAfterProgress()
      }
      first += batch.length
    }
  } finally {
    frame.done()
  }
}

type Loop = (n: number, need: Bitmap, out: Bitmap, codes: Codes['codes'], table: Uint8Array) => void

/** Rows whose code has a 1 in the table, which has a result for each entry of the dictionary. */
function lookUp(codes: Codes['codes'], table: Uint8Array, n: number, need: Bitmap, out: Bitmap): void {
  // The comment in the generated text gives each array type a loop of its own.
  const loop = generated<Loop>('codes,table', `/*${codes.constructor.name}*/w|=table[codes[$i]]<<$b;`)
  if (loop !== undefined) loop(n, need, out, codes, table)
  else eachNeeded(n, need, out, (row) => table[codes[row]!] === 1)
}

/**
 * A call whose only varying argument is a column. An encoded column takes one call for each entry that can be cached.
 */
function callEntries(plan: CallPlan, only: number, slow: ValueNode, column: ValueNode): ValueNode {
  const { strict } = plan.function
  const evaluate = counted(plan)
  const results = new WeakMap<object, Memo>()
  const constants = plan.args.map((arg) => (arg.kind === 'literal' ? arg.value : null))
  return {
    ...slow,
    vector(frame, need) {
      if (!isEncoded(column.located!(frame).batch.type)) return slow.vector(frame, need)
      const vector = column.vector(frame, need) as Codes
      const { codes, key, valid } = vector
      const known = results.get(key) ?? new Memo()
      results.set(key, known)
      const read = readerOf(vector)
      return valuesFrom(frame, plan.type, need, (row) => {
        const code = valid === null || hasRow(valid, row) ? codes[row]! : -1
        let result = known.get(code)
        if (result === undefined) {
          const value = read(row)
          const args = constants.with(only, value)
          result = strict && args.includes(null) ? null : evaluate(...args)
          known.set(code, result)
        }
        return result
      })
    },
  }
}

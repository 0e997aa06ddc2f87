import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, subtract } from '../../arrow/bitmap.ts'
import { eachNeeded } from './each-needed.ts'
import type { Frame } from './frame.ts'
import { hasValidity, runOf, scalarAt } from './scalar.ts'
import type { Codes, NumberArray } from './vector.ts'

/** The slice's indices into a dictionary, as numbers. */
export function codesOf(frame: Frame, codes: NumberArray | BigInt64Array | BigUint64Array): NumberArray {
  const slice = codes.subarray(frame.start, frame.start + frame.length)
  if (!(slice instanceof BigInt64Array) && !(slice instanceof BigUint64Array)) return slice
  const narrow = frame.array(Int32Array, frame.length)
  const words = new Int32Array(slice.buffer as ArrayBuffer, slice.byteOffset, slice.length * 2)
  for (let i = 0; i < narrow.length; i++) narrow[i] = words[2 * i]!
  return narrow
}

/** The index of the run of each row of the slice. */
export function runsOf(frame: Frame, batch: AnyBatch): Int32Array {
  const ends = batch.children[0]!.values as Int32Array | BigInt64Array
  const runs = frame.array(Int32Array, frame.length)
  let run = runOf(batch, frame.start)
  for (let i = 0; i < frame.length; i++) {
    while (ends[run]! <= frame.start + i) run++
    runs[i] = run
  }
  return runs
}

const nullEntries = new WeakMap<object, Uint8Array>()

/** Rows of `valid` whose entry is not null either. */
export function validCodes(
  frame: Frame,
  { codes, entries, key }: Pick<Codes, 'codes' | 'entries' | 'key'>,
  valid: Bitmap | null,
): Bitmap | null {
  if (entries.every((batch) => batch.nullCount === 0 && hasValidity(batch))) return valid
  let table = nullEntries.get(key)
  if (table === undefined) {
    table = new Uint8Array(entries.reduce((sum, { length }) => sum + length, 0))
    let entry = 0
    for (const batch of entries) {
      for (let i = 0; i < batch.length; i++) table[entry++] = scalarAt(batch, i) === null ? 1 : 0
    }
    nullEntries.set(key, table)
  }
  const known = valid ?? frame.allRows()
  const isNull = frame.bitmap()
  const nulls = table
  eachNeeded(frame.length, known, isNull, (row) => nulls[codes[row]!] === 1)
  subtract(known, isNull, isNull, frame.words)
  return isNull
}

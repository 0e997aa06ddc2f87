import { CatalogError } from '../../../base/errors.ts'
import { type AnyBatch, dataOf } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { chargeReadBytes } from '../work.ts'
import type { Frame } from './frame.ts'
import { isBitSet } from './scalar.ts'

/** Converts texts of other layouts to that of `Utf8`, so that text tests support one layout only. */
interface Plain {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/** Offsets of 64 bits, relative to the start of the slice. */
export function relativeOffsets(frame: Frame, batch: AnyBatch): Plain {
  const wide = batch.offsets as BigInt64Array
  // Halves of 32 bits: a BigInt for each row would cost more than the comparison.
  const words = new Uint32Array(
    wide.buffer as ArrayBuffer,
    wide.byteOffset + frame.start * 8,
    (frame.length + 1) * 2,
  )
  const base = words[0]! + words[1]! * 0x100000000
  const offsets = frame.array(Int32Array, frame.length + 1)
  for (let i = 0; i < offsets.length; i++) {
    offsets[i] = words[2 * i]! + words[2 * i + 1]! * 0x100000000 - base
  }
  const last = Number(wide[frame.start + frame.length]!)
  checkSize(last - base, frame.length)
  return { bytes: (batch.values as Uint8Array).subarray(base, last), offsets }
}

/**
 * Converts view types to one buffer, so that text tests support one layout only. Source of the layout:
 * https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout
 */
export function gatherViews(frame: Frame, batch: AnyBatch, need: Bitmap): Plain {
  const { buffer, byteOffset } = batch.values as Uint8Array
  const views = new DataView(buffer, byteOffset + frame.start * 16, frame.length * 16)
  const isValid = (row: number) => batch.nullCount === 0 || isBitSet(batch.validity, frame.start + row)
  const offsets = frame.array(Int32Array, frame.length + 1)
  let total = 0
  for (let i = 0; i < frame.length; i++) {
    offsets[i] = total
    if (((need[i >>> 5]! >>> (i & 31)) & 1) === 1 && isValid(i)) total += views.getInt32(i * 16, true)
  }
  offsets[frame.length] = total
  // Many views may share the same bytes.
  chargeReadBytes(total)
  checkSize(total, frame.length)
  const bytes = new Uint8Array(total + 8)
  const inline = new Uint8Array(buffer, views.byteOffset, views.byteLength)
  const data = dataOf(batch)
  for (let i = 0; i < frame.length; i++) {
    const length = offsets[i + 1]! - offsets[i]!
    if (length === 0) continue
    const at = offsets[i]!
    if (length <= 12) {
      for (let j = 0; j < length; j++) bytes[at + j] = inline[i * 16 + 4 + j]!
    } else {
      const from = views.getInt32(i * 16 + 12, true)
      bytes.set(data[views.getInt32(i * 16 + 8, true)]!.subarray(from, from + length), at)
    }
  }
  return { bytes, offsets }
}

/** Offsets are of 32 bits within a slice. */
function checkSize(bytes: number, rows: number): void {
  if (bytes <= 0x7fffffff) return
  throw new CatalogError(
    'InvalidTableState',
    `A column has ${bytes} bytes of text in ${rows} rows, more than can be searched at once. ` +
      'Write it in shorter values.',
  )
}

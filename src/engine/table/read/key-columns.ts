import type { DataType } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, makeBatch, type Values } from '../../arrow/batch.ts'
import { hasPlainNumbers, layoutOf } from '../../arrow/layout.ts'
import type { FoundRows } from './find-ordered.ts'
import type { Pick } from './projection.ts'
import type { SortKey } from './sort-keys.ts'

/*
 * Columns of an answer that its rows were sorted by. Their values are known, so they are not read again for rows that lie
 * scattered over the table.
 */

/** The index of the key that has the values of a column; undefined if they must be read. */
export function keyOfColumn(
  keys: readonly SortKey[],
  fields: number,
  { path, field }: Pick,
): number | undefined {
  if (path?.length !== 1 || path[0]! >= fields || !hasPlainNumbers(field.type)) return undefined
  const key = keys.findIndex((key) => key.path.length === 1 && key.path[0] === path[0])
  return key < 0 ? undefined : key
}

/** The column of a key, with its values for the found rows. */
export async function columnOfKey(
  { rows, valueAt }: FoundRows,
  key: number,
  type: DataType,
  timeSlice: TimeSlice,
): Promise<AnyBatch> {
  const layout = layoutOf(type)
  if (layout.kind !== 'fixed') throw new TypeError('a key that is no number')
  const { length } = rows
  const values = new layout.array(length) as Values
  const validity = new Uint8Array(Math.ceil(length / 8))
  let nullCount = 0
  for (let i = 0; i < length; i++) {
    const value = valueAt(key, i)
    if (value === null) nullCount++
    else {
      values[i] = value as never
      validity[i >> 3]! |= 1 << (i & 7)
    }
    if ((i & 8191) === 8191 && timeSlice.due) await timeSlice.rest()
  }
  return makeBatch(type, { length, values, ...(nullCount > 0 && { nullCount, validity }) })
}

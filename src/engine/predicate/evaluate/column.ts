import { Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { type AnyBatch, dictionaryOf } from '../../arrow/batch.ts'
import { type Bitmap, intersect, readBits } from '../../arrow/bitmap.ts'
import type { ColumnPlan } from '../plan/plan.ts'
import type { Frame } from './frame.ts'
import { vectorOf } from './load.ts'
import type { ValueNode } from './node.ts'
import { hasValidity, scalarAt } from './scalar.ts'

/** A column, or a field of a struct in it. The field is null wherever a struct around it is. */
export function columnNode(plan: ColumnPlan): ValueNode {
  const { path } = plan
  return {
    cost: 1,
    raises: false,
    located: (frame) => locate(frame, path),
    vector(frame, need) {
      const { batch, valid } = locate(frame, path)
      return vectorOf(frame, batch, need, valid)
    },
    validRows(frame, need) {
      const { batch, valid } = locate(frame, path)
      return validRowsOf(frame, batch, need, valid)
    },
  }
}

function locate(frame: Frame, path: readonly number[]): { batch: AnyBatch; valid: Bitmap | null } {
  let batch = frame.rows.columns[path[0]!]
  let valid: Bitmap | null = null
  for (let depth = 0; ; depth++) {
    if (batch === undefined) {
      const names = path.slice(0, depth + 1).join('.')
      throw new CatalogError('Internal', `Column ${names} was not given to the evaluator. Read it first.`)
    }
    valid = addValidity(frame, batch, valid)
    if (depth === path.length - 1) return { batch, valid }
    batch = batch.children[path[depth + 1]!]
  }
}

/** Rows of `valid` that are not null by the batch's own bitmap. */
export function addValidity(frame: Frame, batch: AnyBatch, valid: Bitmap | null): Bitmap | null {
  if (!hasValidity(batch) || batch.nullCount === 0) return valid
  const own = readBits(batch.validity, frame.start, frame.length, frame.bitmap())
  if (valid !== null) intersect(own, valid, own, frame.words)
  return own
}

/** Rows of `need` that are not null. Unions and encoded values have nulls that bitmaps do not show. */
export function validRowsOf(frame: Frame, batch: AnyBatch, need: Bitmap, valid: Bitmap | null): Bitmap {
  const { typeId } = batch.type
  if (typeId === Type.Null) return frame.noRows()
  const rows = frame.copyOf(need)
  if (valid !== null) intersect(rows, valid, rows, frame.words)
  if (typeId !== Type.Union && typeId !== Type.RunEndEncoded) {
    if (typeId !== Type.Dictionary) return rows
    if (dictionaryOf(batch).data.every((entries) => entries.nullCount === 0)) return rows
  }
  // Rare types, which may have nulls at any depth.
  for (let q = 0; q < frame.words; q++) {
    for (let word = rows[q]!; word !== 0; word &= word - 1) {
      const bit = word & -word
      const row = frame.start + (q << 5) + 31 - Math.clz32(bit)
      if (scalarAt(batch, row) === null) rows[q]! &= ~bit
    }
  }
  return rows
}

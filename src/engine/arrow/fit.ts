import { type DataType, type Field, Type } from '@uwdata/flechette'
import { CatalogError } from '../../base/errors.ts'
import { unknownColumns } from '../../base/model/unknown-columns.ts'
import { type AnyBatch, type AnyColumn, byteLength, makeBatch, makeColumn, partsOf } from './batch.ts'
import { CastFailure, canAssign, castBatch, differsInLayout } from './cast/cast.ts'
import { castSize } from './cast/cast-size.ts'
import { childFields, hasValidity, layoutOf } from './layout.ts'
import { nullBatch, nullWithin } from './null-batch.ts'
import { fieldDifference } from './schema.ts'
import { typeName } from './type-name.ts'

/** How rows are adapted to a table: missing values become nulls, and other types are cast. */
export interface Filling {
  /** About the bytes of all casts so far. */
  castBytes: number
}

/** Converts a batch of one field into a batch of another. */
export type Fit = (batch: AnyBatch) => AnyBatch

/** The error for columns that do not match a table. */
export function schemaMismatch(sentence: string): CatalogError {
  return new CatalogError('TableSchemaValidationError', sentence)
}

/**
 * Returns a converter from batches of `given` to batches of `wanted`; undefined if none is needed. Struct fields match
 * by name at any depth. A column of Arrow's null type fits every nullable field.
 *
 * With `filling`, missing nullable fields become nulls, and values are cast as far as `canAssign` allows. Without it,
 * every struct field must be present, and only the layout may differ. Throws `TableSchemaValidationError` with the path
 * of the field for all other differences.
 */
export function fitting(
  wanted: Field,
  given: Field,
  filling: Filling | undefined,
  path = wanted.name,
): Fit | undefined {
  const difference = fieldDifference(wanted, given, true)
  if (difference === undefined) return undefined
  if (given.type.typeId === Type.Null && wanted.nullable) return ({ length }) => nulls(wanted, length, path)
  const casts = filling ? canAssign : differsInLayout
  if (casts(given.type, wanted.type)) {
    const counted = filling ?? { castBytes: 0 }
    return (batch) => assign(batch, wanted.type, path, counted)
  }
  const fits = hasSameShape(wanted, given) ? childFits(wanted, given, path, filling) : undefined
  if (fits === undefined) {
    throw schemaMismatch(`Column ${JSON.stringify(path)} ${difference}. Convert it to the table's type.`)
  }
  return (batch) => {
    try {
      return makeBatch(wanted.type, { ...partsOf(batch), children: fits.map((fit) => fit(batch)) })
    } catch (error) {
      if (error instanceof UnfitValue) error.row = rowHolding(batch, error.row)
      throw error
    }
  }
}

/** The row of a batch that holds the given item of its children. */
function rowHolding({ type, offsets, length }: AnyBatch, item: number): number {
  if (type.typeId === Type.FixedSizeList) return Math.floor(item / type.stride)
  if (type.typeId === Type.Struct || offsets === undefined) return item
  let row = 0
  while (row + 1 < length && Number(offsets[row + 1]) <= item) row++
  return row
}

/** Most bytes that the values of one insert, or of one fragment, may take after casts. */
export const maxCastBytes = 1 << 30

function assign(batch: AnyBatch, type: DataType, path: string, filling: Filling): AnyBatch {
  filling.castBytes += castSize(batch, type)
  if (filling.castBytes > maxCastBytes) {
    throw schemaMismatch(
      `Column ${JSON.stringify(path)} would take more than ${maxCastBytes.toLocaleString('en')} bytes as ${typeName(type)}, together with what was cast before it. Send it in that type, or send fewer rows at once.`,
    )
  }
  try {
    return castBatch(batch, type)
  } catch (error) {
    if (!(error instanceof CastFailure)) throw error
    throw new UnfitValue(path, type, error.row, batch.at(error.row))
  }
}

/** A value that the type of its column cannot hold. `row` is its index in the batch. */
export class UnfitValue extends Error {
  row: number
  readonly #path: string
  readonly #type: DataType
  readonly #value: unknown

  constructor(path: string, type: DataType, row: number, value: unknown) {
    super(`${path} does not fit in row ${row}`)
    this.row = row
    this.#path = path
    this.#type = type
    this.#value = value
  }

  /** The error for the sender of the rows. `row` is the number of the row among all that were sent. */
  toError(row: number): CatalogError {
    const value = this.#value
    const shown = typeof value === 'number' || typeof value === 'bigint' ? `${value}` : 'a value'
    return schemaMismatch(
      `Column ${JSON.stringify(this.#path)} holds ${shown} in row ${row}, counted from 0, which ${typeName(this.#type)} cannot hold. Send a value that fits, or change the column's type first.`,
    )
  }
}

/** The error for a column that must be there and is not. */
export function missingColumn(path: string): CatalogError {
  return schemaMismatch(
    `Append with different schema: column ${JSON.stringify(path)} is missing and must not be null. Send it with every row.`,
  )
}

function partial(path: string): CatalogError {
  return schemaMismatch(`Field ${JSON.stringify(path)} is missing. Send structs with all of their fields.`)
}

/** Refuses columns that are not among those of a table. `path` leads to the fields of a struct. */
export function requireKnown(fields: readonly Field[], known: readonly Field[], path = ''): void {
  const names = new Set(known.map(({ name }) => name))
  const unknown = fields.filter(({ name }) => !names.has(name)).map(({ name }) => path + name)
  if (unknown.length > 0)
    throw schemaMismatch(
      unknownColumns(
        unknown,
        [...names].map((name) => path + name),
      ),
    )
}

/** Most bytes of nulls that are created at a time. */
const chunkBytes = 1 << 20
const chunkRows = 65_536

/** A column of nulls. Its batches share a few buffers, so it takes little memory for any number of rows. */
export function nullColumn(field: Field, rows: number): AnyColumn {
  const perRow = byteLength(nulls(field, 1, field.name))
  const max = Math.max(1, Math.min(chunkRows, Math.floor(chunkBytes / Math.max(1, perRow))))
  const batches: AnyBatch[] = []
  if (rows >= max) {
    const chunk = nulls(field, max, field.name)
    for (let at = max; at <= rows; at += max) batches.push(chunk)
  }
  if (rows % max > 0) batches.push(nulls(field, rows % max, field.name))
  return makeColumn(field.type, batches)
}

function nulls({ type }: Field, length: number, path: string): AnyBatch {
  try {
    return nullBatch(type, length)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw schemaMismatch(
      `Column ${JSON.stringify(path)} is missing and would take too many nulls at once. Send it, or send fewer rows in a batch.`,
    )
  }
}

/** Whether two nested types differ in their children only. */
function hasSameShape({ type: a }: Field, { type: b }: Field): boolean {
  if (a.typeId !== b.typeId || a.typeId === Type.Dictionary || a.typeId === Type.Union) return false
  if (a.typeId === Type.FixedSizeList) return b.typeId === Type.FixedSizeList && a.stride === b.stride
  if (a.typeId === Type.Map) return b.typeId === Type.Map && a.keysSorted === b.keysSorted
  return a.typeId !== Type.RunEndEncoded && childFields(a).length > 0
}

/** For each child of the wanted field, how to take it from a batch of the given one. */
function childFits(wanted: Field, given: Field, path: string, filling: Filling | undefined): Fit[] {
  const from = childFields(given.type)
  const into = childFields(wanted.type)
  // Writers disagree on the names of items and entries, so these match by position.
  if (wanted.type.typeId !== Type.Struct) {
    return into.map((child, i) => childFit(child, from[i]!, i, `${path}.${child.name}`, filling))
  }
  const indices = new Map(from.map(({ name }, i) => [name, i]))
  requireKnown(from, into, `${path}.`)
  return into.map((child) => {
    const index = indices.get(child.name)
    const childPath = `${path}.${child.name}`
    if (index !== undefined) return childFit(child, from[index]!, index, childPath, filling)
    if (!filling) throw partial(childPath)
    if (!child.nullable) throw missingColumn(childPath)
    return ({ length }) => nulls(child, length, childPath)
  })
}

function childFit(
  wanted: Field,
  given: Field,
  index: number,
  path: string,
  filling: Filling | undefined,
): Fit {
  const fit = fitting(wanted, given, filling, path)
  if (fit === undefined) return ({ children }) => children[index]!
  const holdsNulls = hasValidity(layoutOf(given.type))
  return (batch) => {
    const child = batch.children[index]!
    const isHidden = holdsNulls && batch.type.typeId === Type.Struct && batch.nullCount > 0
    return fit(isHidden ? nullWithin(batch, child) : child)
  }
}

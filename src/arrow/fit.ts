import { type Field, Type } from '@uwdata/flechette'
import { CatalogError } from '../errors.ts'
import { type AnyBatch, type AnyColumn, byteLength, makeBatch, makeColumn, partsOf } from './batch.ts'
import { childFields } from './layout.ts'
import { nullBatch } from './null-batch.ts'
import { fieldDifference } from './schema.ts'

/** Makes of a batch of one field a batch of another. */
export type Fit = (batch: AnyBatch) => AnyBatch

/** The error for columns that do not fit a table. */
export function misfit(sentence: string): CatalogError {
  return new CatalogError('TableSchemaValidationError', sentence)
}

/**
 * What makes batches of the field `given` fit the field `wanted`; undefined where they fit as they are. Fields of
 * structs are matched by name, at any depth, and those that are missing and may be null become nulls. A column of
 * Arrow's null type fits every field that may be null. Without `fills` every field of a struct must be there. Throws `TableSchemaValidationError` for all other differences,
 * with the path of the field.
 */
export function fitting(wanted: Field, given: Field, path = wanted.name, fills = true): Fit | undefined {
  const difference = fieldDifference(wanted, given, true)
  if (difference === undefined) return undefined
  if (given.type.typeId === Type.Null && wanted.nullable) return ({ length }) => nulls(wanted, length, path)
  const fits = hasSameShape(wanted, given) ? childFits(wanted, given, path, fills) : undefined
  if (fits === undefined) {
    throw misfit(`Column ${JSON.stringify(path)} ${difference}. Convert it to the table's type.`)
  }
  return (batch) => makeBatch(wanted.type, { ...partsOf(batch), children: fits.map((fit) => fit(batch)) })
}

/** The error for a column that must be there and is not. */
export function missing(path: string): CatalogError {
  return misfit(
    `Append with different schema: column ${JSON.stringify(path)} is missing and must not be null. Send it with every row.`,
  )
}

function partial(path: string): CatalogError {
  return misfit(`Field ${JSON.stringify(path)} is missing. Send structs with all of their fields.`)
}

/** The error for a column that the table does not have. */
export function surplus(path: string): CatalogError {
  return misfit(
    `Column ${JSON.stringify(path)} is not in the table. Leave it out, or add it to the table first.`,
  )
}

/** Most bytes of nulls that are made at a time. */
const chunkBytes = 1 << 20
const chunkRows = 65_536

/** A column of nulls. It takes little memory, however many rows there are: all of its batches are the same few. */
export function nullColumn(field: Field, rows: number): AnyColumn {
  const perRow = byteLength(nulls(field, 1, field.name))
  const most = Math.max(1, Math.min(chunkRows, Math.floor(chunkBytes / Math.max(1, perRow))))
  const batches: AnyBatch[] = []
  if (rows >= most) {
    const chunk = nulls(field, most, field.name)
    for (let at = most; at <= rows; at += most) batches.push(chunk)
  }
  if (rows % most > 0) batches.push(nulls(field, rows % most, field.name))
  return makeColumn(field.type, batches)
}

function nulls({ type }: Field, length: number, path: string): AnyBatch {
  try {
    return nullBatch(type, length)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw misfit(
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

/** How each child of the wanted field comes out of a batch of the given one. */
function childFits(wanted: Field, given: Field, path: string, fills: boolean): Fit[] {
  const from = childFields(given.type)
  const into = childFields(wanted.type)
  // Writers do not agree on the names of items and entries, so these have their places only.
  if (wanted.type.typeId !== Type.Struct) {
    return into.map((child, i) => childFit(child, from[i]!, i, `${path}.${child.name}`, fills))
  }
  const places = new Map(from.map(({ name }, i) => [name, i]))
  const names = new Set(into.map(({ name }) => name))
  const extra = from.find(({ name }) => !names.has(name))
  if (extra) throw surplus(`${path}.${extra.name}`)
  return into.map((child) => {
    const index = places.get(child.name)
    const childPath = `${path}.${child.name}`
    if (index !== undefined) return childFit(child, from[index]!, index, childPath, fills)
    if (!fills) throw partial(childPath)
    if (!child.nullable) throw missing(childPath)
    return ({ length }) => nulls(child, length, childPath)
  })
}

function childFit(wanted: Field, given: Field, index: number, path: string, fills: boolean): Fit {
  const fit = fitting(wanted, given, path, fills)
  return ({ children }) => (fit ? fit(children[index]!) : children[index]!)
}

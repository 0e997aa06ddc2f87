import { type DataType, Type } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { CastFailure, canCast, castBatch } from '../../arrow/cast/cast.ts'
import { castSize } from '../../arrow/cast/cast-size.ts'
import { maxCastBytes } from '../../arrow/fit.ts'
import { childFields, layoutOf } from '../../arrow/layout.ts'
import { typeName } from '../../arrow/type-name.ts'
import { statisticsIn } from '../format/statistics.ts'
import type { TableSchema } from '../format/table-schema.ts'
import { batchAt } from '../read/projection.ts'
import type { ColumnAlteration } from '../table-engine.ts'
import type { ColumnEdit } from './column-change.ts'
import { checkNames, type FoundField, findField, idsFrom, isInStructs, taken, treeOfSchema } from './edits.ts'
import { type FieldNode, fieldOf, treeOf } from './field-tree.ts'
import type { ColumnWork } from './make-columns.ts'
import { typesItems } from './typed-nulls.ts'

/** A column whose values get another type: before and after. */
interface Cast {
  readonly index: number
  readonly before: FieldNode
  readonly after: FieldNode
}

interface FieldAlteration {
  readonly found: FoundField
  readonly alteration: ColumnAlteration
}

/** Makes several alterations at once. All paths are those before the change. */
export function alterColumns(schema: TableSchema, alterations: readonly ColumnAlteration[]): ColumnEdit {
  const { tree, nextId } = treeOfSchema(schema)
  const wanted = new Map<number, FieldAlteration>()
  for (const alteration of alterations) {
    const found = findField(schema, tree, alteration.path)
    if (wanted.has(found.node.id)) {
      throw invalid(`${quote(alteration.path)} is altered twice. Write all that changes into one alteration.`)
    }
    wanted.set(found.node.id, { found, alteration })
  }
  const ids = idsFrom(nextId)
  const casts: Cast[] = []
  const edited = tree.map((before, index) => {
    const after = alter(before, wanted, ids)
    if (!changesType(before, wanted)) return after
    const [fresh] = treeOf([fieldOf(after)], ids)
    casts.push({ index, before, after: fresh! })
    return fresh!
  })
  checkNames(edited, tree)
  const checks = [...wanted.values()].filter(
    ({ found, alteration }) => alteration.nullable === false && found.node.field.nullable,
  )
  const work = casts.length + checks.length > 0 ? workOf(schema, casts, checks) : undefined
  return { tree: edited, nextId: ids.next().value, typesItems: typesItems(tree, edited), work }
}

/** Whether a field, or one within it, gets another type. */
function changesType(node: FieldNode, wanted: ReadonlyMap<number, FieldAlteration>): boolean {
  // Nulls have no values to cast.
  if (node.field.type.typeId === Type.Null) return false
  const type = wanted.get(node.id)?.alteration.type
  if (type !== undefined && typeName(type) !== typeName(node.field.type)) return true
  return node.children.some((child) => changesType(child, wanted))
}

function alter(
  node: FieldNode,
  wanted: ReadonlyMap<number, FieldAlteration>,
  ids: Iterable<number>,
): FieldNode {
  const { found, alteration } = wanted.get(node.id) ?? {}
  const children = node.children.map((child) => alter(child, wanted, ids))
  if (new Set(children.map(({ field }) => field.name)).size < children.length && isStruct(node)) {
    throw taken(children.map(({ field }) => field.name).find((name, i, all) => all.indexOf(name) !== i)!)
  }
  if (alteration === undefined) return { ...node, children }
  const { rename, nullable, type, path } = alteration
  if (rename === '' || rename?.isWellFormed() === false) {
    throw invalid(`The new name of ${quote(path)} is empty or not well-formed Unicode. Give another one.`)
  }
  if (nullable === false && !isInStructs(found!)) {
    throw invalid(
      `${quote(path)} lies in a list, whose items are not checked for nulls. Leave "nullable" out.`,
    )
  }
  const field = {
    ...node.field,
    name: rename ?? node.field.name,
    nullable: nullable ?? node.field.nullable,
  }
  if (type === undefined || typeName(type) === typeName(node.field.type)) return { ...node, field, children }
  // A new column to files: those written before lack it, and are null there.
  if (node.field.type.typeId === Type.Null) return treeOf([{ ...field, type }], ids)[0]!
  if (!canCast(node.field.type, type)) {
    throw invalid(
      `Column ${quote(path)} is ${typeName(node.field.type)} and cannot become ${typeName(type)}. Types change within their kind only: whole numbers, floating-point numbers, decimals, moments, times, texts, bytes, or lists of such. Add a column with an expression instead.`,
    )
  }
  if (node.children.some((child) => isAltered(child, wanted))) {
    throw invalid(
      `The type of ${quote(path)} is given, and a field within it is altered, too. Give one of the two.`,
    )
  }
  return { ...treeOf([{ ...field, type }], idsFrom(0))[0]!, id: node.id }
}

function isAltered(node: FieldNode, wanted: ReadonlyMap<number, FieldAlteration>): boolean {
  return wanted.has(node.id) || node.children.some((child) => isAltered(child, wanted))
}

function isStruct({ field }: FieldNode): boolean {
  return field.type.typeId === Type.Struct
}

function workOf(schema: TableSchema, casts: readonly Cast[], checks: readonly FieldAlteration[]): ColumnWork {
  const isFree =
    ({ found }: FieldAlteration) =>
    (entry: Parameters<NonNullable<ColumnWork['isDone']>>[0]) =>
      statisticsIn(entry, schema, found.indices)?.nullCount === 0
  const reads = new Set([...casts.map(({ index }) => index), ...checks.map(({ found }) => found.indices[0]!)])
  return {
    key: [
      ...casts.map(({ before, after }) => `${before.id} as ${typeName(fieldOf(after).type)}`),
      ...checks.map(({ found }) => `${found.node.id} not null`),
    ].join('\n'),
    reads: [...reads],
    writes: casts.map(({ after }) => after),
    maxBytes: (rows) => rows * casts.reduce((sum, { after }) => sum + fixedBytes(fieldOf(after).type), 0),
    isDone: (entry) => casts.length === 0 && checks.every((check) => isFree(check)(entry)),
    compute: async (rows, firstRow, timeSlice) => {
      for (const { found, alteration } of checks) {
        const batch = batchAt(found.indices, found.node.field.name, rows.columns)
        if (batch.nullCount > 0) throw isNullIn(alteration.path, firstRow + firstNull(batch.validity))
        if (timeSlice.due) await timeSlice.rest()
      }
      const computed = []
      for (const { index, before, after } of casts) {
        const batch = rows.columns[index]!
        if (castSize(batch, fieldOf(after).type) > maxCastBytes) throw takesTooMuch(before, after)
        try {
          computed.push(castBatch(batch, fieldOf(after).type))
        } catch (error) {
          if (error instanceof CastFailure)
            throw doesNotFit(before, after, firstRow, error.row, batch.at(error.row))
          throw error
        }
        if (timeSlice.due) await timeSlice.rest()
      }
      return computed
    },
  }
}

/** Bytes of each value of a type; 0 if values differ, since a cast does not make these longer. */
function fixedBytes(type: DataType): number {
  const layout = layoutOf(type)
  if (layout.kind === 'fixed') return layout.bytes
  return layout.kind === 'fixedList' ? layout.stride * fixedBytes(childFields(type)[0]!.type) : 0
}

function firstNull(validity: Uint8Array): number {
  const byte = validity.findIndex((bits) => bits !== 255)
  return byte * 8 + (31 - Math.clz32(~validity[byte]! & -~validity[byte]!))
}

function isNullIn(path: string, row: number): CatalogError {
  return invalid(
    `Column ${quote(path)} is null in row ${row}, counted from 0, and cannot be made not nullable. Delete such rows, or leave the column nullable.`,
  )
}

function takesTooMuch(before: FieldNode, after: FieldNode): CatalogError {
  return invalid(
    `Column ${quote(before.field.name)} would take more than ${maxCastBytes.toLocaleString('en')} bytes as ${typeName(fieldOf(after).type)} in one fragment, since its rows share what they show. Leave its type as it is.`,
  )
}

function doesNotFit(
  before: FieldNode,
  after: FieldNode,
  firstRow: number,
  row: number,
  value: unknown,
): CatalogError {
  const what =
    typeof value === 'number' || typeof value === 'bigint' ? ` holds ${value}, which` : ' holds a value that'
  return invalid(
    `Column ${quote(before.field.name)}${what} ${typeName(fieldOf(after).type)} cannot hold, in row ${firstRow + row}, counted from 0. Choose another type, or delete such rows.`,
  )
}

import {
  binary,
  bool,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  dictionary,
  duration,
  type Field,
  fixedSizeBinary,
  fixedSizeList,
  float16,
  float32,
  float64,
  int,
  interval,
  largeBinary,
  largeList,
  largeListView,
  largeUtf8,
  list,
  listView,
  nullType,
  runEndEncoded,
  type Schema,
  Type,
  time,
  timestamp,
  union,
  utf8,
} from '@uwdata/flechette'
import { invalid } from '../../base/errors.ts'
import { childFields } from './layout.ts'
import { requireShort } from './name-limit.ts'
import { typeName } from './type-name.ts'
import type { JsonArrowField, JsonArrowSchema, JsonArrowType } from './types.ts'
import { typesMeant } from './types-meant.ts'

export type { JsonArrowField, JsonArrowSchema, JsonArrowType }

/** The protocol's form of a schema. `fromJsonSchema` reverses it. */
export function toJsonSchema(schema: Schema): JsonArrowSchema {
  return { fields: schema.fields.map(toJsonField), ...jsonMetadata(schema.metadata) }
}

function toJsonField(field: Field): JsonArrowField {
  return {
    name: field.name,
    type: toJsonType(field.type),
    nullable: field.nullable,
    ...jsonMetadata(field.metadata),
  }
}

function jsonMetadata(metadata: ReadonlyMap<string, string> | null | undefined) {
  return metadata?.size ? { metadata: Object.fromEntries(metadata) } : {}
}

function toJsonType(type: DataType): JsonArrowType {
  if (type.typeId === Type.Dictionary) {
    const [value, index] = [typeName(type.dictionary), typeName(type.indices)]
    if (!value.includes('<')) return { type: `dict:${value}:${index}:${type.ordered}` }
    const part = (name: string, of: DataType) => ({ name, type: toJsonType(of), nullable: true })
    return { type: 'dictionary', fields: [part('index', type.indices), part('value', type.dictionary)] }
  }
  if (type.typeId === Type.FixedSizeBinary) return { type: 'fixed_size_binary', length: type.stride }
  const name = typeName(type)
  const nested = name.indexOf('<')
  if (nested < 0) return { type: name }
  const fields = childFields(type).map(toJsonField)
  if (type.typeId === Type.FixedSizeList) return { type: 'fixed_size_list', fields, length: type.stride }
  if (type.typeId === Type.Union)
    return { type: `${name.slice(0, nested)}:${type.typeIds.join(',')}`, fields }
  return { type: name.slice(0, nested), fields }
}

/** The schema of the protocol's form. Throws `InvalidInput` with the name of the field for an unknown type. */
export function fromJsonSchema(json: JsonArrowSchema): Schema {
  return {
    version: 4,
    endianness: 0,
    fields: json.fields.map((field, i) => fromJsonField(field, `fields[${i}]`, 0)),
    metadata: arrowMetadata(json.metadata),
  }
}

function arrowMetadata(metadata: Readonly<Record<string, string>> | undefined): Map<string, string> {
  const entries = Object.entries(metadata ?? {})
  for (const [name] of entries) requireShort(name)
  return (entries.length > 0 ? new Map(entries) : null) as Map<string, string>
}

const maxDepth = 64

function fromJsonField(field: JsonArrowField, where: string, depth: number): Field {
  if (depth > maxDepth) throw invalid(`The schema nests deeper than ${maxDepth} levels. Flatten it.`)
  if (!isField(field)) {
    throw invalid(`The schema's ${where} is no field. Give each as { name, type: { type }, nullable }.`)
  }
  requireShort(field.name)
  const path = depth === 0 ? field.name : `${where}.${field.name}`
  const children = (field.type.fields ?? []).map((child) => fromJsonField(child, path, depth + 1))
  let type: DataType | undefined
  try {
    type = fromJsonType(field.type, children)
  } catch (cause) {
    throw invalid(unknownType(path, field.type), { cause })
  }
  if (type === undefined) throw invalid(unknownType(path, field.type))
  return { name: field.name, type, nullable: field.nullable ?? true, metadata: arrowMetadata(field.metadata) }
}

/** Whether a value from outside has the form of a field. */
function isField(given: unknown): given is JsonArrowField {
  const field = given as Partial<JsonArrowField> | null | undefined
  return (
    typeof field?.name === 'string' &&
    (field.nullable == null || typeof field.nullable === 'boolean') &&
    isStringMap(field.metadata) &&
    typeof field.type?.type === 'string' &&
    (field.type.fields === undefined || Array.isArray(field.type.fields))
  )
}

function isStringMap(given: unknown): boolean {
  if (given === undefined || given === null) return true
  return typeof given === 'object' && Object.values(given).every((value) => typeof value === 'string')
}

function unknownType(path: string, type: JsonArrowType): string {
  const given = JSON.stringify(type.type)
  const meant = typesMeant(type.type, Object.keys(plain))
  const right =
    meant.length > 0
      ? meant.map((name) => JSON.stringify(name)).join(' or ')
      : 'a name like "int64", "string" or "timestamp:us:UTC"'
  return `Field ${JSON.stringify(path)} has type ${given}, which is unknown or lacks a part. Use ${right}.`
}

const plain: Readonly<Record<string, () => DataType>> = {
  null: nullType,
  bool,
  int8: () => int(8),
  int16: () => int(16),
  int32: () => int(32),
  int64: () => int(64),
  uint8: () => int(8, false),
  uint16: () => int(16, false),
  uint32: () => int(32, false),
  uint64: () => int(64, false),
  halffloat: float16,
  float: float32,
  double: float64,
  binary,
  large_binary: largeBinary,
  binary_view: () => ({ typeId: Type.BinaryView }),
  string: utf8,
  large_string: largeUtf8,
  string_view: () => ({ typeId: Type.Utf8View }),
  'date32:day': dateDay,
  'date64:ms': dateMillisecond,
  'interval:year_month': () => interval(0),
  'interval:day_time': () => interval(1),
  'interval:month_day_nano': () => interval(2),
}

const unitNumbers = { s: 0, ms: 1, us: 2, ns: 3 } as const

function unit(text: string | undefined): 0 | 1 | 2 | 3 | undefined {
  return Object.hasOwn(unitNumbers, text ?? '') ? unitNumbers[text as 's'] : undefined
}

/** A dictionary of plain values in Lance's form: the type of the values, the type of the index, the order. */
const dictPattern = /^dict:(?!dict:)(.+):(u?int\d+):(true|false)$/

function fromJsonType(json: JsonArrowType, fields: Field[]): DataType | undefined {
  if (typeof json.type !== 'string') return undefined
  const make = Object.hasOwn(plain, json.type) ? plain[json.type] : undefined
  if (make) return make()
  const [name, first, ...rest] = json.type.split(':')
  const item = fields[0]
  const natural = (text: string | number | undefined) => {
    const value = Number(text)
    return text !== '' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined
  }
  switch (name) {
    case 'time32':
    case 'time64': {
      const of = unit(first)
      return of !== undefined && of >> 1 === (name === 'time32' ? 0 : 1) ? time(of) : undefined
    }
    case 'timestamp': {
      const of = unit(first)
      const zone = rest.join(':')
      return of === undefined || zone === '' ? undefined : timestamp(of, zone === '-' ? null : zone)
    }
    case 'duration': {
      const of = unit(first)
      return of === undefined ? undefined : duration(of)
    }
    case 'decimal': {
      const precision = natural(rest[0])
      const scale = Number(rest[1] ?? 0)
      if (!precision || precision > 76 || !Number.isInteger(scale) || Math.abs(scale) > 128) return undefined
      return decimal(precision, scale, Number(first) as 128)
    }
    case 'fixed_size_binary': {
      const length = natural(first ?? json.length)
      return length === undefined ? undefined : fixedSizeBinary(length)
    }
    case 'fixed_size_list': {
      const length = natural(json.length ?? first)
      return length === undefined || item === undefined ? undefined : fixedSizeList(item, length)
    }
    case 'list':
      return item && list(item)
    case 'large_list':
      return item && largeList(item)
    case 'list_view':
      return item && (listView(item) as DataType)
    case 'large_list_view':
      return item && (largeListView(item) as DataType)
    case 'struct':
      return { typeId: Type.Struct, children: fields }
    case 'map':
      if (item?.type.typeId !== Type.Struct || item.type.children.length !== 2) return undefined
      return { typeId: Type.Map, keysSorted: first === 'sorted', children: [item], offsets: Int32Array }
    case 'run_end_encoded':
      return item && fields[1] && runEndEncoded(item, fields[1])
    case 'sparse_union':
    case 'dense_union': {
      const ids = first === undefined || first === '' ? undefined : first.split(',').map(Number)
      if (
        ids &&
        (ids.length !== fields.length || !ids.every((id) => natural(id) !== undefined && id < 128))
      ) {
        return undefined
      }
      return union(name === 'sparse_union' ? 0 : 1, fields, ids)
    }
    case 'dict': {
      const [, value, index, ordered] = dictPattern.exec(json.type) ?? []
      const values = value === undefined ? undefined : fromJsonType({ type: value }, [])
      const indices = index === undefined ? undefined : fromJsonType({ type: index }, [])
      if (values === undefined || indices?.typeId !== Type.Int) return undefined
      return dictionary(values, indices, ordered === 'true')
    }
    case 'dictionary': {
      const value = fields[1]
      return item?.type.typeId === Type.Int && value ? dictionary(value.type, item.type) : undefined
    }
  }
  return undefined
}

import { illegalArgument } from '../errors.ts'
import { toLong } from './long.ts'
import { type PrimitiveType, parsePrimitive } from './primitive-type.ts'
import { isInt, isObject, show } from './read.ts'
import type { Type } from './types.ts'

const date = /^([+-]?\d{4,9})-(\d\d)-(\d\d)$/
const time = /^(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?$/
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const hex = /^(?:[0-9a-f]{2})*$/i

/** Refuses a default of a field that is no value of its type. Values are those of the specification's JSON form. */
export function checkDefault(type: Type, value: unknown, where: string): void {
  if (value === null || value === undefined) return
  if (typeof type !== 'string') {
    // A struct may begin with the defaults of its own fields. Other nested types have none.
    if (type.type === 'struct' && isObject(value) && Object.keys(value).length === 0) return
    throw illegalArgument(`Invalid default value for ${type.type}: ${show(value)} (must be null): ${where}`)
  }
  const primitive = parsePrimitive(type)
  if (!isValueOf(primitive, value))
    throw illegalArgument(`Cannot parse default as a ${primitive.text} value: ${show(value)}: ${where}`)
}

function isValueOf(type: PrimitiveType, value: unknown): boolean {
  switch (type.kind) {
    case 'boolean':
      return typeof value === 'boolean'
    case 'int':
      return isInt(value)
    case 'long':
      return toLong(value) !== undefined
    case 'float':
    case 'double':
      return typeof value === 'number' || typeof value === 'bigint'
    default:
      return typeof value === 'string' && isTextOf(type, value)
  }
}

function isTextOf(type: PrimitiveType, text: string): boolean {
  switch (type.kind) {
    case 'string':
      return true
    case 'decimal':
      return /^[+-]?\d+(\.\d+)?$/.test(text) && (text.split('.')[1] ?? '').length === type.scale
    case 'uuid':
      return uuid.test(text)
    case 'date':
      return isDate(text)
    case 'time':
      return isTime(text)
    case 'timestamp':
    case 'timestamp_ns':
      return isTimestamp(text)
    case 'timestamptz':
    case 'timestamptz_ns':
      return /(\+00:00|Z)$/.test(text) && isTimestamp(text.replace(/(\+00:00|Z)$/, ''))
    case 'fixed':
      return hex.test(text) && text.length === type.length! * 2
    case 'binary':
      return hex.test(text)
    default:
      // Columns of unknown, variant, geometry and geography have no default but null.
      return false
  }
}

function isDate(text: string): boolean {
  const found = date.exec(text)
  if (found === null) return false
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])]
  if (month < 1 || month > 12 || day < 1) return false
  // Four hundred years have the same days in each month, and Date holds fewer years than Iceberg.
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}

function isTime(text: string): boolean {
  const found = time.exec(text)
  return found !== null && Number(found[1]) < 24 && Number(found[2]) < 60 && Number(found[3] ?? 0) < 60
}

function isTimestamp(text: string): boolean {
  const at = text.indexOf('T')
  return at > 0 && isDate(text.slice(0, at)) && isTime(text.slice(at + 1))
}

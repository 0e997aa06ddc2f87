import { illegalArgument, validation } from '../errors.ts'
import { parsePrimitive } from './primitive-type.ts'
import { typeText } from './schema-index.ts'
import type { Type } from './types.ts'

const plain = ['identity', 'year', 'month', 'day', 'hour', 'void']
const sized = /^(\w+)\[(\d+)\]$/
const largestInt = 2 ** 31 - 1

const times = ['timestamp', 'timestamptz', 'timestamp_ns', 'timestamptz_ns']
const truncated = ['int', 'long', 'string', 'binary', 'decimal']
const bucketed = [...truncated, ...times, 'date', 'time', 'fixed', 'uuid']
const withoutIdentity = ['variant', 'geometry', 'geography']

/** The usual spelling of a transform. Transforms that are unknown are kept: readers ignore them. */
export function readTransform(text: string): string {
  const found = sized.exec(text)
  if (found !== null) {
    const name = found[1]!.toLowerCase()
    const size = Number(found[2])
    if (name === 'bucket' || name === 'truncate') {
      if (size > largestInt)
        throw illegalArgument(`Invalid size of transform: ${name}[${found[2]!.slice(0, 20)}]`)
      if (size === 0 && name === 'bucket')
        throw illegalArgument(`Invalid number of buckets: ${size} (must be > 0)`)
      if (size === 0) throw illegalArgument(`Invalid truncate width: ${size} (must be > 0)`)
      return `${name}[${size}]`
    }
  }
  const lower = text.toLowerCase()
  return plain.includes(lower) ? lower : text
}

/** Refuses a transform that cannot be applied to values of a type. The type is primitive. */
export function checkTransform(transform: string, type: Type): void {
  if (!canTransform(transform, type))
    throw validation(`Invalid source type ${typeText(type)} for transform: ${transform}`)
}

/** Whether values of a type are single values: not nested, and no variant. */
export function isPrimitive(type: Type): type is string {
  return typeof type === 'string' && parsePrimitive(type).kind !== 'variant'
}

function canTransform(transform: string, type: Type): boolean {
  if (typeof type !== 'string') return false
  const { kind } = parsePrimitive(type)
  switch (sized.exec(transform)?.[1] ?? transform) {
    case 'identity':
      return !withoutIdentity.includes(kind)
    case 'year':
    case 'month':
    case 'day':
      return kind === 'date' || times.includes(kind)
    case 'hour':
      return times.includes(kind)
    case 'bucket':
      return bucketed.includes(kind)
    case 'truncate':
      return truncated.includes(kind)
    default:
      return true
  }
}

import {
  binary,
  bool,
  type DataType,
  dateDay,
  decimal,
  fixedSizeBinary,
  float16,
  float32,
  float64,
  int,
  interval,
  nullType,
  time,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import { type CatalogError, unsupported } from '../../../base/errors.ts'
import { damagedFile } from '../damage.ts'
import { annotations } from './annotations.ts'
import type { SchemaNode } from './schema-tree.ts'
import { natural, type Struct } from './thrift.ts'

/** Which logical type a field has, if any. */
export function annotationOf({ logical }: SchemaNode): string | undefined {
  return Object.keys(logical)[0]
}

export function annotated({ label, type }: SchemaNode): CatalogError {
  return damagedFile(`annotates column ${label} of ${type ?? 'fields'} as what it cannot be`)
}

/** The Arrow type of a leaf. Source: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md */
export function leafType(node: SchemaNode): DataType {
  const annotation = annotationOf(node)
  const about = (annotation && node.logical[annotation as 'field_1']) as Struct
  const only = (isRight: boolean, type: () => DataType): DataType => {
    if (!isRight) throw annotated(node)
    return type()
  }
  const { type, length } = node
  switch (annotation) {
    case annotations.string:
    case annotations.enum:
    case annotations.json:
      return only(type === 'BYTE_ARRAY', utf8)
    case annotations.bson:
      return only(type === 'BYTE_ARRAY', binary)
    case annotations.decimal:
      return decimalType(node, about)
    case annotations.date:
      return only(type === 'INT32', dateDay)
    case annotations.time:
    case annotations.timestamp:
      return timeType(node, about, annotation)
    case annotations.integer:
      return integerType(node, about)
    case annotations.unknown:
      return nullType()
    case annotations.uuid:
      return only(type === 'FIXED_LEN_BYTE_ARRAY' && length === 16, () => fixedSizeBinary(16))
    case annotations.float16:
      return only(type === 'FIXED_LEN_BYTE_ARRAY' && length === 2, float16)
    case annotations.interval:
      return only(type === 'FIXED_LEN_BYTE_ARRAY' && length === 12, () => interval(2))
    case annotations.map:
    case annotations.list:
    case annotations.variant:
      throw annotated(node)
    default:
      return plainType(node)
  }
}

/** The type of a leaf without an annotation, or with one that is not known here. */
function plainType({ type, length }: SchemaNode): DataType {
  switch (type) {
    case 'BOOLEAN':
      return bool()
    case 'INT32':
      return int(32)
    case 'INT64':
      return int(64)
    case 'INT96':
      return timestamp(3, null)
    case 'FLOAT':
      return float32()
    case 'DOUBLE':
      return float64()
    case 'BYTE_ARRAY':
      return binary()
    default:
      return fixedSizeBinary(length)
  }
}

function timeType(node: SchemaNode, about: Struct, annotation: string): DataType {
  const units = Object.keys((about.field_2 ?? {}) as Struct)
  // Arrow counts units as Parquet does: milliseconds are 1.
  const unit = [1, 2, 3].find((number) => units[0] === `field_${number}`) as 1 | 2 | 3 | undefined
  const isUtc = about.field_1
  if (unit === undefined || units.length > 1 || typeof isUtc !== 'boolean') throw annotated(node)
  const isSmall = annotation === annotations.time && unit === 1
  if (node.type !== (isSmall ? 'INT32' : 'INT64')) throw annotated(node)
  return annotation === annotations.time ? time(unit) : timestamp(unit, isUtc ? 'UTC' : null)
}

function integerType(node: SchemaNode, { field_1, field_2 }: Struct): DataType {
  const bits = [8, 16, 32, 64].find((each) => each === field_1) as 8 | 16 | 32 | 64 | undefined
  if (bits === undefined || typeof field_2 !== 'boolean') throw annotated(node)
  if (node.type !== (bits === 64 ? 'INT64' : 'INT32')) throw annotated(node)
  return int(bits, field_2)
}

/** How many digits surely fit into the bytes of a value. */
function digitsOf({ type, length }: SchemaNode): number {
  const bytes = type === 'INT32' ? 4 : type === 'INT64' ? 8 : type === 'FIXED_LEN_BYTE_ARRAY' ? length : 0
  if (bytes > 0) return Math.floor(Math.log10(2) * (8 * bytes - 1))
  return type === 'BYTE_ARRAY' ? Number.POSITIVE_INFINITY : 0
}

function decimalType(node: SchemaNode, about: Struct): DataType {
  const [scale, precision] = [natural(about.field_1), natural(about.field_2)]
  if (precision < 1 || scale > precision || precision > digitsOf(node)) throw annotated(node)
  if (precision > 76) {
    throw unsupported(
      `The Parquet file has column ${node.label} with decimals of ${precision} digits.`,
      'Write it with at most 76.',
    )
  }
  return decimal(precision, scale, precision > 38 ? 256 : 128)
}

import { described, Fraction, type JsonType, parseJson } from './json.ts'
import { parseDate, parseTime, parseTimestamp, unitNanos } from './time.ts'

/** Converts a CSV field or a JSON value to a value of a column. Throws a `Mismatch`. */
export type Convert = (value: unknown) => unknown

/** A column cannot hold a value exactly. */
export class Mismatch extends Error {
  /** The path of nested fields to the value. */
  readonly path: readonly string[]
  readonly what: string

  constructor(what: string, path: readonly string[] = []) {
    super(what)
    this.what = what
    this.path = path
  }
}

/** The conversion to a type. An unknown type accepts any value, and the catalog refuses the type by name. */
export function converterOf(type: JsonType): Convert {
  const convert = notNull(type)
  return (value) => (value === null || value === undefined ? null : convert(value))
}

function notNull(type: JsonType): Convert {
  const name = typeof type?.type === 'string' ? type.type : ''
  const [kind = '', first = '', ...rest] = name.split(':')
  const [item, second] = Array.isArray(type?.fields) ? type.fields : []
  const refuse = (value: unknown, wanted: string): never => {
    throw new Mismatch(`holds ${described(value)}, and ${name} takes ${wanted}`)
  }
  const integer = /^(u?)int(8|16|32|64)$/.exec(name)
  if (integer) return integers(Number(integer[2]), integer[1] === '', refuse)
  switch (kind) {
    case 'bool':
      return (value) => {
        if (typeof value === 'boolean') return value
        const written = typeof value === 'string' ? value.toLowerCase() : value
        return written === 'true' || (written === 'false' ? false : refuse(value, 'true or false'))
      }
    case 'halffloat':
    case 'float':
    case 'double':
      return floats(kind, refuse)
    case 'string':
    case 'large_string':
    case 'string_view':
      return (value) => textOf(value) ?? refuse(value, 'text')
    case 'binary':
    case 'large_binary':
    case 'binary_view':
    case 'fixed_size_binary':
      return (value) => bytesOf(value) ?? refuse(value, 'bytes as base64')
    case 'decimal':
      return decimals(Number(rest[0]), Number(rest[1] ?? 0), refuse)
    case 'date32':
    case 'date64':
      return dates(kind, refuse)
    case 'time32':
    case 'time64':
      return inUnit(first, kind === 'time32' ? 32 : 64, 'a time such as 12:30:00', parseTime, refuse)
    case 'duration':
      return inUnit(first, 64, 'a whole number', () => undefined, refuse)
    case 'timestamp':
      return timestamps(first, rest.join(':') !== '-', refuse)
    case 'list':
    case 'large_list':
    case 'list_view':
    case 'large_list_view':
    case 'fixed_size_list':
      return item === undefined ? asIs : lists(item.name, converterOf(item.type), refuse)
    case 'struct':
      return structs(type.fields ?? [], refuse)
    case 'map': {
      const [key, member] = item?.type?.fields ?? []
      if (key === undefined || member === undefined) return asIs
      return maps(converterOf(key.type), converterOf(member.type), refuse)
    }
    case 'dict':
      return converterOf({ type: name.replace(/^dict:(.+):u?int\d+:(?:true|false)$/, '$1') })
    case 'dictionary':
    case 'run_end_encoded':
      return second === undefined ? asIs : converterOf(second.type)
    default:
      return asIs
  }
}

const asIs: Convert = (value) => (value instanceof Fraction ? Number(value.text) : value)

type Refuse = (value: unknown, wanted: string) => never

const number = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/

/** A number times 10^`scale`; undefined for anything but a number, and where the result is not whole. */
function scaledInteger(value: unknown, scale: number): bigint | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return shifted(BigInt(value), scale)
  const text = value instanceof Fraction ? value.text : value
  const [, sign, whole, fraction = '', exponent = '0'] =
    typeof text === 'string' ? (number.exec(text) ?? []) : []
  if (whole === undefined) return undefined
  const digits = BigInt(whole + fraction)
  return shifted(sign === '-' ? -digits : digits, scale - fraction.length + Number(exponent))
}

function shifted(digits: bigint, places: number): bigint | undefined {
  if (digits === 0n) return 0n
  if (places >= 0) return digits * 10n ** BigInt(places)
  const divisor = 10n ** BigInt(-places)
  return digits % divisor === 0n ? digits / divisor : undefined
}

function integers(bits: number, signed: boolean, refuse: Refuse): Convert {
  const low = signed ? -(2n ** BigInt(bits - 1)) : 0n
  const high = low + 2n ** BigInt(bits) - 1n
  return (value) => {
    const whole = scaledInteger(value, 0)
    if (whole === undefined || whole < low || whole > high)
      return refuse(value, `whole numbers from ${low} to ${high}`)
    return bits === 64 ? whole : Number(whole)
  }
}

const precisions = { halffloat: 11, float: 24, double: 53 } as const
const largest = { halffloat: 65_504, float: 2 ** 128 * (1 - 2 ** -24), double: Number.MAX_VALUE } as const
const special: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity'])

/**
 * Fractions round to the nearest number of the type. A whole number must be exact, or be the shortest text of its
 * nearest double: programs write 2^60 as 1152921504606846976 or as 1152921504606847000.
 */
function floats(type: keyof typeof precisions, refuse: Refuse): Convert {
  return (value) => {
    if (special.has(value)) return Number(value)
    const text = typeof value === 'object' || typeof value === 'boolean' ? undefined : String(value)
    const written = value instanceof Fraction ? value.text : text
    if (written === undefined || !number.test(written)) return refuse(value, 'numbers')
    const nearest = Number(written)
    if (Math.abs(nearest) > largest[type]) return refuse(value, `numbers up to ${largest[type]}`)
    if (nearest === 0 && /^[^eE]*[1-9]/.test(written))
      return refuse(value, 'numbers that are not so close to 0')
    if (/^[+-]?\d+$/.test(written)) {
      const whole = BigInt(nearest)
      const isWritten = BigInt(written) === whole || String(nearest) === written
      if (!isWritten || !fits(whole, precisions[type]))
        return refuse(
          value,
          `whole numbers that it holds exactly, such as those up to ${2 ** precisions[type]}`,
        )
    }
    return nearest
  }
}

/** Whether the significant bits of a whole number, without trailing zeros, are at most `bits`. */
function fits(whole: bigint, bits: number): boolean {
  let rest = whole < 0n ? -whole : whole
  const most = 2n ** BigInt(bits)
  while (rest > most && rest % 2n === 0n) rest /= 2n
  return rest <= most
}

function decimals(precision: number, scale: number, refuse: Refuse): Convert {
  const most = 10n ** BigInt(precision > 0 && precision < 1000 ? precision : 0)
  return (value) => {
    const digits = scaledInteger(value, scale)
    if (digits === undefined || digits >= most || digits <= -most)
      return refuse(
        value,
        `numbers of at most ${precision} digits, with at most ${scale} digits after the point`,
      )
    return digits
  }
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string' || !base64.test(value)) return undefined
  const bytes = Buffer.from(value, 'base64')
  const bare = value.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
  return bytes.toString('base64').replace(/=+$/, '') === bare ? new Uint8Array(bytes) : undefined
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Fraction) return value.text
  return typeof value === 'object' ? undefined : String(value)
}

function dates(type: 'date32' | 'date64', refuse: Refuse): Convert {
  const bits = type === 'date32' ? 32 : 64
  const perDay = type === 'date32' ? 1n : 86_400_000n
  return inUnit(
    'ns',
    bits,
    'an ISO date such as 2024-01-31',
    (text) => {
      const days = parseDate(text)
      if (days !== undefined) return BigInt(days) * perDay
      const instant = type === 'date64' ? parseTimestamp(text) : undefined
      return instant && (instant.nanos % unitNanos.ms === 0n ? instant.nanos / unitNanos.ms : undefined)
    },
    refuse,
  )
}

function timestamps(unit: string, hasZone: boolean, refuse: Refuse): Convert {
  const wanted = hasZone
    ? `an ISO time with a zone such as 2024-01-31T12:00:00Z, in ${unit}`
    : `an ISO time without a zone such as 2024-01-31T12:00:00, in ${unit}`
  const parse = (text: string) => {
    const instant = parseTimestamp(text)
    if (instant) return instant.hasZone === hasZone ? instant.nanos : undefined
    const days = hasZone ? undefined : parseDate(text)
    return days === undefined ? undefined : BigInt(days) * 86_400_000_000_000n
  }
  return inUnit(unit, 64, wanted, parse, refuse)
}

/** Times as text, if exact in the column's unit, or as whole numbers in that unit. */
function inUnit(
  unit: string,
  bits: 32 | 64,
  wanted: string,
  parse: (text: string) => bigint | undefined,
  refuse: Refuse,
): Convert {
  if (!Object.hasOwn(unitNanos, unit)) return asIs
  const size = unitNanos[unit as keyof typeof unitNanos]
  return (value) => {
    const nanos = typeof value === 'string' ? parse(value) : undefined
    const whole =
      nanos === undefined ? scaledInteger(value, 0) : nanos % size === 0n ? nanos / size : undefined
    if (whole === undefined || BigInt.asIntN(bits, whole) !== whole) return refuse(value, wanted)
    return bits === 32 ? Number(whole) : whole
  }
}

/** Parses JSON in a CSV field. Returns any other value unchanged. */
function nested(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return parseJson(value)
  } catch {
    return value
  }
}

function within(name: string, convert: Convert, value: unknown): unknown {
  try {
    return convert(value)
  } catch (error) {
    if (error instanceof Mismatch) throw new Mismatch(error.what, [name, ...error.path])
    throw error
  }
}

function lists(name: string, convert: Convert, refuse: Refuse): Convert {
  return (given) => {
    const value = nested(given)
    if (!Array.isArray(value)) return refuse(given, 'a list, in CSV as JSON')
    return value.map((item) => within(name, convert, item))
  }
}

function structs(fields: NonNullable<JsonType['fields']>, refuse: Refuse): Convert {
  const converters = new Map(fields.map(({ name, type }) => [name, converterOf(type)]))
  return (given) => {
    const value = nested(given)
    if (!isObject(value)) return refuse(given, 'an object, in CSV as JSON')
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const convert = converters.get(name)
        if (convert === undefined) throw new Mismatch('is not in the schema', [name])
        return [name, within(name, convert, member)]
      }),
    )
  }
}

function maps(key: Convert, member: Convert, refuse: Refuse): Convert {
  return (given) => {
    const value = nested(given)
    const pairs = isObject(value) ? Object.entries(value) : value
    if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2))
      return refuse(given, 'an object or pairs of key and value, in CSV as JSON')
    return pairs.map(([name, item]) => [within('key', key, name), within('value', member, item)])
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Fraction)
}

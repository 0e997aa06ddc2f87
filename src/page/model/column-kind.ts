/** A column of a grid: its name, and its type without nested types, as `describeTable` names it. */
export interface GridField {
  readonly name: string
  readonly type: string
}

export type Kind = 'whole' | 'float' | 'decimal' | 'text' | 'flag' | 'date' | 'moment' | 'other'

/** What can be asked of a column, by its type. */
export function kindOf(type: string): Kind {
  if (/^u?int\d/.test(type)) return 'whole'
  if (/^(?:float|double|halffloat)$/.test(type)) return 'float'
  if (/^decimal:128:/.test(type)) return 'decimal'
  if (/^(?:large_)?string$|^string_view$|^dict:(?:large_)?string:/.test(type)) return 'text'
  if (type === 'bool') return 'flag'
  if (/^date/.test(type)) return 'date'
  return /^timestamp:/.test(type) ? 'moment' : 'other'
}

/** A value in a predicate, and what it is compared with there. */
export interface Literal {
  readonly text: string
  readonly of: (path: string) => string
}

const itself = (path: string) => path

/** A value that a reader wrote, as the predicate language writes it. An error says what is wrong with it. */
export function literalOf(type: string, given: string): Literal {
  const value = given.trim()
  switch (kindOf(type)) {
    case 'whole':
      return { text: wholeText(type, value), of: itself }
    case 'float':
      if (!/^-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(value))
        throw problem(value, 'a number, such as 1.5')
      return { text: value, of: itself }
    case 'decimal':
      return { text: decimalText(type, value), of: itself }
    case 'date':
      return { text: `DATE '${dateText(value)}'`, of: itself }
    case 'moment':
      return momentLiteral(type, value)
    default:
      throw problem(value, 'a value that can be compared')
  }
}

function problem(value: string, expected: string): Error {
  return new Error(value === '' ? `Write ${expected}.` : `${value.slice(0, 60)} is not ${expected}.`)
}

function wholeText(type: string, value: string): string {
  if (!/^-?\d+$/.test(value)) throw problem(value, 'a whole number')
  const bits = BigInt(/\d+/.exec(type)![0])
  const [low, high] = type.startsWith('u')
    ? [0n, (1n << bits) - 1n]
    : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
  const number = BigInt(value)
  if (number < low || number > high) throw problem(value, `a number of this column: ${low} to ${high}`)
  // The language reads the least number of 64 bits as a float.
  return bits === 64n && number === low && low < 0n ? `CAST('${number}' AS BIGINT)` : String(number)
}

function decimalText(type: string, value: string): string {
  const [, , precision, scale] = type.split(':')
  const [, digits, fraction = ''] = /^-?(\d+)(?:\.(\d*))?$/.exec(value) ?? []
  if (digits === undefined) throw problem(value, 'a number, such as 1.5')
  const isFine = fraction.length <= Number(scale)
  if (!isFine || digits.replace(/^0+/, '').length > Number(precision) - Number(scale))
    throw problem(value, `a number of ${precision} digits, of which ${scale} are decimals`)
  return `CAST('${value}' AS DECIMAL(${precision}, ${scale}))`
}

function dateText(value: string): string {
  const time = new Date(`${value}T00:00:00Z`)
  const isDay = /^\d{4}-\d\d-\d\d$/.test(value)
  if (!isDay || Number.isNaN(time.getTime()) || time.toISOString().slice(0, 10) !== value)
    throw problem(value, 'a day, such as 2026-11-01')
  return value
}

const digitsOf: Readonly<Record<string, number>> = { s: 0, ms: 3, us: 6, ns: 9 }
const nanosOfDay = 86_400_000_000_000n

/** A moment is compared in the unit of its column, and never rounded. Where it has a zone, it is read as UTC. */
function momentLiteral(type: string, value: string): Literal {
  const [, unit, ...zone] = type.split(':')
  const digits = digitsOf[unit!] ?? 0
  const [, day, clock = '00:00', seconds = '00', fraction = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?Z?$/.exec(value) ?? []
  const time = day === undefined ? Number.NaN : Date.parse(`${dateText(day)}T${clock}:${seconds}Z`)
  if (Number.isNaN(time) || !/^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(`${clock}:${seconds}`))
    throw problem(value, 'a time, such as 2026-11-01 12:30:00')
  if (fraction.replace(/0+$/, '').length > digits)
    throw problem(value, `a time of this column, which has ${digits} digits behind the second`)
  const part = fraction.padEnd(digits, '0').slice(0, digits)
  const units = BigInt(time / 1000) * 10n ** BigInt(digits) + BigInt(part || '0')
  if (unit === 'ns' && (units >= 1n << 63n || units < -(1n << 63n) + nanosOfDay))
    throw problem(value, 'a time that a column in nanoseconds can have')
  const text = `${day} ${clock}:${seconds}${part === '' ? '' : `.${part}`}`
  const name = zone.join(':')
  if (name === '-' || name === 'UTC') return { text: `TIMESTAMP '${text}'`, of: itself }
  // A literal would be read in the zone of the column, where some times do not exist and others do twice.
  return { text: String(units), of: (path) => `CAST(${path} AS BIGINT)` }
}

/** The value of a literal as a reader writes it: the other way of `literalOf`. */
export function writtenValue(type: string, written: string): string {
  if (kindOf(type) !== 'moment' || !/^-?\d+$/.test(written)) return written
  const digits = digitsOf[type.split(':')[1]!] ?? 0
  const scale = 10n ** BigInt(digits)
  const units = BigInt(written)
  const part = ((units % scale) + scale) % scale
  const time = new Date(Number((units - part) / scale) * 1000)
  if (Number.isNaN(time.getTime())) return written
  const [day, clock] = [time.toISOString().slice(0, -14), time.toISOString().slice(-13, -5)]
  return `${day} ${clock}${digits === 0 ? '' : `.${String(part).padStart(digits, '0')}`}`
}

import { type DataType, TimeUnit, Type } from '@uwdata/flechette'
import { unreadable } from './rows.ts'
import { shownBytes } from './text.ts'

/** The most characters of a value in a cell. The dialog of a row shows more. */
const cellCharacters = 200
/** The most characters of a value that the page shows at all. */
export const maxCharacters = 20_000
/** The most bytes that a cell shows as digits. */
const shownDigits = 16
const maxDepth = 32

/** What flechette's types have, depending on `typeId`. */
interface Shape {
  readonly typeId: number
  readonly unit?: number
  readonly timezone?: string | null
  readonly scale?: number
  readonly precision?: number
  readonly children?: readonly { readonly name: string; readonly type: Shape }[]
  readonly dictionary?: Shape
}

/** The text of a value; undefined for null. It is cut after `most` characters. */
export function cellText(value: unknown, type: DataType, most = cellCharacters): string | undefined {
  if (value === null || value === undefined) return undefined
  const text = new Writer(most).whole(value, type as Shape)
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** Whether values of a type stand at the right, as numbers do. */
export function isNumeric({ typeId }: DataType): boolean {
  return typeId === Type.Int || typeId === Type.Float || typeId === Type.Decimal
}

/** Writes a value, and stops after `most` characters. */
class Writer {
  readonly #most: number
  #text = ''

  constructor(most: number) {
    this.#most = most
  }

  whole(value: unknown, type: Shape): string {
    if (typeof value === 'string') return value
    this.#write(value, type, 0)
    return this.#text
  }

  #write(value: unknown, type: Shape | undefined, depth: number): void {
    if (this.#text.length > this.#most) return
    const scalar = scalarText(value, type, this.#most)
    if (scalar !== undefined) this.#text += scalar
    else if (depth > maxDepth) this.#text += '…'
    else if (type?.typeId === Type.Dictionary) this.#write(value, type.dictionary, depth)
    else if (type?.typeId === Type.Map || value instanceof Map) this.#map(value, type, depth)
    else if (isIterable(value)) this.#list(value, type?.children?.[0]?.type, depth)
    else this.#struct(value as Readonly<Record<string, unknown>>, type, depth)
  }

  #list(items: Iterable<unknown>, type: Shape | undefined, depth: number): void {
    this.#between('[', items, ']', (item) => this.#write(item, type, depth + 1))
  }

  #map(entries: unknown, type: Shape | undefined, depth: number): void {
    const [key, value] = type?.children?.[0]?.type.children ?? []
    this.#between('{', entries as Iterable<readonly [unknown, unknown]>, '}', ([name, held]) => {
      this.#write(name, key?.type, depth + 1)
      this.#text += ': '
      this.#write(held, value?.type, depth + 1)
    })
  }

  #struct(members: Readonly<Record<string, unknown>>, type: Shape | undefined, depth: number): void {
    const types = new Map(type?.children?.map((child) => [child.name, child.type]))
    this.#between('{', Object.entries(members), '}', ([name, member]) => {
      this.#text += `${name}: `
      this.#write(member, types.get(name), depth + 1)
    })
  }

  #between<T>(begin: string, items: Iterable<T>, end: string, write: (item: T) => void): void {
    this.#text += begin
    let before = ''
    for (const item of items) {
      if (this.#text.length > this.#most) break
      this.#text += before
      before = ', '
      write(item)
    }
    this.#text += end
  }
}

/** The text of a value that holds no others; undefined for one that may. */
function scalarText(value: unknown, type: Shape | undefined, most: number): string | undefined {
  if (value === null || value === undefined) return 'null'
  if (value === unreadable) return '(beyond what a browser can show)'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, most))
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || typeof value === 'bigint') return numberText(value, type)
  if (value instanceof Date) return value.toISOString()
  return value instanceof Uint8Array && !isNested(type) ? bytesText(value) : undefined
}

function isNested(type: Shape | undefined): boolean {
  return type?.typeId === Type.List || type?.typeId === Type.LargeList || type?.typeId === Type.FixedSizeList
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof (value as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function'
}

function numberText(value: number | bigint, type: Shape | undefined): string {
  switch (type?.typeId) {
    case Type.Dictionary:
      return numberText(value, type.dictionary)
    case Type.Timestamp:
      return momentText(BigInt(value), type)
    case Type.Date:
      return dateText(Number(value))
    case Type.Time:
      return clockText(BigInt(value), type.unit!)
    case Type.Duration:
      return `${value} ${unitNames[type.unit!]}`
    case Type.Decimal:
      return decimalText(BigInt(value), type.scale!)
    case Type.Float:
      return floatText(Number(value), type.precision!)
    default:
      return Object.is(value, -0) ? '-0' : String(value)
  }
}

const unitNames = ['s', 'ms', 'µs', 'ns']
/** How many digits stand behind the second, by the unit of Arrow. */
const digitsOf: Readonly<Record<number, number>> = {
  [TimeUnit.SECOND]: 0,
  [TimeUnit.MILLISECOND]: 3,
  [TimeUnit.MICROSECOND]: 6,
  [TimeUnit.NANOSECOND]: 9,
}

/** A moment with all digits of its unit, such as `2026-11-01 12:00:00.000250Z`. Without a zone, it has no `Z`. */
function momentText(value: bigint, { unit, timezone }: Shape): string {
  const digits = digitsOf[unit!]!
  const scale = 10n ** BigInt(digits)
  const rest = ((value % scale) + scale) % scale
  const time = new Date(Number((value - rest) / scale) * 1000)
  if (Number.isNaN(time.getTime())) return `${value} ${unitNames[unit!]}`
  const [date, clock] = [time.toISOString().slice(0, -14), time.toISOString().slice(-13, -5)]
  return `${date} ${clock}${fractionText(rest, digits)}${timezone ? 'Z' : ''}`
}

function fractionText(rest: bigint, digits: number): string {
  return digits === 0 ? '' : `.${String(rest).padStart(digits, '0')}`
}

function dateText(millis: number): string {
  const time = new Date(millis)
  if (Number.isNaN(time.getTime())) return `${millis} ms`
  const [date, clock] = time.toISOString().split('T')
  return clock === '00:00:00.000Z' ? date! : time.toISOString()
}

function clockText(value: bigint, unit: number): string {
  const digits = digitsOf[unit]!
  const scale = 10n ** BigInt(digits)
  const seconds = Number(value / scale)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':') + fractionText(value % scale, digits)
}

/** A decimal with all digits of its scale. */
function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale))
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The shortest text that means the same number: a float of 32 bits has fewer digits than its double. */
function floatText(value: number, precision: number): string {
  if (Object.is(value, -0)) return '-0'
  if (precision === 1 && Number.isFinite(value)) {
    for (let digits = 6; digits < 9; digits++) {
      const short = Number(value.toPrecision(digits))
      if (Math.fround(short) === value) return String(short)
    }
  }
  return String(value)
}

function bytesText(value: Uint8Array): string {
  const hex = Array.from(value.subarray(0, shownDigits), (byte) => byte.toString(16).padStart(2, '0'))
  return value.length > shownDigits ? `${hex.join(' ')} … (${shownBytes(value.length)})` : hex.join(' ')
}

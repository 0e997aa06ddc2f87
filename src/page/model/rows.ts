import { tableFromIPC } from '@uwdata/flechette'
import { shownBytes } from './text.ts'

/** The rows of a response. Columns are identified by index, since two may have the same name. */
export interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

/** Decodes the rows of an Arrow file. */
export function decodeRows(bytes: Uint8Array): Rows {
  const table = tableFromIPC(bytes, { useBigInt: true })
  const columns = table.schema.fields.map(({ name }) => name)
  const children = columns.map((_, index) => table.getChildAt(index))
  const rows = Array.from({ length: table.numRows }, (_, row) => children.map((child) => child.at(row)))
  return { columns, rows }
}

/** The most characters of a value in a cell. The dialog of a row shows more. */
const cellCharacters = 200
/** The most characters of a value that the page shows at all. */
export const maxCharacters = 20_000

/** The text of a value; undefined for null. */
export function cellText(value: unknown, type: string, most = cellCharacters): string | undefined {
  if (value === null || value === undefined) return undefined
  const text = textOf(value, type, most)
  return text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text
}

function textOf(value: unknown, type: string, most: number): string {
  if (typeof value === 'number') {
    if (type.startsWith('timestamp') || type.startsWith('date')) return timeText(value, type)
    return Object.is(value, -0) ? '-0' : String(value)
  }
  if (typeof value === 'object') return type.endsWith('binary') ? bytesText(value) : json(value, most)
  return String(value)
}

function timeText(millis: number, type: string): string {
  const time = new Date(millis)
  if (Number.isNaN(time.getTime())) return String(millis)
  return type.startsWith('date32') ? time.toISOString().slice(0, 10) : time.toISOString()
}

function bytesText(value: unknown): string {
  if (!(value instanceof Uint8Array)) return json(value, cellCharacters)
  const hex = Array.from(value.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  return value.length > 16 ? `${hex} … (${shownBytes(value.length)})` : hex
}

/** Serializes a nested value, and stops after `most` characters. */
function json(value: unknown, most: number): string {
  let text = ''
  const write = (part: unknown, depth: number): void => {
    if (text.length > most) return
    if (part === null || part === undefined) text += 'null'
    else if (typeof part === 'string') text += JSON.stringify(part.slice(0, most))
    else if (typeof part === 'number' || typeof part === 'boolean' || typeof part === 'bigint')
      text += String(part)
    else if (part instanceof Date) text += part.toISOString()
    else if (depth > 32) text += '…'
    else if (part instanceof Map) list([...part], depth)
    else if (typeof (part as Iterable<unknown>)[Symbol.iterator] === 'function')
      list(part as Iterable<unknown>, depth)
    else object(part as Record<string, unknown>, depth)
  }
  const list = (items: Iterable<unknown>, depth: number) => {
    text += '['
    let before = ''
    for (const item of items) {
      if (text.length > most) break
      text += before
      before = ', '
      write(item, depth + 1)
    }
    text += ']'
  }
  const object = (members: Record<string, unknown>, depth: number) => {
    text += '{'
    let before = ''
    for (const [name, member] of Object.entries(members)) {
      if (text.length > most) break
      text += `${before}${name}: `
      before = ', '
      write(member, depth + 1)
    }
    text += '}'
  }
  write(value, 0)
  return text
}

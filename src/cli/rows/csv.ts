import { UsageError } from '../usage.ts'
import { toJson } from '../values.ts'

/** Records of CSV: a text for each column, or null. */
export interface Csv {
  readonly rows: readonly Readonly<Record<string, string | null>>[]
  /** The line on which each row begins. */
  readonly lines: readonly number[]
}

/**
 * Parses CSV as RFC 4180 describes it: the first record names the columns, and quoted fields may hold commas and line
 * breaks. An empty field without quotes is null.
 */
export function parseCsv(text: string, source: string): Csv {
  const { records, lines } = readRecords(text.replace(/^\uFEFF/, ''), source)
  const header = records.shift()
  if (header === undefined) throw new UsageError(`${source} is empty`)
  lines.shift()
  const names = header.map((field) => field ?? '')
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`${source} names column ${JSON.stringify(twice)} twice`)
  for (const [index, record] of records.entries()) {
    if (record.length !== names.length) {
      throw new UsageError(
        `line ${lines[index]} of ${source}: record ${index + 2} has ${record.length} fields; the first one names ${names.length} columns`,
      )
    }
  }
  const rows = records.map((record) =>
    Object.fromEntries(names.map((name, column) => [name, record[column]!])),
  )
  return { rows, lines }
}

/** The records, and the line on which each begins. */
function readRecords(text: string, source: string): { records: (string | null)[][]; lines: number[] } {
  const records: (string | null)[][] = []
  const lines: number[] = []
  let line = 1
  let begins = line
  let record: (string | null)[] = []
  let at = 0
  while (at < text.length) {
    const quoted = text[at] === '"'
    let field: string | null
    if (quoted) {
      const end = closingQuote(text, at, source)
      field = text.slice(at + 1, end).replaceAll('""', '"')
      line += lineBreaks(field)
      at = end + 1
    } else {
      const end = fieldEnd(text, at)
      field = at === end ? null : text.slice(at, end)
      at = end
    }
    record.push(field)
    if (text[at] === ',') {
      at++
      if (at < text.length) continue
      record.push(null)
    } else if (at < text.length && text[at] !== '\r' && text[at] !== '\n') {
      throw new UsageError(`line ${line} of ${source} has text after a closing quote`)
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    // An empty line is not a record.
    if (record.length > 1 || record[0] !== null) {
      records.push(record)
      lines.push(begins)
    }
    record = []
    begins = ++line
  }
  return { records, lines }
}

/** How many lines end within a text. */
function lineBreaks(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0
}

function fieldEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== ',' && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}

function closingQuote(text: string, from: number, source: string): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at
  }
  throw new UsageError(`${source} ends inside a quoted field`)
}

/** Formats rows as CSV: null is an empty field, text is quoted where necessary, lists and objects are JSON. */
export function formatCsv(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const names = Object.keys(rows[0] ?? {})
  const line = (fields: readonly unknown[]) => `${fields.map(formatField).join(',')}\r\n`
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map(line).join('')
}

function formatField(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? toJson(value) : String(value)
  // Quotes distinguish an empty text from null.
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

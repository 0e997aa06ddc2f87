import { UsageError } from './usage.ts'

/**
 * Parses CSV as RFC 4180 describes it: the first record names the columns, and quoted fields may hold commas and line
 * breaks. An empty field without quotes is null. A column of numbers only has numbers, a column of `true` and
 * `false` only has booleans, and any other column has strings.
 */
export function parseCsv(text: string, source: string): Record<string, unknown>[] {
  const [header, ...records] = readRecords(text.replace(/^\uFEFF/, ''), source)
  if (header === undefined) throw new UsageError(`${source} is empty`)
  const names = header.map((field) => field ?? '')
  for (const [index, record] of records.entries()) {
    if (record.length !== names.length) {
      throw new UsageError(
        `record ${index + 2} of ${source} has ${record.length} fields; the first one names ${names.length} columns`,
      )
    }
  }
  const read = names.map((_, column) => readerFor(records.map((record) => record[column]!)))
  return records.map((record) =>
    Object.fromEntries(
      names.map((name, column) => [name, record[column] === null ? null : read[column]!(record[column]!)]),
    ),
  )
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

function readerFor(fields: readonly (string | null)[]): (field: string) => unknown {
  const present = fields.filter((field) => field !== null)
  if (present.length === 0) return (field) => field
  if (present.every((field) => number.test(field))) return Number
  if (present.every((field) => field === 'true' || field === 'false')) return (field) => field === 'true'
  return (field) => field
}

/** The records. An empty field without quotes is null. */
function readRecords(text: string, source: string): (string | null)[][] {
  const records: (string | null)[][] = []
  let record: (string | null)[] = []
  let at = 0
  while (at < text.length) {
    const quoted = text[at] === '"'
    let field: string | null
    if (quoted) {
      const end = closingQuote(text, at, source)
      field = text.slice(at + 1, end).replaceAll('""', '"')
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
      throw new UsageError(`record ${records.length + 1} of ${source} has text after a closing quote`)
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    // An empty line is not a record.
    if (record.length > 1 || record[0] !== null) records.push(record)
    record = []
  }
  return records
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
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  // Quotes tell an empty text from null.
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

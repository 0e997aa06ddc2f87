import { UsageError } from '../usage.ts'
import { toJson } from '../values.ts'
import type { ReadHeader, TextRow } from './text-rows.ts'

/** Most bytes of one record, so that a quote without an end does not take the whole file into memory. */
const maxRecordBytes = 16 * 1024 * 1024

/**
 * The rows of CSV as RFC 4180 describes it, some at a time: the first record names the columns, and quoted fields may hold
 * commas and line breaks. An empty field without quotes is null. An empty line is null if there is one column, and no row
 * otherwise.
 */
export async function* csvRows(
  texts: AsyncIterable<string>,
  source: string,
  header?: ReadHeader,
): AsyncGenerator<readonly TextRow[]> {
  let names: readonly string[] | undefined
  let line = 1
  let count = 0
  for await (const records of recordsOf(texts, source)) {
    const rows: TextRow[] = []
    for (const { fields, breaks } of records) {
      const at = line
      line += 1 + breaks
      if (fields.length === 1 && fields[0] === null && names?.length !== 1) continue
      count++
      if (names === undefined) {
        names = columnsOf(fields, source)
        header?.(names, at)
        continue
      }
      if (fields.length !== names.length) {
        throw new UsageError(
          `line ${at} of ${source}: record ${count} has ${fields.length} fields; the first one names ${names.length} columns`,
        )
      }
      rows.push({ values: rowOf(names, fields), at })
    }
    yield rows
  }
  if (names === undefined)
    throw new UsageError(
      `${source} is empty: where there are no rows, give the header of CSV, [], or a file named .jsonl`,
    )
}

function rowOf(names: readonly string[], fields: Fields): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    // Assigning this one would set the prototype.
    if (name === '__proto__') Object.defineProperty(row, name, { ...plainMember, value: fields[i] })
    else row[name] = fields[i]
  }
  return row
}

const plainMember = { writable: true, enumerable: true, configurable: true }

type Fields = readonly (string | null)[]

function columnsOf(header: Fields, source: string): string[] {
  const names = header.map((field) => field ?? '')
  if (names.some((name) => name.includes('\0')))
    throw new UsageError(
      `${source} has NUL bytes in the names of its columns: it is no CSV, or not in UTF-8. Give CSV, JSON, Arrow or Parquet, with text in UTF-8`,
    )
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`${source} names column ${JSON.stringify(twice)} twice`)
  return names
}

const dialect = { relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] }

interface CsvRecord {
  readonly fields: Fields
  /** How many lines end within it. */
  readonly breaks: number
}

/** A piece of text is written when all of its records are ready, however many. */
const allAtOnce = { readableHighWaterMark: Number.MAX_SAFE_INTEGER }

/** The records of each piece of the text. */
async function* recordsOf(
  texts: AsyncIterable<string>,
  source: string,
): AsyncGenerator<readonly CsvRecord[]> {
  const { parse } = await import('csv-parse')
  const { parse: parseSync } = await import('csv-parse/sync')
  const parser = parse({ ...dialect, bom: true, raw: true, max_record_size: maxRecordBytes, ...allAtOnce })
  // The parser tells of each field whether it has quotes, at eight times the cost. So it is asked where that matters.
  const exact = (raw: string): Fields =>
    parseSync(raw, {
      ...dialect,
      cast: (field, { quoting }) => (field === '' && !quoting ? null : field),
    })[0]!
  const recordOf = ({ record, raw }: Parsed): CsvRecord => {
    const breaks = raw.includes('"') ? record.reduce((sum, field) => sum + lineBreaks(field), 0) : 0
    if (!record.includes('')) return { fields: record, breaks }
    return { fields: raw.includes('""') ? exact(raw) : record.map((field) => field || null), breaks }
  }
  // It parses a piece at once, and has its records ready then. Asking for each one by a promise would take longer.
  const parsed = async (text?: string): Promise<CsvRecord[]> => {
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null) => (error ? reject(error) : resolve())
      if (text === undefined) parser.end(done)
      else parser.write(text, done)
    })
    const records: CsvRecord[] = []
    for (let next: Parsed | null = parser.read(); next !== null; next = parser.read())
      records.push(recordOf(next))
    return records
  }
  parser.on('error', () => {})
  try {
    for await (const text of texts) if (text !== '') yield await parsed(text)
    yield await parsed()
  } catch (error) {
    throw csvError(error, source)
  } finally {
    parser.destroy()
  }
}

interface Parsed {
  readonly record: readonly string[]
  readonly raw: string
}

function csvError(error: unknown, source: string): unknown {
  const { code, lines } = error as { readonly code?: unknown; readonly lines?: number }
  const at = `line ${lines} of ${source}`
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return new UsageError(`${source} ends inside a quoted field`)
    case 'CSV_INVALID_CLOSING_QUOTE':
      return new UsageError(`${at} has text after a closing quote`)
    case 'INVALID_OPENING_QUOTE':
      return new UsageError(
        `${at} has a quote inside of a field: put the whole field in quotes, and write each quote in it twice`,
      )
    case 'CSV_MAX_RECORD_SIZE':
      return new UsageError(
        `${at}: a record has more than ${maxRecordBytes.toLocaleString('en')} characters. Perhaps a quote is not closed`,
      )
    default:
      return error
  }
}

/** How many lines end within a text. */
function lineBreaks(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0
}

/** A line of CSV: null is an empty field, text is quoted where necessary, lists and objects are JSON. */
export function csvLine(fields: readonly unknown[]): string {
  return `${fields.map(formatField).join(',')}\r\n`
}

function formatField(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? toJson(value) : String(value)
  // Quotes distinguish an empty text from null.
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

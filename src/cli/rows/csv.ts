import { pipeline, Readable } from 'node:stream'
import { UsageError } from '../usage.ts'
import { toJson } from '../values.ts'
import type { TextRow } from './text-rows.ts'

/** Most bytes of one record, so that a quote without an end does not take the whole file into memory. */
const maxRecordBytes = 16 * 1024 * 1024

/**
 * The rows of CSV as RFC 4180 describes it: the first record names the columns, and quoted fields may hold commas and
 * line breaks. An empty field without quotes is null. An empty line is null if there is one column, and no row otherwise.
 */
export async function* csvRows(texts: AsyncIterable<string>, source: string): AsyncGenerator<TextRow> {
  let names: readonly string[] | undefined
  let line = 1
  let count = 0
  for await (const record of recordsOf(texts, source)) {
    const at = line
    line++
    for (const field of record) if (field !== null) line += lineBreaks(field)
    const isEmpty = record.length === 1 && record[0] === null
    if (isEmpty && names?.length !== 1) continue
    count++
    if (names === undefined) {
      names = columnsOf(record, source)
      continue
    }
    if (record.length !== names.length) {
      throw new UsageError(
        `line ${at} of ${source}: record ${count} has ${record.length} fields; the first one names ${names.length} columns`,
      )
    }
    const fields = record
    yield { values: Object.fromEntries(names.map((name, column) => [name, fields[column]!])), at }
  }
  if (names === undefined) throw new UsageError(`${source} is empty`)
}

type Fields = readonly (string | null)[]

function columnsOf(header: Fields, source: string): string[] {
  const names = header.map((field) => field ?? '')
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`${source} names column ${JSON.stringify(twice)} twice`)
  return names
}

const dialect = { relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] }

async function* recordsOf(texts: AsyncIterable<string>, source: string): AsyncGenerator<Fields> {
  const { parse } = await import('csv-parse')
  const { parse: parseSync } = await import('csv-parse/sync')
  const parser = parse({ ...dialect, bom: true, raw: true, max_record_size: maxRecordBytes })
  // The parser tells of each field whether it has quotes, at eight times the cost. So it is asked where that matters.
  const exact = (raw: string): Fields =>
    parseSync(raw, {
      ...dialect,
      cast: (field, { quoting }) => (field === '' && !quoting ? null : field),
    })[0]!
  try {
    const records = pipeline(Readable.from(texts), parser, () => {}) as AsyncIterable<{
      readonly record: readonly string[]
      readonly raw: string
    }>
    for await (const { record, raw } of records) {
      if (!record.includes('')) yield record
      else yield raw.includes('""') ? exact(raw) : record.map((field) => (field === '' ? null : field))
    }
  } catch (error) {
    throw csvError(error, source)
  }
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

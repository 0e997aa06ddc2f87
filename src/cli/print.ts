import type { Io, Output } from './io.ts'
import type { JsonField, JsonType } from './rows/json.ts'
import { toJson, visible } from './values.ts'

type Row = Readonly<Record<string, unknown>>

/** Prints the results of commands. */
export interface Printer {
  /** Prints rows, possibly in several calls; `end` follows the last rows. */
  rows(rows: Iterable<Row>): void
  one(one: Row): void
  end(): void
}

/** Prints JSON lines or tables, as `--json` or `--no-json` says; without either, tables on a terminal. */
export function printerOf({ stdout }: Pick<Io, 'stdout'>, json: boolean | undefined): Printer {
  return (json ?? !stdout.isTTY) ? jsonPrinter(stdout) : tablePrinter(stdout)
}

const chunkLines = 1_000

/** Prints every row, and every single object, as a line of JSON. */
function jsonPrinter(out: Output): Printer {
  const rows = (items: Iterable<Row>) => {
    let lines: string[] = []
    for (const item of items) {
      if (lines.push(toJson(item)) < chunkLines) continue
      out.write(`${lines.join('\n')}\n`)
      lines = []
    }
    if (lines.length > 0) out.write(`${lines.join('\n')}\n`)
  }
  return { rows, one: (one) => rows([one]), end: () => {} }
}

const maxCellWidth = 80

/**
 * Prints rows as a table with a header, and a single object as a list of its members. The first rows decide the widths:
 * later ones are printed as they come, however many there are, and are wider where they must.
 */
function tablePrinter(out: Output): Printer {
  let kept: Row[] = []
  let columns: Columns | undefined
  let listed = false
  const flush = () => {
    const isNew = columns === undefined || kept.some((row) => Object.keys(row).some(isUnknown))
    if (isNew) columns = columnsOf(kept)
    out.write((isNew ? header(columns!) : '') + kept.map((row) => line(columns!, row)).join(''))
    kept = []
  }
  const isUnknown = (name: string) => !columns!.has(name)
  return {
    rows: (rows) => {
      listed = true
      for (const row of rows) if (kept.push(row) >= chunkLines) flush()
    },
    one: (one) => {
      const members = [...flatten(one)]
      const width = Math.max(0, ...members.map(([name]) => name.length))
      const margin = `\n${' '.repeat(width + 2)}`
      for (const [name, value] of members)
        out.write(`${name.padEnd(width)}  ${value.replaceAll('\n', margin)}\n`)
      if (members.length === 0) out.write('ok\n')
    },
    end: () => {
      if (kept.length > 0) flush()
      else if (listed && columns === undefined) out.write('none\n')
    },
  }
}

/** The columns of a table by name: their widths, and whether they hold numbers only. */
type Columns = ReadonlyMap<string, { readonly width: number; readonly isNumeric: boolean }>

function columnsOf(rows: readonly Row[]): Columns {
  const names = new Set(rows.flatMap((row) => Object.keys(row)))
  return new Map(
    Array.from(names, (name) => {
      const width = rows.reduce(
        (most, row) => Math.max(most, cut(cellText(name, row[name])).length),
        visible(name).length,
      )
      const isNumeric = rows.every(
        ({ [name]: value }) => value == null || typeof value === 'number' || typeof value === 'bigint',
      )
      return [name, { width, isNumeric }]
    }),
  )
}

function header(columns: Columns): string {
  const rule = Array.from(columns.values(), ({ width }) => '─'.repeat(width))
  return `${padded(columns, visible)}${rule.join('  ')}\n`
}

function line(columns: Columns, row: Row): string {
  return padded(columns, (name) => cut(cellText(name, row[name])))
}

function padded(columns: Columns, textOf: (name: string) => string): string {
  const cells = Array.from(columns, ([name, { width, isNumeric }]) =>
    isNumeric ? textOf(name).padStart(width) : textOf(name).padEnd(width),
  )
  return `${cells.join('  ').trimEnd()}\n`
}

function cut(text: string): string {
  return text.length > maxCellWidth ? `${text.slice(0, maxCellWidth - 1)}…` : text
}

function cellText(name: string, value: unknown): string {
  if (value === undefined) return ''
  if (name === 'timestamp_millis' && typeof value === 'number') return new Date(value).toISOString()
  return visible(typeof value === 'string' ? value : toJson(value))
}

/** The members of an object. Members of nested objects are named `outer.inner`. */
function* flatten(value: Row, path = ''): Generator<[string, string]> {
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const full = path === '' ? visible(name) : `${path}.${visible(name)}`
    if (name === 'fields' && Array.isArray(member)) {
      for (const field of member)
        yield [`${path}.${visible(String(field.name))}`, `${typeText(field)}${metadataText(field)}`]
    } else if (typeof member === 'object' && member !== null && !Array.isArray(member)) {
      yield* flatten(member as Row, full)
    } else if (typeof member === 'string') {
      yield [full, member.split('\n').map(visible).join('\n')]
    } else {
      yield [full, cellText(name, member)]
    }
  }
}

function metadataText({ metadata }: JsonField & { readonly metadata?: object }): string {
  return metadata && Object.keys(metadata).length > 0 ? ` ${visible(JSON.stringify(metadata))}` : ''
}

/** A type with its nested types as text, such as `list<item: int64>`. */
export function typeText({ type, nullable }: JsonField): string {
  return `${nested(type)}${nullable ? '' : ' not null'}`
}

function nested({ type, length, fields = [] }: JsonType): string {
  const inner = fields.map((field) => `${visible(field.name)}: ${typeText(field)}`).join(', ')
  return `${type}${inner === '' ? '' : `<${inner}>`}${length === undefined ? '' : `[${length}]`}`
}

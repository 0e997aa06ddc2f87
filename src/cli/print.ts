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
export function printerOf({ stdout }: Io, json: boolean | undefined): Printer {
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

/** Prints rows as a table with a header, and a single object as a list of its members. */
function tablePrinter(out: Output): Printer {
  const kept: Row[] = []
  let listed = false
  return {
    rows: (rows) => {
      listed = true
      for (const row of rows) kept.push(row)
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
      if (kept.length > 0) out.write(formatTable(kept))
      else if (listed) out.write('none\n')
    },
  }
}

function formatTable(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => names.map((name) => cut(cellText(name, row[name]))))
  const numeric = names.map((name) =>
    rows.every(
      ({ [name]: value }) => value == null || typeof value === 'number' || typeof value === 'bigint',
    ),
  )
  const heads = names.map((name) => visible(name))
  const widths = heads.map((head, i) =>
    cells.reduce((width, row) => Math.max(width, row[i]!.length), head.length),
  )
  const line = (texts: readonly string[]) =>
    `${texts
      .map((text, i) => (numeric[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()}\n`
  return line(heads) + line(widths.map((width) => '─'.repeat(width))) + cells.map(line).join('')
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

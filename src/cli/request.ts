import { readFile } from 'node:fs/promises'
import { parseIdentifier } from '../tabularium/index.ts'
import type { Field } from './fields.ts'
import { otherNameOf } from './fields.ts'
import { fileFault } from './file-fault.ts'
import { type Io, readAll, unlessInterrupted } from './io.ts'
import { kebab } from './record.ts'
import { readRows } from './rows/read.ts'
import { UsageError } from './usage.ts'

/** The unparsed values of a command's fields: texts, flags and numbers. */
export type Typed = Readonly<Record<string, unknown>>

/** Parses the fields of a request. Throws a `UsageError` that names the invalid option. */
export async function readRequest(
  fields: readonly Field[],
  typed: Typed,
  delimiter: string,
  io: Io,
): Promise<Record<string, unknown>> {
  for (const field of fields) {
    if (!field.required || typed[field.name] !== undefined) continue
    const note = field.note ?? field.hint?.replace(/^must be /, '')
    throw new UsageError(`${nameOf(field)} is missing${note === undefined ? '' : `: give ${note}`}`)
  }
  const request: Record<string, unknown> = {}
  for (const field of fields) {
    const value = typed[field.name]
    if (value !== undefined) request[field.name] = await readField(field, value, delimiter, io)
  }
  return request
}

function nameOf(field: Pick<Field, 'name' | 'kind'>): string {
  return field.name === 'id' ? 'the identifier' : `--${otherNameOf(field) ?? kebab(field.name)}`
}

async function readField({ name, kind }: Field, value: unknown, delimiter: string, io: Io): Promise<unknown> {
  switch (kind) {
    case 'text':
    case 'number':
    case 'time':
    case 'version':
    case 'flag':
      return value
    case 'names':
      return readIdentifier(String(value), delimiter)
    case 'columns':
      return readColumns(name, value as readonly string[], io)
    case 'words':
      return (value as readonly string[]).flatMap(splitList)
    case 'assignments':
      return readAssignments(name, value as readonly string[], io)
    case 'map':
      return readMap(name, value as readonly string[], io)
    case 'rows':
      return readRows(String(value), io)
    case 'json':
      return readJson(name, String(value), io)
  }
}

/** Parses an identifier: names joined by the delimiter. The delimiter alone is the root. */
export function readIdentifier(text: string, delimiter: string): string[] {
  if (delimiter !== '$' && /[^$]\$[^$]/.test(text)) {
    throw new UsageError(
      `${JSON.stringify(text)} is not an identifier: no name has a "$" in it. Write ${text.replaceAll('$', delimiter)}, or add --delimiter '$'`,
    )
  }
  try {
    return [...parseIdentifier(text, delimiter)]
  } catch {
    if (/^(?:\.{0,2}\/|[a-z][a-z\d+.-]+:\/\/)/i.test(text))
      throw new UsageError(`${text} is a location, which comes first: write it before the table or namespace`)
    throw new UsageError(
      `${JSON.stringify(text)} is not an identifier: ${text.split(delimiter).includes('') ? 'a name in it is empty. Write' : 'write'} names joined by ${JSON.stringify(delimiter)}, or choose another --delimiter`,
    )
  }
}

/** Joins repeated lists of columns, or parses one JSON value. */
function readColumns(name: string, texts: readonly string[], io: Io): Promise<unknown> | string[] {
  const json = texts.find((text) => /^\s*[[{]/.test(text))
  if (json === undefined) {
    const columns = texts.flatMap(splitList)
    const wrong = name === 'order_by' ? columns.find((key) => wrongOrder.test(key)) : undefined
    if (columns.length === 0)
      throw new UsageError(`${nameOf({ name, kind: 'columns' })} is empty: name at least one column`)
    if (wrong === undefined) return columns
    throw new UsageError(
      `--order-by ${wrong} is no key: write a column, then asc or desc, then nulls first or nulls last`,
    )
  }
  if (texts.length > 1) throw new UsageError(`--${kebab(name)} is given as JSON: give it once`)
  return readJson(name, json, io)
}

/** A key whose last words look like an order, and are none. */
const wrongOrder = /\s(?:asc\w+|desc\w+|dsc|nulls?(?: (?!(?:first|last)$)\w*)?)$/i

function splitList(text: string): string[] {
  // A comma inside quotes or parentheses belongs to a name or an expression.
  const items: string[] = []
  let item = ''
  let depth = 0
  for (const part of text.match(/`[^`]*`?|'[^']*'?|"[^"]*"?|[\s\S]/g) ?? []) {
    if (part === '(' || part === '[') depth++
    else if (part === ')' || part === ']') depth--
    if (part !== ',' || depth > 0) item += part
    else if (item !== '') {
      items.push(item.trim())
      item = ''
    }
  }
  return item === '' ? items : [...items, item.trim()]
}

/** Parses assignments such as `price = price * 2`, or one JSON value. */
function readAssignments(name: string, texts: readonly string[], io: Io): Promise<unknown> | string[][] {
  const json = texts.find((text) => /^\s*[[{@]/.test(text))
  if (json !== undefined) {
    if (texts.length > 1) throw new UsageError(`--${kebab(name)} is given as JSON: give it once`)
    return readJson(name, json, io)
  }
  return texts.map((text) => {
    // An equals sign in backticks belongs to the name of a column.
    const [, column, value] = /^\s*((?:`[^`]*`|[^`=])+?)\s*=\s*(.*\S)\s*$/s.exec(text) ?? []
    if (column === undefined || value === undefined)
      throw new UsageError(`--set ${text} is not an assignment: write, for example, 'price = price * 2'`)
    const [first, ...more] = splitList(value)
    // No expression has a comma outside of parentheses.
    if (more.length > 0)
      throw new UsageError(
        `--set ${text} has a comma after ${first}: give --set for each column, such as --set '${column} = ${first}' --set '${more[0]}'`,
      )
    return [column, value]
  })
}

async function readMap(name: string, texts: readonly string[], io: Io): Promise<Record<string, string>> {
  const pairs: [string, string][] = []
  for (const text of texts) {
    if (/^\s*\{/.test(text) || text.startsWith('@')) {
      pairs.push(...Object.entries((await readJson(name, text, io)) as Record<string, string>))
      continue
    }
    const equals = text.indexOf('=')
    if (equals < 1) throw new UsageError(`--${kebab(name)} ${text} is not a pair: write key=value`)
    pairs.push([text.slice(0, equals), text.slice(equals + 1)])
  }
  return Object.fromEntries(pairs)
}

async function readJson(name: string, text: string, io: Io): Promise<unknown> {
  const json = text.startsWith('@') ? await readText(name, text.slice(1), io) : text
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new UsageError(`--${kebab(name)} is not JSON: ${(error as Error).message}`)
  }
}

async function readText(name: string, path: string, io: Io): Promise<string> {
  if (path === '-') return new TextDecoder().decode(await readAll(io))
  return unlessInterrupted(readFile(path, 'utf8'), io).catch((cause) => {
    io.signal.throwIfAborted()
    throw new UsageError(`--${kebab(name)} cannot be read from ${path}: ${fileFault(cause)}`)
  })
}

import { writeFile } from 'node:fs/promises'
import type { Catalog, OperationName, OperationOptions } from '../index.ts'
import { arrowRows } from './arrow.ts'
import { formatCsv } from './csv.ts'
import type { Io } from './io.ts'
import type { Printer } from './print.ts'
import { isListing, shape } from './shape.ts'
import { UsageError } from './usage.ts'

type Request = Readonly<Record<string, unknown>>
type Answer = Readonly<Record<string, unknown>>

/** Runs an operation and prints its answer. A listing without `limit` is walked to its end. */
export async function operate(
  catalog: Catalog,
  name: OperationName,
  request: Request,
  options: OperationOptions,
  printer: Printer,
  io: Io,
): Promise<void> {
  const run = catalog[name] as (request: Request, options: OperationOptions) => Promise<Answer>
  if (name === 'queryTable') {
    printer.rows(arrowRows((await run(request, options)).data as Uint8Array))
  } else if (isListing(name) && request.limit === undefined && request.page_token === undefined) {
    let page_token: unknown
    do {
      const answer = await run({ ...request, page_token }, options)
      print(printer, name, answer)
      page_token = answer.page_token
    } while (page_token)
  } else {
    const answer = await run(request, options)
    print(printer, name, answer)
    if (isListing(name) && answer.page_token) io.stderr.write(`more: --page-token ${answer.page_token}\n`)
  }
  printer.end()
}

function print(printer: Printer, name: string, answer: Answer): void {
  const shaped = shape(name, answer)
  if ('rows' in shaped) printer.rows(shaped.rows)
  else printer.one(shaped.one)
}

/** Runs a query and writes its rows to a file, or to standard output (`-`), as Arrow, JSON lines or CSV. */
export async function queryToFile(
  catalog: Catalog,
  request: Request,
  options: OperationOptions,
  path: string,
  io: Io,
): Promise<void> {
  const format = formatOf(path)
  if (path === '-' && io.stdout.isTTY) {
    throw new UsageError(
      '--output - writes Arrow, which is no text, and standard output is a terminal: send it to a file or a program, or leave --output out to see the rows',
    )
  }
  const { data } = await catalog.queryTable(request as Parameters<Catalog['queryTable']>[0], options)
  const content = format === 'arrow' ? data : await textOf(data, format)
  if (path === '-') {
    io.stdout.write(content)
    return
  }
  try {
    await writeFile(path, content)
  } catch (error) {
    throw new UsageError(`--output cannot be written to ${path}: ${(error as Error).message}`)
  }
}

function formatOf(path: string): 'arrow' | 'json' | 'csv' {
  if (path === '-' || /\.(arrow|arrows|feather|ipc)$/i.test(path)) return 'arrow'
  if (/\.(jsonl|ndjson|json)$/i.test(path)) return 'json'
  if (/\.csv$/i.test(path)) return 'csv'
  throw new UsageError(
    `--output ${path}: end the name in .arrow, .jsonl or .csv, or write - for Arrow on standard output`,
  )
}

function textOf(data: Uint8Array, format: 'json' | 'csv'): string {
  const rows = arrowRows(data)
  if (format === 'csv') return formatCsv([...rows])
  return Array.from(rows, (row) => `${JSON.stringify(row)}\n`).join('')
}

import { requestMemory } from '../base/scheduling/request-memory.ts'
import {
  type Catalog,
  CatalogError,
  type OperationName,
  type OperationOptions,
  operations,
} from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { hasCatalog, isUrl, openLocation } from './open.ts'
import type { CatalogOptions } from './options.ts'
import { type Printer, printerOf } from './print.ts'
import { progressBar } from './progress.ts'
import { type AnyOperation, kebab } from './record.ts'
import type { Answer } from './rows/arrow.ts'
import { ArrowRows } from './rows/read.ts'
import { TextRows, type TypedRows } from './rows/text-rows.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

type Fields = Readonly<Record<string, unknown>>

/** Runs an operation and prints its response. A listing without `limit` fetches all pages. */
async function runAndPrint(
  name: string,
  run: (request: Fields) => Promise<Fields>,
  request: Fields,
  printer: Printer,
  io: Io,
): Promise<void> {
  if (readsRows(operations[name as OperationName].definition)) {
    const { data } = await run(request)
    const { rowsOfParts } = await import('./rows/arrow.ts')
    const { drained } = await import('./rows/output.ts')
    for await (const { rows } of rowsOfParts(data as Answer)) {
      printer.rows(rows)
      await drained(io)
    }
  } else if (isListing(name) && request.limit === undefined && request.page_token === undefined) {
    let page_token: unknown
    do {
      const answer = await run({ ...request, page_token })
      print(printer, name, answer)
      page_token = answer.page_token
    } while (page_token)
  } else {
    const answer = await run(request)
    print(printer, name, answer)
    if (isListing(name) && answer.page_token) io.stderr.write(`more: --page-token ${answer.page_token}\n`)
  }
  printer.end()
}

function print(printer: Printer, name: string, answer: Fields): void {
  const shaped = shape(name, answer)
  if ('rows' in shaped) printer.rows(shaped.rows)
  else printer.one(shaped.one)
}

/** Whether an operation answers with rows. */
export function readsRows({ route }: Pick<AnyOperation, 'route'>): boolean {
  return route.answer === 'arrow'
}

/** Runs a query and writes its rows to a file, or to standard output (`-`), as they come. */
async function queryToFile(
  run: (request: Fields) => Promise<Fields>,
  request: Fields,
  path: string,
  io: Io,
): Promise<void> {
  const { outputFormat, writeAnswer } = await import('./rows/output.ts')
  const format = outputFormat(path)
  if (path === '-' && io.stdout.isTTY) {
    throw new UsageError(
      '--output - writes binary Arrow data, and standard output is a terminal: redirect it to a file or a program, or leave --output out to see the rows',
    )
  }
  await writeAnswer((await run(request)).data as Answer, path, format, io)
}

/** Converts the rows of a request to the types of the target table, or else of the given schema. */
export async function withTypedRows(
  catalog: Catalog,
  operation: string,
  request: Fields,
  options: OperationOptions,
  note: (text: string) => void,
): Promise<Fields> {
  const { data, schema } = request
  // With an idempotency key, rows are compared with those of an earlier command before they are written.
  const streams =
    operations[operation as OperationName].definition.route.streams && options.idempotencyKey === undefined
  if (schema !== undefined && (data instanceof ArrowRows || data instanceof Uint8Array))
    throw new UsageError(
      '--schema gives the types of CSV and JSON, and rows in Arrow or Parquet have their own: leave --schema out',
    )
  if (data instanceof ArrowRows) return { ...request, data: streams ? data.items : await data.whole() }
  if (!(data instanceof TextRows)) return request
  const merges = operation === 'mergeInsertIntoTable'
  const known =
    merges || operation === 'insertIntoTable' ? await columnsOf(catalog, request, options) : undefined
  const typed = await data.typed(known ?? schema ?? undefined, note, !streams)
  // A merge leaves the columns as they are that no row has.
  return { ...request, ...(merges && known !== undefined ? ofRows(typed) : typed) }
}

/** The same rows, with a schema of those columns only that some row has. */
function ofRows({ data, schema }: TypedRows): TypedRows {
  const { fields } = schema as { readonly fields: readonly { readonly name: string }[] }
  // A merge reads all of its rows first.
  const rows = data as Extract<typeof data, readonly unknown[]>
  return {
    data,
    schema: { fields: fields.filter(({ name }) => rows.some((row) => Object.hasOwn(row, name))) },
  }
}

/** The columns of the target table; undefined where they are not known. */
async function columnsOf(
  catalog: Catalog,
  { id, branch, mode }: Fields,
  { signal, transaction }: OperationOptions,
): Promise<unknown> {
  if (typeof mode === 'string' && mode.toLowerCase() === 'overwrite') return undefined
  try {
    const described = await catalog.describeTable(
      { id: id as string[], branch: branch as string, load_detailed_metadata: true },
      { signal, transaction },
    )
    return described.schema ?? undefined
  } catch (error) {
    // A caller may be allowed to insert but not to describe. The insert itself reports any other failure.
    if (error instanceof CatalogError) return undefined
    throw error
  }
}

/** A response to print: as rows, or as one object. */
type Shaped = { readonly rows: readonly Fields[] } | { readonly one: Fields }

/** The contents of a listing: names, objects, or objects by name. */
type Listed = readonly (string | Fields)[] | Readonly<Record<string, Fields>>

/** Whether an operation returns a page of a listing. */
function isListing(operation: string): boolean {
  return listingOf(operation) !== undefined
}

/** The printed part of a response: the rows of a listing, or else all fields but the context. */
function shape(operation: string, answer: Fields): Shaped {
  const listing = listingOf(operation)
  if (listing !== undefined) return { rows: rowsOf(answer[listing.field] as Listed, listing.item) }
  const { context, ...one } = answer
  return { one }
}

function listingOf(operation: string) {
  return operations[operation as OperationName].definition.command?.lists
}

function rowsOf(listed: Listed, item: string): readonly Fields[] {
  if (Array.isArray(listed)) {
    return listed.map((entry: string | Fields) => (typeof entry === 'string' ? { [item]: entry } : entry))
  }
  const byName = Object.entries(listed as Readonly<Record<string, Fields>>)
  return byName.map(([name, contents]) => ({ [item]: name, ...contents }))
}

/** The options that all operation commands share. */
export interface SharedOptions extends CatalogOptions {
  readonly transaction?: string
  readonly idempotencyKey?: string
  readonly output?: string
  readonly parents?: boolean
}

/** A parsed command. */
export interface ParsedCommand {
  readonly operation: AnyOperation
  readonly location: string
  readonly request: Readonly<Record<string, unknown>>
  readonly options: SharedOptions
  /** Whether the command may create a catalog. */
  readonly mayCreate: boolean
}

/** Opens the catalog, runs the operation and prints its response. */
export async function perform(task: ParsedCommand, io: Io): Promise<void> {
  const { operation, location, request, options, mayCreate } = task
  const { transaction, idempotencyKey } = options
  if (!isUrl(location)) refuseWithoutServer(operation, transaction)
  const bar = progressBar(io.stderr)
  const printer = printerOf({ ...io, stdout: bar.before(io.stdout) }, options.json)
  await using catalog = await openLocation(location, mayCreate, options, io).catch(async (error) => {
    const { id } = request as { readonly id?: readonly string[] }
    throw (await isSwapped(location, id, options.delimiter))
      ? new UsageError(
          `${location} is no catalog, and ${id!.join(options.delimiter)} is one: the location comes first`,
        )
      : error
  })
  const inParts = readsRows(operation) && { [requestMemory]: { inParts: true, isOnce: true } }
  const work = { signal: io.signal, onProgress: bar.onProgress, transaction, idempotencyKey, ...inParts }
  const method = catalog[operation.name] as (request: Fields, options: OperationOptions) => Promise<Fields>
  const run = (asked: Fields) => reading(method(asked, work))
  try {
    if (options.output !== undefined) {
      await queryToFile(run, request, options.output, io)
    } else {
      const note = (text: string) => io.stderr.write(`note: ${visible(text)}\n`)
      if (options.parents) await createParents(catalog, request, { signal: io.signal, transaction })
      // As of a folder: with its parents, it may be there.
      const asked = options.parents ? { mode: 'ExistOk', ...request } : request
      const typed = await withTypedRows(catalog, operation.name, asked, work, note)
      await runAndPrint(operation.name, run, typed, printer, io)
      if (io.stderr.isTTY && !isUrl(location) && drops(operation, request))
        note(
          'what was dropped is gone for good: commands hold nothing on a directory or in a database. A server does (serve --retain-dropped): drop by its URL',
        )
    }
  } catch (error) {
    const ids = [request.id, request.source, request.new_namespace_id].filter((id) => Array.isArray(id))
    if (ids.length === 0) throw error
    const { withNearName } = await import('./near-names.ts')
    throw await withNearName(error, { catalog, ids, delimiter: options.delimiter, options: { transaction } })
  } finally {
    bar.clear()
    if (request.data instanceof ArrowRows) await request.data.close()
  }
}

/** Whether a table was typed before its catalog. */
async function isSwapped(location: string, id: readonly string[] | undefined, delimiter: string) {
  if (isUrl(location) || !Array.isArray(id) || id.length === 0) return false
  return hasCatalog(id.join(delimiter)).catch(() => false)
}

/** Whether a request removes tables that a server would hold. */
function drops({ name }: AnyOperation, { purge, behavior }: Fields): boolean {
  if (name === 'dropNamespace') return /^cascade$/i.test(String(behavior))
  return name === 'dropTable' && purge !== true
}

/** Creates the missing namespaces above the one of a request, from the top. */
async function createParents(catalog: Catalog, { id }: Fields, options: OperationOptions): Promise<void> {
  const names = id as readonly string[]
  for (let depth = 1; depth < names.length; depth++)
    await catalog.createNamespace({ id: names.slice(0, depth), mode: 'ExistOk' }, options)
}

/** A fault of an input that was read while its rows were written is the caller's, as one that was read before. */
async function reading<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown }
    throw cause instanceof UsageError ? cause : error
  }
}

/** Refuses open transactions on a directory: each command is its own process, and they would end with it. */
function refuseWithoutServer({ name, command }: AnyOperation, transaction: string | undefined): void {
  const what = transaction === undefined ? undefined : '--transaction'
  const refused = command?.needsServer ? kebab(name) : what
  if (refused === undefined) return
  throw new UsageError(
    `${refused} works with the URL of a server: a transaction is open in the process that began it, and each command on a directory is a process of its own`,
  )
}

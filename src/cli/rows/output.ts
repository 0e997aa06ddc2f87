import { randomUUID } from 'node:crypto'
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as zlib from 'node:zlib'
import { fileFault } from '../file-fault.ts'
import { type Io, unlessInterrupted } from '../io.ts'
import { UsageError } from '../usage.ts'
import { toJson } from '../values.ts'
import { type Answer, rowsOfParts } from './arrow.ts'
import { csvLine } from './csv.ts'
import { through } from './input.ts'

type Chunks = AsyncIterable<Uint8Array>

/** How rows are written. */
export interface OutputFormat {
  readonly rows: 'file' | 'stream' | 'parquet' | 'json' | 'csv'
  readonly compression?: 'gzip' | 'zstd' | undefined
}

/** The format that the name of a file asks for by its ending; `-` is standard output. */
export function outputFormat(path: string): OutputFormat {
  const [, name, packed] = /^(.*?)(\.gz|\.zst|\.zstd)?$/is.exec(path)!
  const compression = packed === undefined ? undefined : /^\.gz$/i.test(packed) ? 'gzip' : 'zstd'
  if (compression === 'zstd' && !('createZstdCompress' in zlib))
    throw new UsageError(
      `--output ${path}: Node ${process.version} has no zstd. Use Node 22.15 or later, or .gz`,
    )
  return { rows: rowsFormat(path, name!), compression }
}

function rowsFormat(path: string, name: string): OutputFormat['rows'] {
  // An Arrow file is read from its footer, which a pipe cannot seek to.
  if (path === '-' || /\.arrows$/i.test(name)) return 'stream'
  if (/\.(arrow|feather|ipc)$/i.test(name)) return 'file'
  if (/\.(parquet|pq)$/i.test(name)) return 'parquet'
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'json'
  if (/\.csv$/i.test(name)) return 'csv'
  throw new UsageError(
    `--output ${path}: end the name in .arrow, .parquet, .jsonl or .csv, also with .gz or .zst after it, or write - for an Arrow stream on standard output`,
  )
}

/** Writes the rows of an answer to a file, or to standard output (`-`), as they come. */
export async function writeAnswer(
  answer: Answer,
  path: string,
  { rows, compression }: OutputFormat,
  io: Pick<Io, 'stdout' | 'signal'>,
): Promise<void> {
  const bytes = compressed(bytesOf(answer, rows), compression)
  if (path !== '-') return writeToFile(path, bytes, io)
  for await (const chunk of bytes) {
    io.stdout.write(chunk)
    await drained(io)
  }
}

async function* bytesOf(answer: Answer, format: OutputFormat['rows']): AsyncGenerator<Uint8Array> {
  if (format === 'json') yield* inChunks(jsonLines(answer))
  else if (format === 'csv') yield* inChunks(csvLines(answer))
  else if (format === 'stream') {
    const { encodeStream, tablesOfAnswer } = await import('../../engine/arrow/index.ts')
    yield* encodeStream(tablesOfAnswer(answer), {})
  } else if (format === 'parquet') {
    const { writeParquet } = await import('../../engine/parquet/index.ts')
    const { tablesOfAnswer } = await import('../../engine/arrow/index.ts')
    yield* writeParquet(tablesOfAnswer(answer))
  } else if (answer instanceof Uint8Array) yield answer
  else yield* answer
}

async function* jsonLines(answer: Answer): AsyncGenerator<string> {
  for await (const { rows } of rowsOfParts(answer)) for (const row of rows) yield `${toJson(row)}\n`
}

async function* csvLines(answer: Answer): AsyncGenerator<string> {
  let isFirst = true
  for await (const { names, rows } of rowsOfParts(answer)) {
    if (isFirst) yield csvLine(names)
    isFirst = false
    for (const row of rows) yield csvLine(names.map((name) => row[name]))
  }
}

/** About the characters that are written at once. */
const chunkLength = 256 * 1024

async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let text = ''
  for await (const line of lines) {
    text += line
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text.length > 0) yield Buffer.from(text)
}

function compressed(bytes: Chunks, compression: OutputFormat['compression']): Chunks {
  if (compression === undefined) return bytes
  if (compression === 'gzip') return through(bytes, zlib.createGzip())
  const { createZstdCompress } = zlib as unknown as { createZstdCompress(): NodeJS.ReadWriteStream }
  return through(bytes, createZstdCompress())
}

/** Resolves once standard output has written enough to take more. */
export async function drained(io: Pick<Io, 'stdout' | 'signal'>): Promise<void> {
  const { stdout } = io
  if (!stdout.writableNeedDrain) return
  const drain = new Promise<void>((resolve) => {
    stdout.once!('drain', resolve)
  })
  await unlessInterrupted(drain, io)
}

/** Writes a file that appears when it is complete. A failure of the rows themselves leaves what was there before. */
async function writeToFile(path: string, bytes: Chunks, io: Pick<Io, 'signal'>): Promise<void> {
  const chunks = bytes[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined
  const next = () =>
    chunks.next().catch((error: unknown) => {
      failure = { error }
      throw error
    })
  try {
    // Rows that fail at once touch no file. What was begun is ended below, also where no file can be opened.
    let result = await next()
    await replaceFile(
      path,
      (async function* () {
        for (; !result.done; result = await next()) yield result.value
      })(),
      io,
    )
  } catch (error) {
    if (failure !== undefined) throw failure.error
    io.signal.throwIfAborted()
    throw new UsageError(
      `--output cannot be written to ${path}: ${fileFault(error, 'its folder is not there; create it first')}`,
    )
  } finally {
    await chunks.return?.()
  }
}

async function replaceFile(path: string, bytes: Chunks, io: Pick<Io, 'signal'>): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const found = await stat(target).catch(() => undefined)
  const temporary = join(dirname(target), `.tabularium-${randomUUID()}`)
  // Pipes and devices are written to, and so are files in a folder that cannot be changed.
  const canReplace = found === undefined || found.isFile()
  const file = canReplace
    ? await open(temporary, 'wx', (found?.mode ?? 0o666) & 0o777).catch(() => undefined)
    : undefined
  // Somebody must open the other end of a pipe first.
  if (file === undefined) return unlessInterrupted(writeFile(path, bytes), io)
  try {
    await file.writeFile(bytes).finally(() => file.close())
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

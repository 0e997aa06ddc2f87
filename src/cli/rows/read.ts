import type { ArrowTable } from '../../base/model/rows-source.ts'
import { CatalogError } from '../../tabularium/index.ts'
import { type Io, maxInputBytes } from '../io.ts'
import { UsageError } from '../usage.ts'
import { csvRows } from './csv.ts'
import { type Input, inputOf, peek, textOf, wholeOf } from './input.ts'
import { isJsonLine, json, jsonLines, jsonWhole } from './json-rows.ts'
import type { Spool } from './spool.ts'
import { type ReadHeader, type TextRow, TextRows } from './text-rows.ts'

/** Rows to write: Arrow IPC bytes, rows of Arrow that may be many, or rows of a text. */
export type Rows = Uint8Array | ArrowRows | TextRows

/** Rows of an Arrow stream or of a Parquet file, which are written while they are read. */
export class ArrowRows {
  /** For an operation that takes rows as they come. */
  readonly items: AsyncIterable<ArrowTable | Uint8Array>
  /** All of them as Arrow IPC bytes, for an operation that needs them at once. */
  readonly whole: () => Promise<Uint8Array>
  /** Ends what they are read from. */
  readonly close: () => Promise<void>

  constructor(items: ArrowRows['items'], whole: ArrowRows['whole'], close = async () => {}) {
    this.items = items
    this.whole = whole
    this.close = close
  }
}

/** Bytes by which the format of a text is known. */
const headBytes = 64 * 1024

/** A longer Arrow stream is written while it is read. */
const fewBytes = 16 * 1024 * 1024

/**
 * Reads rows from a file, from standard input (`-`), or from JSON on the command line. Decompresses gzip and zstd.
 * Detects the format by the first bytes: Arrow IPC, Parquet, a JSON array, one JSON object or one on each line; otherwise
 * CSV.
 * Rows of CSV and JSON lines are read when they are needed.
 */
export async function readRows(source: string, io: Io): Promise<Rows> {
  if (/^\s*[[{]/.test(source)) {
    const rows = json(source, '--data')
    return TextRows.of(Array.isArray(rows) ? rows : [rows], rowOf('--data'))
  }
  const input = await inputOf(source, io)
  const { head, all } = await peek(input.open(), headBytes)
  if (/^(?:\xff\xfe|\xfe\xff)/.test(Buffer.from(head.subarray(0, 2)).toString('latin1')))
    throw new UsageError(`--data ${source} is text in UTF-16: save it in UTF-8`)
  if (isArrow(head)) return arrowRows(input, head, all)
  if (isParquet(head)) return parquetRows(input, source, all)
  if (/\.(parquet|pq)$/i.test(input.path))
    throw new UsageError(
      `--data ${source} is not a Parquet file, which begins with PAR1: write it again, or name it by what it is, such as .csv or .jsonl`,
    )
  if (/\.arrows?$/i.test(input.path))
    throw new UsageError(
      `--data ${source} is not an Arrow IPC file or stream: write it again, or name it by what it is, such as .csv or .jsonl`,
    )
  const { read, isCsv, label } = formatOf(input, head)
  let begun: AsyncIterable<Uint8Array> | undefined = all
  const rows = (header?: ReadHeader) => {
    const bytes = begun ?? input.open()
    begun = undefined
    return read(textOf(bytes, source), input.name, header)
  }
  return new TextRows({ rows, isCsv, isFile: input.isFile, label })
}

interface Format {
  readonly read: (
    texts: AsyncIterable<string>,
    source: string,
    header?: ReadHeader,
  ) => AsyncGenerator<readonly TextRow[]>
  readonly isCsv: boolean
  /** Describes where a row is. */
  readonly label: (at: number) => string
}

function formatOf({ name, path }: Input, head: Uint8Array): Format {
  const start = new TextDecoder()
    .decode(head)
    .replace(/^\uFEFF/, '')
    .trimStart()
  const line = (at: number) => `line ${at} of ${name}`
  if (start.startsWith('[')) return { read: jsonWhole, isCsv: false, label: rowOf(name) }
  // JSON lines of no rows are a file without bytes.
  if (start === '' && /\.(?:jsonl|ndjson)$/i.test(path)) return { read: jsonLines, isCsv: false, label: line }
  if (!start.startsWith('{') || path.toLowerCase().endsWith('.csv'))
    return { read: csvRows, isCsv: true, label: line }
  const end = start.indexOf('\n')
  const isLong = end < 0 && head.length >= headBytes
  if (isLong || isJsonLine(end < 0 ? start : start.slice(0, end)))
    return { read: jsonLines, isCsv: false, label: line }
  return { read: jsonWhole, isCsv: false, label: () => name }
}

const rowOf = (name: string) => (at: number) => `row ${at} of ${name}`

async function arrowRows(
  { name }: Input,
  head: Uint8Array,
  all: AsyncIterable<Uint8Array>,
): Promise<Uint8Array | ArrowRows> {
  // A file is read from its end.
  if (isArrowFile(head)) return wholeOf(all, name)
  const first = await peek(all, Math.min(fewBytes, maxInputBytes))
  if (first.head.length < fewBytes) return first.head
  return new ArrowRows(first.all, () => wholeOf(first.all, name))
}

/** Rows of a Parquet file. It is read from its end: a plain file where it lies, all others once they were kept. */
async function parquetRows(
  { isFile, path }: Input,
  source: string,
  all: AsyncIterable<Uint8Array>,
): Promise<ArrowRows> {
  const isPlain = isFile && path === source
  // This closes the file that told the format.
  if (isPlain) for await (const _ of all) break
  const { readParquet } = await import('../../engine/parquet/index.ts')
  let kept: Promise<Spool> | undefined
  const file = async () => {
    if (isPlain) return source
    kept ??= import('./spool.ts').then(({ spool }) => spool(all, source))
    return kept
  }
  async function* items(): AsyncGenerator<ArrowTable> {
    try {
      yield* readParquet(await file())
    } catch (cause) {
      throw ofSource(source, cause)
    }
  }
  const whole = async () => {
    const { parquetToArrow } = await import('../../engine/parquet/whole.ts')
    return parquetToArrow(await file(), { maxRowBytes: maxInputBytes }).catch((cause) => {
      throw ofSource(source, cause)
    })
  }
  const close = async () => (await kept?.catch(() => undefined))?.close()
  // An object that can be read again, in case that another writer changes the table meanwhile.
  return new ArrowRows({ [Symbol.asyncIterator]: items }, whole, close)
}

function ofSource(source: string, cause: unknown): unknown {
  return cause instanceof CatalogError ? new UsageError(`--data ${source}: ${cause.message}`) : cause
}

function isArrowFile(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 6)).toString('latin1') === 'ARROW1'
}

function isParquet(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PAR1'
}

/** Whether bytes begin like an Arrow IPC file or stream. Streams before format 0.15 lack the continuation marker. */
function isArrow(bytes: Uint8Array): boolean {
  if (isArrowFile(bytes)) return true
  if (bytes.length < 8) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return view.getUint32(0, true) === 0xffff_ffff || (bytes[3] === 0 && bytes[0]! >= 8)
}

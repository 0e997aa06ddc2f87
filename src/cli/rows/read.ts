import { type FileHandle, open } from 'node:fs/promises'
import { CatalogError } from '../../tabularium/index.ts'
import { type Io, maxInputBytes, readAll, tooLarge } from '../io.ts'
import { UsageError } from '../usage.ts'
import { parseCsv } from './csv.ts'
import { parseJson } from './json.ts'
import { TextRows } from './text-rows.ts'

/** Rows to write: Arrow IPC bytes, or rows of a text. */
export type Rows = Uint8Array | TextRows

/**
 * Reads rows from a file, from standard input (`-`), or from a JSON array on the command line. Detects the format by
 * the first bytes: Arrow IPC, Parquet, a JSON array, one JSON object or one on each line; otherwise CSV.
 */
export async function readRows(source: string, io: Io): Promise<Rows> {
  if (/^\s*\[/.test(source)) return jsonArray(source, '--data')
  if (source !== '-' && isParquet(await beginningOf(source))) return parquetRows(source, source)
  const bytes = source === '-' ? await readAll(io.stdin) : await readFile(source)
  if (isArrow(bytes)) return bytes
  if (isParquet(bytes)) return parquetRows(bytes, 'standard input')
  if (/\.(parquet|pq)$/i.test(source)) throw new UsageError(`--data ${source} is not a Parquet file`)
  if (/\.arrows?$/i.test(source)) throw new UsageError(`--data ${source} is not an Arrow IPC file or stream`)
  return fromText(textOf(bytes, source), source)
}

/** The first bytes of a file. */
function beginningOf(source: string): Promise<Uint8Array> {
  return withFile(source, async (file) => {
    // A pipe gives its bytes once.
    if (!(await file.stat()).isFile()) return new Uint8Array(0)
    const bytes = new Uint8Array(8)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    return bytes.subarray(0, bytesRead)
  })
}

function readFile(source: string): Promise<Uint8Array> {
  return withFile(source, async (file) => {
    const { size } = await file.stat()
    if (size > maxInputBytes) throw tooLarge(`${source} has ${size.toLocaleString('en')}`)
    return new Uint8Array(await file.readFile())
  })
}

/** Rows of a Parquet file as Arrow data. A file may be smaller than its rows, and larger. */
async function parquetRows(file: string | Uint8Array, source: string): Promise<Uint8Array> {
  const { parquetToArrow } = await import('../../engine/parquet/whole.ts')
  try {
    return await parquetToArrow(file, { maxRowBytes: maxInputBytes })
  } catch (cause) {
    if (cause instanceof CatalogError) throw new UsageError(`--data ${source}: ${cause.message}`)
    throw cause
  }
}

async function withFile<T>(source: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    await using file = await open(source)
    return await work(file)
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`--data cannot be read from ${source}: ${(cause as Error).message}`)
  }
}

function isParquet(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PAR1'
}

/** Whether bytes begin like an Arrow IPC file or stream. Streams before format 0.15 lack the continuation marker. */
function isArrow(bytes: Uint8Array): boolean {
  if (Buffer.from(bytes.subarray(0, 6)).toString('latin1') === 'ARROW1') return true
  if (bytes.length < 8) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return view.getUint32(0, true) === 0xffff_ffff || (bytes[3] === 0 && bytes[0]! >= 8)
}

function textOf(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageError(`--data ${source} is neither Arrow IPC nor UTF-8 text`)
  }
}

function fromText(text: string, source: string): Rows {
  const start = text.trimStart()
  if (start.startsWith('[')) return jsonArray(text, source)
  if (!start.startsWith('{') || source.toLowerCase().endsWith('.csv')) {
    const { rows, lines } = parseCsv(text, source)
    return new TextRows(rows, true, (row) => `line ${lines[row]} of ${source}`)
  }
  const whole = oneObject(text)
  if (whole !== undefined) return new TextRows([whole], false, () => source)
  const rows: unknown[] = []
  const lines: number[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    rows.push(json(line, `line ${index + 1} of ${source}`))
    lines.push(index + 1)
  }
  return new TextRows(rows, false, (row) => `line ${lines[row]} of ${source}`)
}

/** Parses the whole text as JSON, since one object may span many lines. Undefined when it is not JSON. */
function oneObject(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function jsonArray(text: string, source: string): TextRows {
  const rows = json(text, source) as readonly unknown[]
  return new TextRows(rows, false, (row) => `row ${row + 1} of ${source}`)
}

function json(text: string, source: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw new UsageError(`${source} is not JSON: ${(error as Error).message}`)
  }
}

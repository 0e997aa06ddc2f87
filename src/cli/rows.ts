import { readFile } from 'node:fs/promises'
import { parseCsv } from './csv.ts'
import { type Io, readAll } from './io.ts'
import { UsageError } from './usage.ts'

/** Rows to write: Arrow IPC bytes, or row objects. */
export type Rows = Uint8Array | Record<string, unknown>[]

/**
 * Reads rows from a file, from standard input (`-`), or from a JSON array on the command line. The first bytes of a
 * file tell its format: Arrow IPC, a JSON array, one JSON object or one on each line; otherwise CSV.
 */
export async function readRows(source: string, io: Io): Promise<Rows> {
  if (/^\s*\[/.test(source)) return jsonArray(source, '--data')
  const bytes =
    source === '-'
      ? await readAll(io.stdin)
      : new Uint8Array(
          await readFile(source).catch((cause) => {
            throw new UsageError(`--data cannot be read from ${source}: ${(cause as Error).message}`)
          }),
        )
  if (isArrow(bytes)) return bytes
  if (/\.arrows?$/i.test(source)) throw new UsageError(`--data ${source} is not an Arrow IPC file or stream`)
  return fromText(textOf(bytes, source), source)
}

/** Whether bytes begin like an Arrow IPC file, or like a stream of format 0.15 or an older one. */
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
  if (!start.startsWith('{') || source.toLowerCase().endsWith('.csv')) return parseCsv(text, source)
  const whole = parsed(text)
  if (whole !== undefined) return [whole as Record<string, unknown>]
  const rows: Record<string, unknown>[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() !== '') rows.push(json(line, `line ${index + 1} of ${source}`) as Record<string, unknown>)
  }
  return rows
}

/** Parses the whole text as JSON, since one object may span many lines. Undefined when it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function jsonArray(text: string, source: string): Record<string, unknown>[] {
  return json(text, source) as Record<string, unknown>[]
}

function json(text: string, source: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${source} is not JSON: ${(error as Error).message}`)
  }
}

import { UsageError } from './usage.ts'

/** The streams and the environment of a command. Tests replace those of the process. */
export interface Io {
  /** `unref` allows the process to exit while only the end of the input is awaited. */
  readonly stdin: AsyncIterable<Uint8Array> & { unref?(): unknown }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** The version of this release. */
  readonly version: string
}

export interface Output {
  write(chunk: string | Uint8Array): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  /** Whether it takes no more until the event `drain`. */
  readonly writableNeedDrain?: boolean
  once?(event: 'drain', listener: () => void): unknown
}

/** The most input bytes of one command: the same limit as for the rows of one request. */
export const maxInputBytes = 256 * 1024 * 1024

/** All bytes of a stream. */
export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (length > maxInputBytes) throw tooLarge('standard input has more')
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks, length)
  // A small Buffer shares its memory with others, but the Arrow decoder uses the whole underlying memory.
  return new Uint8Array(bytes)
}

/** The error for input above {@link maxInputBytes}. `what` begins the message, such as `standard input has more`. */
export function tooLarge(what: string): UsageError {
  return new UsageError(
    `${what} bytes, and one command reads at most ${maxInputBytes.toLocaleString('en')}: insert the rows in parts`,
  )
}

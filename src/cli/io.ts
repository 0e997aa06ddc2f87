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
  /** Aborts when the command is interrupted. */
  readonly signal: AbortSignal
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

/**
 * The outcome of work that waits for another process or a person, such as the reader of a pipe. An interrupt does not wait
 * for them: it rejects with its reason.
 */
export async function unlessInterrupted<T>(work: Promise<T>, { signal }: Pick<Io, 'signal'>): Promise<T> {
  let stop = () => {}
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, interrupted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The bytes of a stream until the command is interrupted, also while the next ones are awaited. */
export async function* untilInterrupted(
  bytes: AsyncIterable<Uint8Array>,
  io: Pick<Io, 'signal'>,
): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await unlessInterrupted(iterator.next(), io)
      if (done) return
      yield value
    }
  } finally {
    const ended = iterator.return?.()
    // It would wait for the next bytes.
    if (io.signal.aborted) ended?.catch(() => {})
    else await ended
  }
}

/** All bytes of standard input. */
export async function readAll(io: Pick<Io, 'stdin' | 'signal'>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of untilInterrupted(io.stdin, io)) {
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

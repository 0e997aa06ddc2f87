import { createReadStream, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { fileFault } from '../file-fault.ts'
import { type Io, maxInputBytes, tooLarge, untilInterrupted } from '../io.ts'
import { UsageError } from '../usage.ts'

type Bytes = AsyncIterable<Uint8Array>

const compressedName = /\.(?:gz|zst|zstd)$/i

/** Where rows are read from: a file, or standard input (`-`). Its bytes are decompressed where they are gzip or zstd. */
export interface Input {
  /** What errors call it. */
  readonly name: string
  /** The name of a file without the ending of its compression; `-` for standard input. */
  readonly path: string
  /** Whether `open` may be called again. */
  readonly isFile: boolean
  open(): Bytes
}

/** Finds out whether a file can be read, so that it is refused before anything else is done. */
export async function inputOf(source: string, io: Io): Promise<Input> {
  const path = source.replace(compressedName, '')
  const opened = (chunks: Bytes, name: string) =>
    decompressed(untilInterrupted(readable(chunks, name), io), name)
  if (source === '-') {
    const name = 'standard input'
    return { name, path, isFile: false, open: () => opened(io.stdin, name) }
  }
  try {
    const before = await stat(source)
    const isFile = before.isFile()
    const read = () => createReadStream(source)
    const open = () => opened(isFile ? unchanged(read(), source, before) : read(), source)
    return { name: source, path, isFile, open }
  } catch (cause) {
    throw unreadable(source, cause)
  }
}

/** The bytes of a file that nobody writes meanwhile. Its last line may be a part of one, and types may be of other rows. */
async function* unchanged(bytes: Bytes, source: string, before: Stats): AsyncGenerator<Uint8Array> {
  yield* bytes
  const { size, mtimeMs } = await stat(source)
  if (size !== before.size || mtimeMs !== before.mtimeMs)
    throw new Error(
      'it was changed while it was read, and may end within a row. Give it when nobody writes it, or a copy of it',
    )
}

const rowsGiven = 'give the path of a file, - for standard input, or JSON in place'

function unreadable(source: string, cause: unknown): UsageError {
  if (source === '') return new UsageError(`--data is empty: ${rowsGiven}`)
  const what = fileFault(cause)
  const isFault = what !== (cause as Error).message
  return new UsageError(`--data cannot be read from ${source}: ${what}${isFault ? `; ${rowsGiven}` : ''}`)
}

async function* readable(chunks: Bytes, source: string): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (cause) {
    throw unreadable(source, cause)
  }
}

/** The first bytes of compressed data tell which one it is. */
async function* decompressed(bytes: Bytes, source: string): AsyncGenerator<Uint8Array> {
  const { head, all } = await peek(bytes, 4)
  if (head.length === 0 && compressedName.test(source))
    throw new UsageError(`${source} cannot be decompressed: it is empty`)
  const magic = Buffer.from(head.subarray(0, 4)).toString('hex')
  try {
    if (magic.startsWith('1f8b')) yield* through(all, zlib.createGunzip())
    else if (magic === '28b52ffd') yield* unzstd(all, source)
    else yield* all
  } catch (cause) {
    if (cause instanceof UsageError || !isOfCodec(cause)) throw cause
    throw new UsageError(`${source} cannot be decompressed: ${(cause as Error).message}`)
  }
}

function isOfCodec(cause: unknown): boolean {
  const { code } = cause as { readonly code?: unknown }
  return typeof code === 'number' || (typeof code === 'string' && /^(?:Z_|ZSTD)/.test(code))
}

/** Bytes as a codec makes them of others. */
export async function* through(bytes: Bytes, codec: NodeJS.ReadWriteStream): AsyncGenerator<Uint8Array> {
  yield* pipeline(Readable.from(bytes), codec, () => {}) as unknown as Bytes
}

/** Node has zstd since 22.15. Before, WebAssembly decompresses it, which takes the compressed bytes as a whole. */
async function* unzstd(bytes: Bytes, name: string): AsyncGenerator<Uint8Array> {
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => NodeJS.ReadWriteStream }
  if (createZstdDecompress !== undefined) {
    yield* through(bytes, createZstdDecompress())
    return
  }
  const { ZSTDDecoder } = await import('zstddec/stream')
  const decoder = new ZSTDDecoder()
  await decoder.init()
  const whole = await wholeOf(bytes, name)
  let empty = 0
  try {
    for (const chunk of decoder.decodeStreaming(partsOf(whole))) {
      // The library does not notice damage: it goes on without reading or writing anything.
      empty = chunk.length === 0 ? empty + 1 : 0
      if (empty > maxEmpty) throw new Error('the data is damaged')
      yield chunk
    }
  } catch (cause) {
    throw Object.assign(new Error((cause as Error).message), { code: 'ZSTD' })
  }
}

/** Steps of a decompressor without a result. A frame's header, and blocks without content, are some. */
const maxEmpty = 1000

function* partsOf(whole: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < whole.length; at += 1 << 16) yield whole.subarray(at, at + (1 << 16))
}

/** The first bytes, at least `count` of them if there are as many, and all bytes with them. They are read once. */
export async function peek(bytes: Bytes, count: number): Promise<{ head: Uint8Array; all: Bytes }> {
  const iterator = bytes[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let length = 0
  while (length < count) {
    const { done, value } = await iterator.next()
    if (done) break
    chunks.push(value)
    length += value.length
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
      yield* { [Symbol.asyncIterator]: () => iterator }
    } finally {
      await iterator.return?.()
    }
  }
  return { head: new Uint8Array(Buffer.concat(chunks, length)), all: all() }
}

/** All bytes, if they are not too many for one command. */
export async function wholeOf(bytes: Bytes, name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    length += chunk.length
    if (length > maxInputBytes) throw tooLarge(`${name} has more`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks, length))
}

/** The text of UTF-8 bytes, in pieces. */
export async function* textOf(bytes: Bytes, source: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Uint8Array) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new UsageError(`--data ${source} is neither Arrow IPC nor UTF-8 text`)
    }
  }
  for await (const chunk of bytes) yield decode(chunk)
  yield decode()
}

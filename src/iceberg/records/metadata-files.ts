import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { atOnce, inSlices, type Steps } from '../../base/scheduling/time-slice.ts'
import { type KeyedRequest, putObject, readObject } from '../../catalog/formats/index.ts'
import type { Invocable, OperationOptions } from '../../catalog/index.ts'
import { parseJson } from '../../server/core/json.ts'
import { IcebergError } from '../errors.ts'
import { parse } from '../json.ts'
import { type JsonText, stringifyLong } from '../json-text.ts'
import { expanded } from './compressed.ts'

/** Whom a request is made for. */
export interface Caller {
  readonly options: OperationOptions
  readonly context: Readonly<Record<string, string>>
  /** The idempotency key of a change, with what is asked. */
  readonly keyed?: KeyedRequest | undefined
}

/** A metadata file of a table or view. */
export interface MetadataFile {
  readonly id: Identifier
  readonly url: string
  /** In bytes, if it is known. */
  readonly size?: number | undefined
  readonly mayBeGone?: boolean
}

/** Files up to this size are read and checked at once, and take no memory of the budget. */
const smallBytes = 64 * 1024

/** A larger file is read in pieces of this size. */
const pieceBytes = 8 << 20

/** The memory for each byte of a file: the byte itself, twice as much for what it is parsed to, and the text of answers. */
const memoryPerByte = 4

/** Most bytes of memory for metadata that is kept. A file of 100 MB finds room. */
const mostKept = 400 << 20

/** What bounds the time and the memory that a file takes to be parsed. 100,000 snapshots have some 2,000,000 values. */
const limits = {
  jsonDepth: 100,
  jsonValues: 10_000_000,
  jsonMembers: 1_000_000,
  jsonTextBytes: 1 << 20,
  text: 'The file',
}

/**
 * Reads and writes metadata files. Files never change, so those that were read or written last are kept. The metadata that
 * it returns must not be changed.
 *
 * Large files are read, parsed, checked and written with rests for other work. What a request takes for them counts in the
 * memory that all requests share.
 */
export class MetadataFiles {
  readonly #largest: number
  /** Parsed and checked metadata by URL, and the size of its file. The one that was used last is the last. */
  readonly #kept = new Map<string, { readonly metadata: object; readonly bytes: number }>()
  #bytes = 0
  /** Large files that are being read. Others wait for what is kept then. */
  readonly #reading = new Map<string, Promise<unknown>>()

  /** `largest`: most bytes of a file, also of what it expands to. */
  constructor(largest = 128 << 20) {
    this.#largest = largest
  }

  /** The metadata in a file, checked by `check`. Fails when the file is gone, unless it is kept and may be. */
  async read<T extends object>(
    catalog: Invocable,
    file: MetadataFile,
    check: (json: unknown) => Steps<T>,
    { options, context }: Caller,
  ): Promise<T> {
    const { id, url, mayBeGone = false } = file
    const read = (start: number, end: number) =>
      readObject(catalog, { id: [...id], url, range: { start, end }, context }, options)
    while (this.#reading.has(url)) await this.#reading.get(url)
    const known = this.#kept.get(url)
    if (known === undefined) return this.#readNew(file, read, check, options)
    this.#kept.delete(url)
    this.#kept.set(url, known)
    const isThere = mayBeGone || (await read(0, 1))
    if (!isThere) throw gone(url)
    return known.metadata as T
  }

  /** Writes metadata to a new file below `folder`, and returns its URL and size. */
  async write(
    catalog: Invocable,
    {
      id,
      folder,
      number,
      metadata,
    }: {
      readonly id: Identifier
      readonly folder: string
      readonly number: number
      readonly metadata: object
    },
    { options, context }: Caller,
  ): Promise<{ readonly url: string; readonly size: number }> {
    const text = await textOf(metadata, options)
    const parts = typeof text === 'string' ? [Buffer.from(text)] : text
    const size = parts.reduce((sum, { length }) => sum + length, 0)
    if (size > this.#largest) throw this.#tooLarge(folder)
    const before = `${String(number).padStart(5, '0')}-`
    const asked = { id: [...id], folder, before, after: '.metadata.json', parts, context }
    const url = await putObject(catalog, asked, options)
    this.#keep(url, metadata, size)
    return { url, size }
  }

  async #readNew<T extends object>(
    { url, size }: MetadataFile,
    read: (start: number, end: number) => Promise<Uint8Array | undefined>,
    check: (json: unknown) => Steps<T>,
    options: OperationOptions,
  ): Promise<T> {
    if (size !== undefined && size > this.#largest) throw this.#tooLarge(url)
    const first = await read(0, smallBytes)
    if (first === undefined) throw gone(url)
    if (first.length < smallBytes) {
      const bytes = await expanded(first, url, { largest: this.#largest, memoryPerByte }, options)
      const steps = check(await parseMetadata(bytes, url))
      const metadata = bytes.length < smallBytes ? atOnce(steps) : await inSlices(steps, options.signal)
      this.#keep(url, metadata, bytes.length)
      return metadata
    }
    const work = async () => {
      const stored = await this.#rest(first, url, size, read, options)
      const bytes = await expanded(stored, url, { largest: this.#largest, memoryPerByte }, options)
      const metadata = await inSlices(check(await parseMetadata(bytes, url)), options.signal)
      this.#keep(url, metadata, bytes.length)
      return metadata
    }
    // Another request may have begun it meanwhile.
    return this.#reading.has(url) ? work() : this.#whileReading(url, work())
  }

  #whileReading<T>(url: string, work: Promise<T>): Promise<T> {
    const ended = work.then(
      () => this.#reading.delete(url),
      () => this.#reading.delete(url),
    )
    this.#reading.set(url, ended)
    return work
  }

  /** All bytes of a file that is not small. */
  async #rest(
    first: Uint8Array,
    url: string,
    known: number | undefined,
    read: (start: number, end: number) => Promise<Uint8Array | undefined>,
    { signal, [requestMemory]: memory }: OperationOptions,
  ): Promise<Uint8Array> {
    const parts = [first]
    let size = first.length
    let taken = 0
    const take = async (bytes: number) => {
      if (bytes > taken) await memory?.hold?.take((bytes - taken) * memoryPerByte, signal)
      taken = Math.max(taken, bytes)
    }
    await take(Math.max(known ?? 0, size))
    for (let isWhole = false; !isWhole; ) {
      const part = await read(size, size + pieceBytes)
      if (part === undefined) throw gone(url)
      parts.push(part)
      size += part.length
      isWhole = part.length < pieceBytes
      if (size > this.#largest) throw this.#tooLarge(url)
      await take(size)
    }
    return joined(parts, size, signal)
  }

  #keep(url: string, metadata: object, bytes: number): void {
    if (bytes * memoryPerByte > mostKept || this.#kept.has(url)) return
    this.#kept.set(url, { metadata, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes * memoryPerByte <= mostKept) break
      this.#kept.delete(oldest)
      this.#bytes -= bytes
    }
  }

  #tooLarge(url: string): IcebergError {
    return new IcebergError(
      'ValidationException',
      `The metadata file ${url} has more than ${this.#largest.toLocaleString('en')} bytes, the most here (metadataBytes). Expire snapshots of the table, or serve it with a larger metadataBytes.`,
    )
  }
}

/** The texts of metadata that is kept. */
const texts = new WeakMap<object, JsonText>()

/** The JSON text of metadata. It is made once, as metadata does not change. */
export async function textOf(
  metadata: object,
  { signal, [requestMemory]: { hold } = {} }: OperationOptions,
): Promise<JsonText> {
  const known = texts.get(metadata)
  if (known !== undefined) return known
  const take = hold && ((bytes: number) => hold.take(bytes, signal))
  const text = await stringifyLong(metadata, { signal, take })
  texts.set(metadata, text)
  return text
}

function* copied(parts: readonly Uint8Array[], to: Uint8Array): Steps<void> {
  let at = 0
  for (const part of parts) {
    to.set(part, at)
    at += part.length
    yield
  }
}

async function joined(
  parts: readonly Uint8Array[],
  size: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(size)
  await inSlices(copied(parts, bytes), signal)
  return bytes
}

function gone(url: string): IcebergError {
  return new IcebergError('NotFoundException', `Failed to open input stream for file: ${url} does not exist`)
}

/** What a metadata file holds, not yet checked. */
export async function parseMetadata(bytes: Uint8Array, url: string): Promise<unknown> {
  try {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return await parseJson(buffer, limits, undefined, parse)
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    throw new IcebergError('ValidationException', `Cannot parse metadata file ${url}: ${cause.message}`, {
      cause,
    })
  }
}

/** The number that the name of a metadata file begins with; -1 without one. */
export function numberOf(url: string): number {
  const name = url.slice(url.lastIndexOf('/') + 1)
  const digits = /^(\d{1,9})-/.exec(name)?.[1] ?? /^v(\d{1,9})\./.exec(name)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

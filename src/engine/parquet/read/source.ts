import { open } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { damagedFile } from '../damage.ts'

/** Bytes that can be read at any place, such as an object in a bucket. */
export interface ParquetBytes {
  readonly byteLength: number
  slice(start: number, end: number): Uint8Array | ArrayBuffer | Promise<Uint8Array | ArrayBuffer>
}

/** Accepted as a Parquet file: its path or `file:` URL, its bytes, or an object that reads them. */
export type ParquetSource = string | URL | Uint8Array | ArrayBuffer | ParquetBytes

/** A source that is open. @internal */
export interface OpenSource {
  readonly byteLength: number
  /** Bytes from `start` up to but not including `end`, as many as asked for. */
  read(start: number, end: number): Promise<Uint8Array>
  /** Throws where a file was written since it was opened: its parts may be of several states. */
  requireUnchanged(): Promise<void>
  close(): Promise<void>
}

/** Opens a source. @internal */
export async function openSource(source: ParquetSource): Promise<OpenSource> {
  if (typeof source === 'string' || source instanceof URL) return openFile(source)
  if (typeof (source as Partial<ParquetBytes> | undefined)?.slice !== 'function')
    throw invalid(
      'The Parquet file is missing. Give its path, its bytes, or an object with byteLength and slice.',
    )
  const part = async (start: number, end: number) => {
    if (source instanceof Uint8Array) return source.subarray(start, end)
    const bytes = await source.slice(start, end)
    return bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)
  }
  return {
    byteLength: source.byteLength,
    read: async (start, end) => whole(await part(start, end), end - start),
    // The state of these bytes is the caller's affair.
    requireUnchanged: async () => {},
    close: async () => {},
  }
}

async function openFile(path: string | URL): Promise<OpenSource> {
  const name = path instanceof URL || path.startsWith('file:') ? fileURLToPath(path) : path
  const failed = (cause: unknown) =>
    cause instanceof CatalogError
      ? cause
      : invalid(
          `The Parquet file ${name} cannot be read: ${(cause as Error).message}. Give the path of a file.`,
          {
            cause,
          },
        )
  const file = await open(name).catch((cause) => {
    throw failed(cause)
  })
  try {
    const about = await file.stat()
    if (!about.isFile()) throw invalid(`The Parquet file ${name} is no regular file. Give the path of one.`)
    return {
      byteLength: about.size,
      async read(start, end) {
        const bytes = new Uint8Array(end - start)
        for (let at = 0; at < bytes.length; ) {
          const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at).catch((cause) => {
            throw failed(cause)
          })
          if (bytesRead === 0) return whole(bytes.subarray(0, at), end - start)
          at += bytesRead
        }
        return bytes
      },
      async requireUnchanged() {
        const { size, mtimeMs } = await file.stat()
        if (size === about.size && mtimeMs === about.mtimeMs) return
        throw invalid(
          `The Parquet file ${name} was changed while it was read. Give it when nobody writes it, or a copy of it.`,
        )
      },
      close: () => file.close(),
    }
  } catch (cause) {
    await file.close()
    throw failed(cause)
  }
}

function whole(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length)
    throw damagedFile(`ended while it was read: ${length - bytes.length} bytes are missing`)
  return bytes
}

import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { putObject, readObject } from '../../catalog/formats/index.ts'
import type { Invocable, OperationOptions } from '../../catalog/index.ts'
import { IcebergError } from '../errors.ts'
import { parse, stringify } from '../json.ts'

/** Whom a request is made for. */
export interface Caller {
  readonly options: OperationOptions
  readonly context: Readonly<Record<string, string>>
}

/** A metadata file, parsed and checked, and about how many bytes it takes. */
interface Kept {
  readonly metadata: object
  readonly bytes: number
}

/** A metadata file of a table or view. */
interface MetadataFile {
  readonly id: Identifier
  readonly url: string
  readonly mayBeGone?: boolean
}

/** Most bytes of metadata files that are kept parsed. */
const mostKept = 64 << 20

/**
 * Reads and writes metadata files. Files never change, so those that were read or written last are kept. The metadata that
 * it returns must not be changed.
 */
export class MetadataFiles {
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  /** The metadata in a file, checked by `check`. Fails when the file is gone, unless it is kept and may be. */
  async read<T extends object>(
    catalog: Invocable,
    { id, url, mayBeGone = false }: MetadataFile,
    check: (json: unknown) => T,
    { options, context }: Caller,
  ): Promise<T> {
    const known = this.#kept.get(url)
    if (known !== undefined) {
      // The last one is the one that was used last.
      this.#kept.delete(url)
      this.#kept.set(url, known)
      const isThere =
        mayBeGone || (await readObject(catalog, { id: [...id], url, most: 1, context }, options))
      if (!isThere) throw gone(url)
      return known.metadata as T
    }
    const bytes = await readObject(catalog, { id: [...id], url, context }, options)
    if (bytes === undefined) throw gone(url)
    const metadata = check(parsed(bytes, url))
    this.keep(url, metadata, bytes.length)
    return metadata
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
    const url = `${folder}/${String(number).padStart(5, '0')}-${randomUUID()}.metadata.json`
    const bytes = Buffer.from(stringify(metadata))
    await putObject(catalog, { id: [...id], url, bytes, context }, options)
    this.keep(url, metadata, bytes.length)
    return { url, size: bytes.length }
  }

  keep(url: string, metadata: object, bytes: number): void {
    if (bytes > mostKept / 4 || this.#kept.has(url)) return
    this.#kept.set(url, { metadata, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#bytes <= mostKept) break
      this.#kept.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

function gone(url: string): IcebergError {
  return new IcebergError('NotFoundException', `Failed to open input stream for file: ${url} does not exist`)
}

function parsed(bytes: Uint8Array, url: string): unknown {
  try {
    return parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause
    throw new IcebergError('ValidationException', `Cannot parse metadata file ${url}: ${cause.message}`, {
      cause,
    })
  }
}

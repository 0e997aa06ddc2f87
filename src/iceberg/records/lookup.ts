import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { lookUpHead, recordedByCommit, type TableHead } from '../../catalog/formats/index.ts'
import type { Catalog, Invocable, Transact, Transaction } from '../../catalog/index.ts'
import { type Format, formatProperty, type Kind, kindOf } from './formats.ts'
import type { Caller, MetadataFile, MetadataFiles } from './metadata-files.ts'
import { type About, missing, ofCatalog, otherFormat } from './names.ts'
import { type Form, once } from './once.ts'

/** A catalog with transactions over many operations. */
export type TransactionalCatalog = Catalog & { readonly transaction: Transact }

/** A table or view, with its metadata and where that lies. */
export interface Loaded<Metadata> {
  readonly id: Identifier
  readonly url: string
  readonly metadata: Metadata
}

/** The records of a catalog, and the metadata files that they point at. */
export interface Records {
  readonly catalog: TransactionalCatalog
  readonly files: MetadataFiles
}

/** Looks up a table or view. Refuses records of other formats, unless the name is only to be free. */
export async function lookUp(
  catalog: Invocable,
  kind: Kind,
  id: Identifier,
  { options, context }: Caller,
  isForNew = false,
) {
  const found = await lookUpHead(catalog, { id: [...id], context }, options)
  const { head } = found
  if (head === undefined || isForNew) return found
  const actual = kindOf(head.properties)
  if (actual === kind) return found
  throw actual === undefined ? otherFormat(kind, id, head.properties[formatProperty]) : missing(kind, id)
}

/** Finds a table or view. One in a missing namespace is missing itself. */
export async function findIn(
  catalog: Invocable,
  kind: Kind,
  id: Identifier,
  caller: Caller,
): Promise<TableHead> {
  try {
    const { head } = await lookUp(catalog, kind, id, caller)
    if (head !== undefined) return head
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'NamespaceNotFound')) throw error
  }
  throw missing(kind, id)
}

/** Runs calls on the catalog, whose errors it throws in terms of Iceberg. */
export async function inTermsOfIceberg<T>(about: About, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    throw ofCatalog(error, about) ?? error
  }
}

/** Loads a table or view. `catalog` is the catalog, or a transaction of it. */
export async function loadFrom<Metadata extends object>(
  catalog: Invocable,
  files: MetadataFiles,
  { format, id }: { readonly format: Format<Metadata>; readonly id: Identifier },
  caller: Caller,
): Promise<Loaded<Metadata>> {
  const { latest } = await findIn(catalog, format.kind, id, caller)
  if (latest === undefined) throw missing(format.kind, id)
  const file = fileOf(id, latest)
  return { id, url: file.url, metadata: await files.read(catalog, file, format.check, caller) }
}

/** The metadata file of a version. */
export function fileOf(id: Identifier, latest: NonNullable<TableHead['latest']>): MetadataFile {
  return { id, url: latest.manifestPath, size: latest.manifestSize }
}

/** Metadata files are new, and nobody asks how a commit of milliseconds gets on. */
const quick = { [recordedByCommit]: true } as const

/** Runs work as one transaction, or within the open one that the caller names. */
export function inTransaction<T>(
  catalog: TransactionalCatalog,
  caller: Caller,
  form: Form<T>,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const { options } = caller
  const run = (tx: Transaction) => once(tx, caller, form, () => work(tx))
  // Each operation names the transaction in its options.
  if (options.transaction !== undefined) return run(catalog as unknown as Transaction)
  const { signal } = options
  return inTermsOfIceberg({}, () => catalog.transaction(run, { ...(signal && { signal }), ...quick }))
}

/** How loaded tables and views are kept: by the places of their metadata. */
export function loadedForm<Metadata extends object>(
  { catalog, files }: Records,
  caller: Caller,
  formats: readonly Format<Metadata>[],
): Form<Loaded<Metadata>[]> {
  return {
    kept: (made) => ({ loaded: made.map(({ id, url }) => ({ id, url })) }),
    async again(kept) {
      const { loaded } = kept as {
        readonly loaded: readonly { readonly id: Identifier; readonly url: string }[]
      }
      const all: Loaded<Metadata>[] = []
      for (const [i, { id, url }] of loaded.entries()) {
        const metadata = await files.read(catalog, { id, url, mayBeGone: true }, formats[i]!.check, caller)
        all.push({ id, url, metadata })
      }
      return all
    },
  }
}

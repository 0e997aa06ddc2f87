import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import {
  lookUpHead,
  makeFolders,
  newTableLocation,
  type TableHead,
  tablesWith,
} from '../../catalog/formats/index.ts'
import type { Catalog, Invocable, Transact, Transaction } from '../../catalog/index.ts'
import { type Format, formatProperty, formats, type Kind, kindOf } from './formats.ts'
import type { Caller, MetadataFiles } from './metadata-files.ts'
import { type About, alreadyExists, cannotRename, missing, ofCatalog, otherFormat } from './names.ts'

/** A catalog with transactions over many operations. */
export type TransactionalCatalog = Catalog & { readonly transaction: Transact }

/** A table or view, with its metadata and where that lies. */
export interface Loaded<Metadata> {
  readonly id: Identifier
  readonly url: string
  readonly metadata: Metadata
}

/** A change of one table or view. */
export interface Change<Metadata> {
  readonly format: Format<Metadata>
  readonly id: Identifier
  /** Throws when the present metadata is not as the client thinks; undefined where there is none. */
  readonly require: (base: Metadata | undefined) => void
  /** The new metadata. The same object means that nothing changes. */
  readonly apply: (base: Metadata | undefined, at: Moment) => Metadata
  /** Whether there must be no table or view of that name. Default: false. */
  readonly creates?: boolean
}

/** What a change is made with. */
export interface Moment {
  readonly now: number
  readonly newUuid: () => string
  /** The metadata file of the base. */
  readonly previous: string | undefined
}

/** Tables and views of Iceberg, as records of a catalog whose versions point at metadata files. */
export class Entries {
  readonly #catalog: TransactionalCatalog
  readonly #files: MetadataFiles

  constructor(catalog: TransactionalCatalog, files: MetadataFiles) {
    this.#catalog = catalog
    this.#files = files
  }

  /** The names of all entries of a kind in a namespace, a page at a time. */
  list(
    {
      kind,
      namespace,
      page_token,
      limit,
    }: {
      readonly kind: Kind
      readonly namespace: Identifier
      readonly page_token?: string | undefined
      readonly limit?: number | undefined
    },
    { options, context }: Caller,
  ): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
    const asked = {
      id: [...namespace],
      name: formatProperty,
      value: formats[kind],
      page_token,
      limit,
      context,
    }
    return inTermsOfIceberg({ namespace }, () => tablesWith(this.#catalog, asked, options))
  }

  /** Fails unless there is such a table or view. */
  find(kind: Kind, id: Identifier, caller: Caller): Promise<TableHead> {
    return findIn(this.#catalog, kind, id, caller)
  }

  load<Metadata extends object>(
    format: Format<Metadata>,
    id: Identifier,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    return this.#load(this.#catalog, format, id, caller)
  }

  /** Fails when a name is taken. */
  async requireFree(kind: Kind, id: Identifier, caller: Caller): Promise<void> {
    const { head } = await inTermsOfIceberg({ kind, id }, () => lookUp(this.#catalog, kind, id, caller, true))
    if (head !== undefined) throw alreadyExists(kind, id, kindOf(head.properties))
  }

  /** A location for a new table or view that asks for none. */
  newLocation(id: Identifier, { options, context }: Caller): Promise<string> {
    return newTableLocation(this.#catalog, { id: [...id], context }, options)
  }

  /** Makes the folders of a new table. Some engines write only to folders that exist. */
  async makeFolders(id: Identifier, location: string, { options, context }: Caller): Promise<void> {
    await makeFolders(this.#catalog, { id: [...id], location, names: ['metadata', 'data'], context }, options)
  }

  /** Makes changes of several tables and views at once, or none of them. */
  commit<Metadata extends object>(
    changes: readonly Change<Metadata>[],
    caller: Caller,
  ): Promise<Loaded<Metadata>[]> {
    return this.#transaction(caller, async (tx) => {
      const done: Loaded<Metadata>[] = []
      for (const change of changes) {
        const { id, format } = change
        done.push(await inTermsOfIceberg({ kind: format.kind, id }, () => this.#change(tx, change, caller)))
      }
      return done
    })
  }

  /** Points a table at a metadata file that exists. With `overwrite`, another one of that name is replaced. */
  register<Metadata extends object>(
    {
      format,
      id,
      url,
      overwrite,
    }: {
      readonly format: Format<Metadata>
      readonly id: Identifier
      readonly url: string
      readonly overwrite: boolean
    },
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    const { kind } = format
    return this.#transaction(caller, (tx) =>
      inTermsOfIceberg({ kind, id }, async () => {
        const { head } = await lookUp(tx, kind, id, caller, true)
        if (head !== undefined && !(overwrite && kindOf(head.properties) === kind))
          throw alreadyExists(kind, id, kindOf(head.properties))
        const metadata = await this.#files.read(tx, { id, url }, format.check, caller)
        const next = head?.next ?? (await this.#record(tx, format, id, metadata, caller))
        await this.#version(tx, { format, id, version: next, url, metadata }, caller)
        return { id, url, metadata }
      }),
    )
  }

  /** Takes a table or view out of the catalog. With `purge`, its content is removed as well. */
  drop(
    { kind, id, purge }: { readonly kind: Kind; readonly id: Identifier; readonly purge: boolean },
    caller: Caller,
  ) {
    return this.#transaction(caller, async (tx) => {
      await findIn(tx, kind, id, caller)
      const asked = { id: [...id], context: caller.context }
      await (purge ? tx.dropTable(asked, caller.options) : tx.deregisterTable(asked, caller.options))
    })
  }

  /** Takes a table or view out of the catalog, and returns its last state. Its content stays. */
  unregister<Metadata extends object>(
    format: Format<Metadata>,
    id: Identifier,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    return this.#transaction(caller, async (tx) => {
      const loaded = await this.#load(tx, format, id, caller)
      await tx.deregisterTable({ id: [...id], context: caller.context }, caller.options)
      return loaded
    })
  }

  /** Renames a table or view, also into another namespace. */
  rename(
    { kind, from, to }: { readonly kind: Kind; readonly from: Identifier; readonly to: Identifier },
    caller: Caller,
  ): Promise<void> {
    const { options, context } = caller
    return this.#transaction(caller, async (tx) => {
      await findIn(tx, kind, from, caller)
      const namespace = to.slice(0, -1)
      const target = await inTermsOfIceberg({ kind, namespace }, () => lookUp(tx, kind, to, caller, true))
      if (target.head !== undefined) throw cannotRename(from, to, kindOf(target.head.properties))
      const asked = { id: [...from], new_table_name: to.at(-1)!, new_namespace_id: namespace, context }
      await inTermsOfIceberg({ kind, id: to }, () => tx.renameTable(asked, options))
    })
  }

  async #load<Metadata extends object>(
    catalog: Invocable,
    format: Format<Metadata>,
    id: Identifier,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    const { latest } = await findIn(catalog, format.kind, id, caller)
    if (latest === undefined) throw missing(format.kind, id)
    const url = latest.manifestPath
    return { id, url, metadata: await this.#files.read(catalog, { id, url }, format.check, caller) }
  }

  /** Runs work as one transaction, or within the open one that the caller names. */
  #transaction<T>({ options }: Caller, work: (tx: Transaction) => Promise<T>): Promise<T> {
    // Each operation names the transaction in its options.
    if (options.transaction !== undefined) return work(this.#catalog as unknown as Transaction)
    const { signal } = options
    return inTermsOfIceberg({}, () => this.#catalog.transaction(work, { ...(signal && { signal }) }))
  }

  async #change<Metadata extends object>(
    tx: Transaction,
    { format, id, require, apply, creates = false }: Change<Metadata>,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    const { kind } = format
    const { head, now, isRepeated } = await lookUp(tx, kind, id, caller, creates)
    if (isRepeated) return this.#load(tx, format, id, caller)
    const actual = head && kindOf(head.properties)
    // What has the name may be something else, whose content nobody can read here.
    if (creates && head !== undefined && actual !== kind) throw alreadyExists(kind, id, actual)
    const previous = head?.latest?.manifestPath
    const base =
      previous === undefined
        ? undefined
        : await this.#files.read(tx, { id, url: previous, mayBeGone: true }, format.check, caller)
    require(base)
    if (base !== undefined && creates) throw alreadyExists(kind, id)
    if (base === undefined && !creates) throw missing(kind, id)
    const metadata = apply(base, { now, newUuid: randomUUID, previous })
    if (metadata === base) return { id, url: previous!, metadata: base }
    const version = head?.next ?? (await this.#record(tx, format, id, metadata, caller))
    const folder = format.folderOf(metadata)
    const number = previous === undefined ? 0 : numberOf(previous) + 1
    const { url, size } = await this.#files.write(tx, { id, folder, number, metadata }, caller)
    await this.#version(tx, { format, id, version, url, size, metadata }, caller)
    return { id, url, metadata }
  }

  /** Records a new table, and returns the number of its next version: content may come back with its versions. */
  async #record<Metadata extends object>(
    tx: Transaction,
    { kind, locationOf }: Format<Metadata>,
    id: Identifier,
    metadata: Metadata,
    caller: Caller,
  ): Promise<number> {
    const { options, context } = caller
    const properties = { [formatProperty]: formats[kind] }
    await tx.registerTable({ id: [...id], location: locationOf(metadata), properties, context }, options)
    const { head } = await lookUp(tx, kind, id, caller)
    return head!.next
  }

  async #version<Metadata extends object>(
    tx: Transaction,
    {
      format,
      id,
      version,
      url,
      size,
      metadata,
    }: {
      readonly format: Format<Metadata>
      readonly id: Identifier
      readonly version: number
      readonly url: string
      readonly size?: number
      readonly metadata: Metadata
    },
    { options, context }: Caller,
  ): Promise<void> {
    const asked = {
      id: [...id],
      version,
      manifest_path: url,
      ...(size !== undefined && { manifest_size: size }),
      metadata: format.summaryOf(metadata),
      context,
    }
    await tx.createTableVersion(asked, options)
  }
}

/** The number that the name of a metadata file begins with; -1 without one. */
function numberOf(url: string): number {
  const name = url.slice(url.lastIndexOf('/') + 1)
  const digits = /^(\d{1,9})-/.exec(name)?.[1] ?? /^v(\d{1,9})\./.exec(name)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

/** Looks up a table or view. Refuses records of other formats, unless the name is only to be free. */
async function lookUp(
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
async function findIn(catalog: Invocable, kind: Kind, id: Identifier, caller: Caller): Promise<TableHead> {
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

import type { Identifier } from '../../base/model/identifier.ts'
import { keyedQueue } from '../../base/scheduling/keyed-queue.ts'
import {
  askAboutObject,
  makeFolders,
  newTableLocation,
  type TableHead,
  tablesWith,
} from '../../catalog/formats/index.ts'
import type { Transaction } from '../../catalog/index.ts'
import { commitFailed } from '../errors.ts'
import { type Change, commitChanges, formOf, move, recordNew, recordVersion, requireAll } from './commit.ts'
import { type Format, formatProperty, formats, type Kind, kindOf } from './formats.ts'
import {
  findIn,
  inTermsOfIceberg,
  inTransaction,
  type Loaded,
  loadedForm,
  loadFrom,
  lookUp,
  type Records,
} from './lookup.ts'
import type { Caller } from './metadata-files.ts'
import { alreadyExists, cannotRename, shownName } from './names.ts'
import { madeBefore, nothing } from './once.ts'

/** Tables and views of Iceberg, as records of a catalog whose versions point at metadata files. */
export class Entries {
  readonly #records: Records
  readonly #inTurn = keyedQueue()

  constructor(records: Records) {
    this.#records = records
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
    return inTermsOfIceberg({ namespace }, () => tablesWith(this.#records.catalog, asked, options))
  }

  /** Fails unless there is such a table or view. */
  find(kind: Kind, id: Identifier, caller: Caller): Promise<TableHead> {
    return findIn(this.#records.catalog, kind, id, caller)
  }

  load<Metadata extends object>(
    format: Format<Metadata>,
    id: Identifier,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    const { catalog, files } = this.#records
    return loadFrom(catalog, files, { format, id }, caller)
  }

  /** Fails when a name is taken. Returns the time, and a UUID for what gets the name. */
  async requireFree(
    kind: Kind,
    id: Identifier,
    caller: Caller,
  ): Promise<{ readonly now: number; readonly uuid: string }> {
    const { head, now, newUuid } = await inTermsOfIceberg({ kind, id }, () =>
      lookUp(this.#records.catalog, kind, id, caller, true),
    )
    if (head !== undefined) throw alreadyExists(kind, id, kindOf(head.properties))
    return { now, uuid: newUuid() }
  }

  /** A location for a new table or view that asks for none. */
  newLocation(id: Identifier, { options, context }: Caller): Promise<string> {
    return newTableLocation(this.#records.catalog, { id: [...id], context }, options)
  }

  /** Makes the folders of a new table. Some engines write only to folders that exist. */
  async makeFolders(id: Identifier, location: string, { options, context }: Caller): Promise<void> {
    await makeFolders(
      this.#records.catalog,
      { id: [...id], location, names: ['metadata', 'data'], context },
      options,
    )
  }

  /**
   * Makes changes of several tables and views at once, or none of them. Changes of one table wait for one another, so that
   * those whose requirements fail have written no metadata file.
   */
  commit<Metadata extends object>(
    changes: readonly Change<Metadata>[],
    caller: Caller,
  ): Promise<Loaded<Metadata>[]> {
    // An open transaction is another's to end: nobody can wait for it.
    if (caller.options.transaction !== undefined) return commitChanges(this.#records, changes, caller)
    const commit = async () => {
      const before = await madeBefore(this.#records.catalog, caller, formOf(this.#records, changes, caller))
      if (before) return before.made
      await requireAll(this.#records, changes, caller)
      return commitChanges(this.#records, changes, caller)
    }
    // All wait in one order, so that no two wait for each other.
    const names = [...new Set(changes.map(({ id }) => JSON.stringify(id)))].sort()
    return names.reduceRight((work, name) => () => this.#inTurn(name, work), commit)()
  }

  /**
   * Points a table at a metadata file that exists. With `overwrite`, another one of that name is replaced: any, or only one
   * at the metadata file `overwrite`.
   */
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
      readonly overwrite: boolean | string
    },
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    const { kind } = format
    return this.#onOne(format, caller, (tx) =>
      inTermsOfIceberg({ kind, id }, async () => {
        const { head } = await lookUp(tx, kind, id, caller, true)
        if (head !== undefined && !(overwrite && kindOf(head.properties) === kind))
          throw alreadyExists(kind, id, kindOf(head.properties))
        await askAboutObject(tx, { id: [...id], url, context: caller.context }, caller.options)
        if (typeof overwrite === 'string' && head?.latest?.manifestPath !== overwrite)
          throw commitFailed(`${shownName(id)} was changed meanwhile`)
        const metadata = await this.#records.files.read(tx, { id, url }, format.check, caller)
        const placed = { format, id, metadata }
        if (head !== undefined) await move(tx, placed, caller)
        const next = head?.next ?? (await recordNew(tx, placed, caller))
        await recordVersion(tx, { ...placed, url, next }, caller)
        return { id, url, metadata }
      }),
    )
  }

  /** Runs a change of one table or view as a transaction. */
  async #onOne<Metadata extends object>(
    format: Format<Metadata>,
    caller: Caller,
    work: (tx: Transaction) => Promise<Loaded<Metadata>>,
  ): Promise<Loaded<Metadata>> {
    const form = loadedForm(this.#records, caller, [format])
    const [made] = await inTransaction(this.#records.catalog, caller, form, async (tx) => [await work(tx)])
    return made!
  }

  /** Takes a table or view out of the catalog. With `purge`, its content is removed as well. */
  drop(
    { kind, id, purge }: { readonly kind: Kind; readonly id: Identifier; readonly purge: boolean },
    caller: Caller,
  ) {
    return inTransaction(this.#records.catalog, caller, nothing, async (tx) => {
      await findIn(tx, kind, id, caller)
      const asked = { id: [...id], context: caller.context }
      await (purge
        ? tx.dropTable({ ...asked, purge: true }, caller.options)
        : tx.deregisterTable(asked, caller.options))
    })
  }

  /** Takes a table or view out of the catalog, and returns its last state. Its content stays. */
  unregister<Metadata extends object>(
    format: Format<Metadata>,
    id: Identifier,
    caller: Caller,
  ): Promise<Loaded<Metadata>> {
    return this.#onOne(format, caller, async (tx) => {
      const loaded = await loadFrom(tx, this.#records.files, { format, id }, caller)
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
    return inTransaction(this.#records.catalog, caller, nothing, async (tx) => {
      await findIn(tx, kind, from, caller)
      const namespace = to.slice(0, -1)
      const target = await inTermsOfIceberg({ kind, namespace }, () => lookUp(tx, kind, to, caller, true))
      if (target.head !== undefined) throw cannotRename(from, to, kindOf(target.head.properties))
      const asked = { id: [...from], new_table_name: to.at(-1)!, new_namespace_id: namespace, context }
      await inTermsOfIceberg({ kind, id: to }, () => tx.renameTable(asked, options))
    })
  }
}

import type { Identifier } from '../../base/model/identifier.ts'
import { moveTable } from '../../catalog/formats/index.ts'
import type { Invocable, Transaction } from '../../catalog/index.ts'
import { illegalArgument } from '../errors.ts'
import { type Format, formatProperty, formats, kindOf } from './formats.ts'
import {
  fileOf,
  inTermsOfIceberg,
  inTransaction,
  type Loaded,
  loadedForm,
  lookUp,
  type Records,
} from './lookup.ts'
import type { Caller } from './metadata-files.ts'
import { alreadyExists, missing, shownName } from './names.ts'
import type { Form } from './once.ts'
import { WrittenFiles } from './written-files.ts'

/** A change of one table or view. */
export interface Change<Metadata> {
  readonly format: Format<Metadata>
  readonly id: Identifier
  /** Throws when the present metadata is not as the client thinks; undefined where there is none. */
  readonly require: (base: Metadata | undefined) => void
  /** The new metadata. The same object means that nothing changes. */
  readonly apply: (base: Metadata | undefined, at: Moment) => Metadata | Promise<Metadata>
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

/** Metadata of a table or view. */
interface Placed<Metadata> {
  readonly format: Format<Metadata>
  readonly id: Identifier
  readonly metadata: Metadata
}

/** What a change makes, before anything is written. */
interface Draft<Metadata> extends Placed<Metadata> {
  /** The present metadata file. */
  readonly url: string | undefined
  readonly isNew?: boolean
  readonly isMoved?: boolean
  readonly isChanged?: boolean
  /** The number of the next version. */
  next: number
}

/** Makes changes of several tables and views at once, or none of them. */
export function commitChanges<Metadata extends object>(
  records: Records,
  changes: readonly Change<Metadata>[],
  caller: Caller,
): Promise<Loaded<Metadata>[]> {
  requireDifferent(changes.map(({ id }) => id))
  const { catalog } = records
  const written = new WrittenFiles(catalog, caller)
  const work = (tx: Transaction) => makeChanges(tx, records, { changes, written }, caller)
  const form = formOf(records, changes, caller)
  // An open transaction of the caller has more in it, and ends later.
  if (caller.options.transaction !== undefined) return inTransaction(catalog, caller, form, work)
  return written.during(() => inTransaction(catalog, caller, form, (tx) => written.run(() => work(tx))))
}

async function makeChanges<Metadata extends object>(
  tx: Transaction,
  records: Records,
  { changes, written }: { readonly changes: readonly Change<Metadata>[]; readonly written: WrittenFiles },
  caller: Caller,
): Promise<Loaded<Metadata>[]> {
  const drafts: Draft<Metadata>[] = []
  for (const change of changes) drafts.push(await naming(change, () => draft(tx, records, change, caller)))
  const added: Identifier[] = []
  try {
    // Tables claim their locations before a file is written there.
    for (const made of drafts) {
      if (made.isNew) {
        made.next = await naming(made, () => recordNew(tx, made, caller))
        added.push(made.id)
      } else if (made.isMoved) await naming(made, () => move(tx, made, caller))
    }
    const done: Loaded<Metadata>[] = []
    for (const made of drafts) {
      done.push(await naming(made, () => write(tx, { ...records, written }, made, caller)))
    }
    return done
  } catch (error) {
    // An open transaction would keep what was recorded of a failed commit.
    const { options, context } = caller
    if (options.transaction !== undefined)
      for (const id of added) await tx.deregisterTable({ id: [...id], context }, options)
    throw error
  }
}

/** How what changes made is kept. */
export function formOf<Metadata extends object>(
  records: Records,
  changes: readonly Change<Metadata>[],
  caller: Caller,
): Form<Loaded<Metadata>[]> {
  return loadedForm(
    records,
    caller,
    changes.map(({ format }) => format),
  )
}

/** Fails where a change does not fit the present state. So a client that is late costs no transaction and its record. */
export async function requireAll<Metadata extends object>(
  records: Records,
  changes: readonly Change<Metadata>[],
  caller: Caller,
): Promise<void> {
  for (const change of changes) await naming(change, () => present(records.catalog, records, change, caller))
}

/** The present state of what is changed. Fails where the change does not fit it. */
async function present<Metadata extends object>(
  catalog: Invocable,
  { files }: Records,
  { format: { kind, check }, id, require, creates = false }: Change<Metadata>,
  caller: Caller,
) {
  const found = await lookUp(catalog, kind, id, caller, creates)
  const { head } = found
  const actual = head && kindOf(head.properties)
  // What has the name may be something else, whose content nobody can read here.
  if (creates && head !== undefined && actual !== kind) throw alreadyExists(kind, id, actual)
  const latest = head?.latest
  const base =
    latest && (await files.read(catalog, { ...fileOf(id, latest), mayBeGone: true }, check, caller))
  require(base)
  if (base !== undefined && creates) throw alreadyExists(kind, id)
  if (base === undefined && !creates) throw missing(kind, id)
  return { ...found, base }
}

/** What a change makes of the present metadata. Nothing is written. */
async function draft<Metadata extends object>(
  tx: Transaction,
  records: Records,
  change: Change<Metadata>,
  caller: Caller,
): Promise<Draft<Metadata>> {
  const { format, id, apply } = change
  const { head, now, newUuid, base } = await present(tx, records, change, caller)
  const next = head?.next ?? 1
  const url = head?.latest?.manifestPath
  const metadata = await apply(base, { now, newUuid, previous: url })
  return {
    ...{ format, id, next, url, metadata },
    isNew: head === undefined,
    isMoved: base !== undefined && format.locationOf(base) !== format.locationOf(metadata),
    isChanged: metadata !== base,
  }
}

/** Records a new table, and returns the number of its next version: content may come back with its versions. */
export async function recordNew<Metadata extends object>(
  tx: Transaction,
  { format: { kind, locationOf }, id, metadata }: Placed<Metadata>,
  caller: Caller,
): Promise<number> {
  const { options, context } = caller
  const properties = { [formatProperty]: formats[kind] }
  await tx.registerTable({ id: [...id], location: locationOf(metadata), properties, context }, options)
  const { head } = await lookUp(tx, kind, id, caller)
  return head!.next
}

/** Moves the record of a table to where its metadata says that it is. */
export async function move<Metadata extends object>(
  tx: Transaction,
  { format: { locationOf }, id, metadata }: Placed<Metadata>,
  { options, context }: Caller,
): Promise<void> {
  await moveTable(tx, { id: [...id], location: locationOf(metadata), context }, options)
}

/** Writes the metadata file of a change, and records a version that points at it. */
async function write<Metadata extends object>(
  tx: Transaction,
  { files, written }: Records & { readonly written: WrittenFiles },
  { format, id, next, url: previous, metadata, isChanged }: Draft<Metadata>,
  caller: Caller,
): Promise<Loaded<Metadata>> {
  if (!isChanged) return { id, url: previous!, metadata }
  const folder = format.folderOf(metadata)
  const number = previous === undefined ? 0 : numberOf(previous) + 1
  const { url, size } = await files.write(tx, { id, folder, number, metadata }, caller)
  written.note({ id, url })
  await recordVersion(tx, { format, id, next, url, size, metadata }, caller)
  return { id, url, metadata }
}

/** Records a version that points at a metadata file. */
export async function recordVersion<Metadata extends object>(
  tx: Transaction,
  {
    format,
    id,
    next,
    url,
    size,
    metadata,
  }: Placed<Metadata> & { readonly url: string; readonly next: number; readonly size?: number },
  { options, context }: Caller,
): Promise<void> {
  const asked = {
    id: [...id],
    version: next,
    manifest_path: url,
    ...(size !== undefined && { manifest_size: size }),
    metadata: format.summaryOf(metadata),
    context,
  }
  await tx.createTableVersion(asked, options)
}

function naming<T, Metadata>(
  { format, id }: Pick<Placed<Metadata>, 'format' | 'id'>,
  work: () => Promise<T>,
): Promise<T> {
  return inTermsOfIceberg({ kind: format.kind, id }, work)
}

/** Refuses several changes of one table, which would race with each other. */
function requireDifferent(ids: readonly Identifier[]): void {
  const seen = new Set<string>()
  for (const id of ids) {
    const key = JSON.stringify(id)
    if (seen.has(key))
      throw illegalArgument(`Invalid table changes: ${shownName(id)} is named twice. Join its changes.`)
    seen.add(key)
  }
}

/** The number that the name of a metadata file begins with; -1 without one. */
function numberOf(url: string): number {
  const name = url.slice(url.lastIndexOf('/') + 1)
  const digits = /^(\d{1,9})-/.exec(name)?.[1] ?? /^v(\d{1,9})\./.exec(name)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

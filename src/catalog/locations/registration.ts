import type { Content } from '../../base/content/content.ts'
import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import {
  type BranchRecord,
  keys,
  recordFormat,
  type TagRecord,
  type VersionRecord,
} from '../../base/store/records.ts'
import type { Key, Reader, Writer } from '../../base/store/store.ts'
import { type FoundTable, identifierOf, isNameOnly } from '../lookup/names.ts'
import { type ChangeContext, commit, type Unchanged } from '../transactions/commit.ts'
import { vacuumsBegun } from '../transactions/work-record.ts'
import type { LocationContext } from './context.ts'
import { removeTableRecords } from './drop.ts'
import { InlineContent, removeInline } from './inline-objects.ts'
import {
  type ContentFolder,
  contentFolderOf,
  locationOf,
  offsiteFolderOf,
  rootBySegments,
  segmentsOf,
} from './locations.ts'
import {
  openRegistration,
  parseRegistration,
  type Registration,
  sealRegistration,
} from './registration-file.ts'
import { folderIn, isShared, mayName } from './shared-content.ts'
import { putWaiting } from './waiting.ts'

/*
 * A table's content outlives its name. Deregistering a table writes its versions, tags, branches and properties
 * beside its content, as one immutable object: the registration. Registering the location, in this catalog or
 * another, reads the registration back.
 */

/** The folder of registrations, within a table's location. */
export const registrationFolder = '_registration/'

/** Deregisters a table within a change. Returns its registration, or undefined when the table needs none. */
export type Deregister = (table: FoundTable) => Registration | undefined

interface NeededRegistration {
  readonly table: FoundTable
  readonly written: string
  /** How many vacuums had begun. */
  readonly vacuums: number
}

/** Thrown inside a change to roll it back: these registrations must be written before the change can commit. */
class RegistrationNeeded {
  readonly tables: readonly NeededRegistration[]
  constructor(tables: RegistrationNeeded['tables']) {
    this.tables = tables
  }
}

const attempts = 100

/** Registrations that one change writes at once. */
const writtenAtOnce = 32

/**
 * Commits a change that may deregister tables. The registration of each table is written before the commit. When a
 * table changed meanwhile, its registration is written again.
 */
export async function commitDeregistering<T extends object>(
  core: LocationContext,
  operation: string,
  subject: Identifier,
  body: (change: ChangeContext, deregister: Deregister) => T | Unchanged<T>,
): Promise<T & { transaction_id?: string }> {
  const identity = { transactionId: core.newId(), now: core.now() }
  const done = new Map<string, { written: string; path: string; vacuums: number }>()
  // A table that changes meanwhile has its new objects copied only.
  const copied = new Set<string>()
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await commit(
        core,
        operation,
        subject,
        (change) => {
          const open: NeededRegistration[] = []
          const result = body(change, (table) => {
            const known = registrationOf(core, change.writer, table)
            const written = JSON.stringify(known)
            const location = locationOf(core.contentRoots, table.id, table.record)
            const id = identifierOf(change.writer, table.record)
            const markWaiting = (path: string) => putWaiting(core, change.writer, location, path, id)
            removeTableRecords(core, change.writer, table, known && keysIn(table.id, known))
            if (known === undefined) {
              // Others may have written content there without notice to the catalog.
              markWaiting(folderOfRegistrations(core, location).prefix)
              return undefined
            }
            // Read where it counts only: else a vacuum would be a conflict for transactions that deregister nothing.
            const vacuums = vacuumsBegun(change.writer)
            const before = done.get(table.id)
            // A vacuum may have removed the registration: it cannot know that this commit will refer to it.
            if (before?.written === written && before.vacuums === vacuums) {
              markWaiting(before.path)
              const inline = inlineFolderOf(core, location)
              if (inline) removeInline(change.writer, inline.prefix)
            } else {
              // The rest of the body must run, and fail, as if the registration existed.
              markWaiting(folderOfRegistrations(core, location).prefix)
              open.push({ table, written, vacuums })
            }
            return known
          })
          if (open.length > 0) throw new RegistrationNeeded(open)
          return result
        },
        identity,
      )
    } catch (error) {
      if (!(error instanceof RegistrationNeeded)) throw error
      const write = async ({ table, written, vacuums }: NeededRegistration) => {
        const location = locationOf(core.contentRoots, table.id, table.record)
        const { content, prefix } = folderOfRegistrations(core, location)
        const path = `${prefix}${core.newId()}${writtenBy(core)}`
        // Another catalog may register the location, and it does not have the records of this one.
        const inline = inlineFolderOf(core, location)
        await inline?.content.copyToFiles(inline.prefix, copied)
        await content.put(path, sealRegistration(written))
        done.set(table.id, { written, path, vacuums })
      }
      // Each waits for the disk or the network.
      for await (const _ of prefetch(error.tables, write, { depth: writtenAtOnce }));
    }
  }
  throw new CatalogError(
    'ConcurrentModification',
    `A table to be deregistered changed during each of ${attempts} attempts. Try again when fewer writes are going on.`,
  )
}

/** The newest registration of a location. */
export interface FoundRegistration {
  readonly known: Registration | undefined
  /** Refuses content that shares files in a way which this catalog does not know of. */
  requireKnownShares(reader: Reader): void
  /** Whether it is still the newest registration that this catalog wrote. */
  isCurrent(reader: Reader): boolean
}

/** Reads the newest registration of a location, whichever catalog wrote it. */
export async function readRegistration(core: LocationContext, location: string): Promise<FoundRegistration> {
  const key = keys.registration(segmentsOf(location))
  const own = await core.store.read((reader) => reader.get<string>(key))
  const { content, prefix } = folderOfRegistrations(core, location)
  const path = await newestIn(content, prefix, own, writtenBy(core))
  const bytes = path === undefined ? undefined : await content.get(path)
  const known = bytes && parseRegistration(bytes, `${path} of ${location}`)
  return {
    known,
    requireKnownShares: (reader) => {
      if (known && sharesUnknown(core, reader, location, known, path === own)) throw unknownShares(location)
    },
    isCurrent: (reader) => reader.get<string>(key) === own,
  }
}

/**
 * Whether a registration lists shared files that are unknown to this catalog: files of other tables that its versions
 * name, or files of its own that clones in another catalog name.
 */
function sharesUnknown(
  core: LocationContext,
  reader: Reader,
  location: string,
  { shared, versions }: Registration,
  isOwn: boolean,
): boolean {
  if (shared && !isOwn && !isShared(core.contentRoots, reader, location)) return true
  const bases = new Set(versions.flatMap(([, , record]) => record.bases ?? []))
  const folder = bases.size > 0 ? contentFolderOf(core.contentRoots, location) : undefined
  return (
    bases.size > 0 &&
    (folder === undefined ||
      ![...bases].every((base) => mayName(core, reader, folder, folderIn(folder, base))))
  )
}

function unknownShares(location: string): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The content at ${location} shares files with tables of another catalog, which keeps them for each other. Register it there. To have it here, make a clone of its own there with is_shallow false, and deregister that one.`,
  )
}

/** The end of the names of registrations that this catalog writes. */
function writtenBy(core: LocationContext): string {
  return `-${core.catalog.id}.json`
}

/**
 * The path of the newest registration, whichever catalog wrote it. Of the registrations that this catalog wrote,
 * only the one in its store counts: others belong to changes that failed, or to a table that was dropped since.
 */
async function newestIn(content: Content, prefix: string, own: string | undefined, suffix: string) {
  let newest = own !== undefined && isFolderOnly(own) ? undefined : own
  // Registrations are files, so there is nothing to find among the records.
  const files = content instanceof InlineContent ? content.below : content
  for await (const { path } of files.list(prefix)) {
    if (!path.endsWith('.json') || path.endsWith(suffix)) continue
    if (newest === undefined || path > newest) newest = path
  }
  return newest
}

/** Whether the store remembers only that content waits: the table had no versions, tags, branches or properties. */
function isFolderOnly(path: string): boolean {
  return path.endsWith('/')
}

/** The folders, below the own root, of tables that this catalog deregistered. */
export async function deregisteredFolders(core: LocationContext): Promise<Set<string>> {
  const own = segmentsOf(core.contentRoots[0]!.url)
  const paths = await core.store.read((reader) =>
    Array.from(reader.range<string>({ prefix: [...keys.registrations, ...own] }), ({ value }) => value),
  )
  const inside = paths.filter((path) => path.includes(registrationFolder))
  return new Set(inside.map((path) => path.slice(0, path.lastIndexOf(registrationFolder))))
}

export function putRegistration(writer: Writer, internalId: string, known: Registration): void {
  for (const [branch, version, record] of known.versions) {
    writer.put(keys.version(internalId, branch, version), withoutUndefined(record))
  }
  for (const [tag, record] of known.tags) writer.put(keys.tag(internalId, tag), record)
  for (const [branch, record] of known.branches) writer.put(keys.branch(internalId, branch), record)
}

/** The keys of the records that a registration was made of. */
function keysIn(id: string, { versions, tags, branches }: Registration): Key[] {
  return [
    ...versions.map(([branch, version]) => keys.version(id, branch, version)),
    ...tags.map(([tag]) => keys.tag(id, tag)),
    ...branches.map(([branch]) => keys.branch(id, branch)),
  ]
}

/** The registration of a table; undefined when the table has nothing to keep. */
function registrationOf(
  core: LocationContext,
  reader: Reader,
  { id, record }: FoundTable,
): Registration | undefined {
  if (isNameOnly(record) && Object.keys(record.properties).length === 0) return undefined
  const versions = Array.from(
    reader.range<VersionRecord>({ prefix: keys.allVersions(id) }),
    ({ key, value }) => [String(key[2]), Number(key[3]), value],
  )
  const tags = Array.from(reader.range<TagRecord>({ prefix: keys.tags(id) }), ({ key, value }) => [
    key[2],
    value,
  ])
  const branches = Array.from(reader.range<BranchRecord>({ prefix: keys.branches(id) }), ({ key, value }) => [
    key[2],
    value,
  ])
  return {
    format: recordFormat,
    ...(isShared(core.contentRoots, reader, locationOf(core.contentRoots, id, record)) && { shared: true }),
    properties: record.properties,
    main: record.main,
    versions,
    tags,
    branches,
  } as Registration
}

/**
 * What is wrong with the registration in the store for a location, as the end of a sentence. Undefined when it is
 * sound.
 */
export async function registrationFault(
  core: LocationContext,
  segments: readonly string[],
  path: string,
): Promise<string | undefined> {
  if (isFolderOnly(path)) return undefined
  const bytes = await rootBySegments(core.contentRoots, segments).content.get(path)
  if (bytes === undefined) return 'is missing'
  const found = openRegistration(bytes)
  return 'fault' in found ? found.fault : undefined
}

/** The folder of a location's registrations: within the location, or in the own root when it is out of reach. */
function folderOfRegistrations(core: LocationContext, location: string): ContentFolder {
  const folder = contentFolderOf(core.contentRoots, location)
  if (folder === undefined) return offsiteFolderOf(core.contentRoots, location)
  return { content: folder.content, prefix: `${folder.prefix}${registrationFolder}` }
}

/** The folder of a location, if objects there may be inline. */
function inlineFolderOf(
  core: LocationContext,
  location: string,
): { readonly content: InlineContent; readonly prefix: string } | undefined {
  const folder = contentFolderOf(core.contentRoots, location)
  return folder?.content instanceof InlineContent
    ? { content: folder.content, prefix: folder.prefix }
    : undefined
}

function withoutUndefined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T
}

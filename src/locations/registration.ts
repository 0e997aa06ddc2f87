import type { Core } from '../catalog/core.ts'
import type { Content } from '../content/content.ts'
import { CatalogError } from '../errors.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { Identifier } from '../model/identifier.ts'
import {
  type BranchRecord,
  keys,
  recordFormat,
  type TagRecord,
  type VersionRecord,
} from '../store/records.ts'
import type { Reader, Writer } from '../store/store.ts'
import { type Change, commit, type Unchanged } from '../transactions/commit.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'
import { takeOutTable } from './drop.ts'
import { awayPlaceOf, locationOf, type Place, placeOf, rootBySegments, segmentsOf } from './locations.ts'
import {
  openRegistration,
  parseRegistration,
  type Registration,
  sealRegistration,
} from './registration-file.ts'

/*
 * A table's content outlives its name. When a table is deregistered, what the catalog knew of it (versions,
 * tags, branches, properties) is written beside its content as one immutable object; registering the
 * location, in this catalog or another, reads it back.
 */

/** Where, beside a table's content, what was known of it is written. */
export const registrationFolder = '_registration/'

/** Takes a table out of the catalog within a change, its content and what is known of it kept. */
export type Deregister = (table: FoundTable) => Registration | undefined

/** Thrown inside a change to learn, with nothing changed, what has to be written down before it. */
class Unwritten {
  readonly tables: readonly { readonly table: FoundTable; readonly written: string }[]
  constructor(tables: Unwritten['tables']) {
    this.tables = tables
  }
}

const attempts = 100

/**
 * Commits a change that may deregister tables. What is known of each is written beside its content before
 * the commit; should it have changed meanwhile, that is done again.
 */
export async function commitDeregistering<T extends object>(
  core: Core,
  operation: string,
  subject: Identifier,
  body: (change: Change, deregister: Deregister) => T | Unchanged<T>,
): Promise<T & { transaction_id?: string }> {
  const identity = { transactionId: core.newId(), now: core.now() }
  const done = new Map<string, { written: string; path: string; at: number }>()
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await commit(
        core,
        operation,
        subject,
        (change) => {
          const open: { table: FoundTable; written: string }[] = []
          const result = body(change, (table) => {
            const known = registrationOf(change.writer, table)
            const written = JSON.stringify(known)
            takeOutTable(core, change.writer, table.id, table.record)
            if (known === undefined) return undefined
            const before = done.get(table.id)
            // What was written too long ago may be gone: a vacuum cannot know that it is about to be named.
            if (before?.written === written && core.now() - before.at < leaseMillis / 2) {
              const location = locationOf(core.places, table.id, table.record)
              change.writer.put(keys.registration(segmentsOf(location)), before.path)
            } else {
              open.push({ table, written })
            }
            return known
          })
          if (open.length > 0) throw new Unwritten(open)
          return result
        },
        identity,
      )
    } catch (error) {
      if (!(error instanceof Unwritten)) throw error
      for (const { table, written } of error.tables) {
        const { content, prefix } = registrationPlace(core, locationOf(core.places, table.id, table.record))
        const path = `${prefix}${core.newId()}${writtenBy(core)}`
        const at = core.now()
        await content.put(path, sealRegistration(written))
        done.set(table.id, { written, path, at })
      }
    }
  }
  throw new CatalogError(
    'ConcurrentModification',
    `What is to be deregistered kept changing through ${attempts} attempts. Try again when less is being written to it.`,
  )
}

/** What was known of the table at a location when it was last deregistered. */
export interface FoundRegistration {
  readonly known: Registration | undefined
  /** Whether that is still the last that was written down. */
  isCurrent(reader: Reader): boolean
}

/** Reads what was known of the table at a location when it was last deregistered, here or elsewhere. */
export async function readRegistration(core: Core, location: string): Promise<FoundRegistration> {
  const key = keys.registration(segmentsOf(location))
  const own = await core.store.read((reader) => reader.get<string>(key))
  const { content, prefix } = registrationPlace(core, location)
  const path = await newestIn(content, prefix, own, writtenBy(core))
  const bytes = path === undefined ? undefined : await content.get(path)
  return {
    known: bytes && parseRegistration(bytes, `${path} of ${location}`),
    isCurrent: (reader) => reader.get<string>(key) === own,
  }
}

/** How the names of registrations end that this catalog writes. */
function writtenBy(core: Core): string {
  return `-${core.catalog.id}.json`
}

/**
 * The path of the last registration, whichever catalog wrote it. Of this catalog's only the one that its store
 * names counts: others belong to changes that came to nothing, or to a table that was dropped since.
 */
async function newestIn(content: Content, prefix: string, own: string | undefined, suffix: string) {
  let newest = own
  for await (const { path } of content.list(prefix)) {
    if (!path.endsWith('.json') || path.endsWith(suffix)) continue
    if (newest === undefined || path > newest) newest = path
  }
  return newest
}

/** Puts back what was known of a table. */
export function putRegistration(writer: Writer, internalId: string, known: Registration): void {
  for (const [branch, version, record] of known.versions) {
    writer.put(keys.version(internalId, branch, version), withoutUndefined(record))
  }
  for (const [tag, record] of known.tags) writer.put(keys.tag(internalId, tag), record)
  for (const [branch, record] of known.branches) writer.put(keys.branch(internalId, branch), record)
}

/** What the catalog knows of a table, or undefined when there is nothing to tell. */
function registrationOf(reader: Reader, { id, record }: FoundTable): Registration | undefined {
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
  // Of a table that never was more than a name, in a place of its own, there is nothing to tell.
  const nameOnly = record.location === null && record.main.last === null
  if (nameOnly && Object.keys(record.properties).length === 0) return undefined
  return {
    format: recordFormat,
    properties: record.properties,
    main: record.main,
    versions,
    tags,
    branches,
  } as Registration
}

/**
 * What is wrong with the registration that the store names for a location, as the end of a sentence. Undefined
 * when nothing is.
 */
export async function registrationFault(
  core: Core,
  segments: readonly string[],
  path: string,
): Promise<string | undefined> {
  const bytes = await rootBySegments(core.places, segments).content.get(path)
  if (bytes === undefined) return 'is missing'
  const found = openRegistration(bytes)
  return 'fault' in found ? found.fault : undefined
}

/** Beside the content or, when that is out of reach, in the catalog's own root under the location's name. */
function registrationPlace(core: Core, location: string): Place {
  const place = placeOf(core.places, location)
  if (place === undefined) return awayPlaceOf(core.places, location)
  return { content: place.content, prefix: `${place.prefix}${registrationFolder}` }
}

function withoutUndefined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T
}

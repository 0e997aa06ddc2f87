import { CatalogError, invalid } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { keys, type RemovalRecord } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import type { Access, Question } from '../lookup/access.ts'
import { type FoundTable, identifierOf, keptTableById, tableById, tableRecord } from '../lookup/names.ts'
import { LocationBusy } from '../transactions/retry.ts'
import type { LocationContext } from './context.ts'
import { type ContentRoot, locationOf, normalLocation, segmentsOf, tablesFolder } from './locations.ts'
import { formerIdentifier } from './waiting.ts'

/** The operations whose requests name the location of a new table. */
type Claiming = 'declareTable' | 'registerTable'

/**
 * Makes a table the owner of its location. Refuses a location that is, contains or lies within the location of
 * another table, or content that waits to be registered: dropping one table must never remove the content of another.
 * A registration takes what waits at its location. Where a request names the location, `by` is its operation: hooks are
 * asked about the tables that the location leads to.
 */
export function claimLocation(
  core: LocationContext,
  writer: Writer,
  location: string,
  internalId: string,
  by?: Claiming,
): void {
  requireUnclaimed(core, writer, location, by)
  writer.put(keys.location(segmentsOf(location)), internalId)
}

/** Fails as `claimLocation` does, and claims nothing. */
export function requireUnclaimed(
  core: LocationContext,
  reader: Reader,
  location: string,
  by?: Claiming,
): void {
  const roots = core.contentRoots
  if (by !== undefined) core.access?.require(questionsAbout(roots, reader, location, by))
  const owner = ownerOf(roots, reader, location)
  if (owner !== undefined) throw taken(core, reader, location, owner, by)
  const segments = segmentsOf(location)
  const waiting = waitingAround(reader, segments)
  const own = by === 'registerTable' ? segments.length : undefined
  if (waiting.some((path) => path.length !== own)) {
    throw new CatalogError(
      'TableAlreadyExists',
      `The location ${location} holds or overlaps the content of a deregistered table, which waits to be registered. Register that content, or give a location of its own.`,
    )
  }
}

/** Asks hooks about the tables that locations lead to, so that the claims themselves know the answers. */
export async function decideAboutLocations(
  { access, contentRoots, store }: LocationContext,
  operation: Claiming,
  locations: readonly string[],
): Promise<readonly Question[]> {
  if (access === undefined || locations.length === 0) return []
  const questions = await store.read((reader) =>
    locations.flatMap((location) => questionsAbout(contentRoots, reader, location, operation)),
  )
  await access.decide(questions)
  return questions
}

/** Fails where a hook refuses one of the tables that a location leads to, before anything is done. */
export async function askAboutLocation(
  core: LocationContext,
  operation: Claiming,
  location: string,
): Promise<void> {
  const questions = await decideAboutLocations(core, operation, [location])
  core.access?.require(questions)
}

/** The questions to hooks about a location: the table that lies there, and those whose content waits there. */
function questionsAbout(
  roots: readonly ContentRoot[],
  reader: Reader,
  location: string,
  operation: Claiming,
): Question[] {
  const owner = markAround(roots, reader, location)
  const former = waitingAround(reader, segmentsOf(location)).map((path) =>
    formerIdentifier(roots, reader, path),
  )
  const owning = typeof owner === 'string' ? identifierOf(reader, tableRecord(reader, owner)) : undefined
  return [owning, ...former]
    .filter((id) => id !== undefined)
    .map((id) => ({ operation, id, changes: true, location }))
}

/** The error for a location that is taken. It names the owner to those who may know of it. */
function taken(
  { contentRoots, access }: LocationContext,
  reader: Reader,
  location: string,
  owner: string,
  by: Claiming | undefined,
): CatalogError {
  const record = tableRecord(reader, owner)
  const id = identifierOf(reader, record)
  const way = record.dropped
    ? `Give a location of its own, or remove that dropped table for good with purgeTable.`
    : 'Give a location of its own, or deregister that table first.'
  const isShown = access === undefined || (by !== undefined && mayRead(access, id))
  return new CatalogError(
    'TableAlreadyExists',
    isShown
      ? `The location ${location} belongs to ${record.dropped ? 'the dropped table' : 'table'} ${formatIdentifier(id)}, or overlaps its location (${locationOf(contentRoots, owner, record)}). ${way}`
      : `The location ${location} is that of another table, or overlaps it. Give a location of its own.`,
  )
}

function mayRead(access: Access, id: Identifier): boolean {
  return access.mayRead([{ kind: 'table', id }])[0] === true
}

/** The locations of content that waits to be registered: at or above a location, and the first one below it. */
function waitingAround(reader: Reader, segments: readonly string[]): (readonly string[])[] {
  const paths: (readonly string[])[] = []
  for (let depth = 1; depth <= segments.length; depth++) {
    const path = segments.slice(0, depth)
    if (reader.get(keys.registration(path)) !== undefined) paths.push(path)
  }
  // The location itself may come first, and was found already.
  for (const { key } of reader.range({ prefix: keys.registration(segments), limit: 2, keysOnly: true }))
    if (key.length - 1 > segments.length) paths.push(key.slice(1).map(String))
  return paths
}

function ownerOf(roots: readonly ContentRoot[], reader: Reader, location: string): string | undefined {
  const mark = markAround(roots, reader, location)
  if (typeof mark === 'object') throw new LocationBusy(mark, location)
  return mark
}

/**
 * Refuses a file for a version that lies at the location of another table: the caller may not know that table, and
 * dropping it would remove the file. `url` is the URL of the file.
 */
export function requireOwnFile(core: LocationContext, reader: Reader, table: FoundTable, url: string): void {
  const { contentRoots } = core
  if (url.startsWith(`${locationOf(contentRoots, table.id, table.record)}/`)) return
  const location = normalLocation(url)!
  const owner = markAbove(reader, location) ?? ownerOfChosen(contentRoots, reader, location)
  if (owner === undefined || owner === table.id) return
  throw invalid(
    `The file ${quote(url)} lies at the location of another table. Give a file at the table's own location, or outside of all tables.`,
  )
}

/** The table that owns a location, or one above or below it; or the removal of one that did. */
function markAround(
  roots: readonly ContentRoot[],
  reader: Reader,
  location: string,
): string | RemovalRecord | undefined {
  const above = markAbove(reader, location)
  if (above !== undefined) return above
  const segments = segmentsOf(location)
  const below = reader.range<string | RemovalRecord>({ prefix: keys.location(segments), limit: 1 })
  for (const { value } of below) return value
  return ownerOfChosen(roots, reader, location)
}

/** The table that owns a location, or one above it; or the removal of one that did. */
function markAbove(reader: Reader, location: string): string | RemovalRecord | undefined {
  const segments = segmentsOf(location)
  for (let depth = 1; depth <= segments.length; depth++) {
    const owner = reader.get<string | RemovalRecord>(keys.location(segments.slice(0, depth)))
    if (owner !== undefined) return owner
  }
  return undefined
}

/** The table at a location, or above it. Undefined where there is none, also if it was dropped. */
export function tableAbove(
  roots: readonly ContentRoot[],
  reader: Reader,
  location: string,
): FoundTable | undefined {
  const mark = markAbove(reader, location) ?? ownerOfChosen(roots, reader, location)
  return typeof mark === 'string' ? tableById(reader, mark) : undefined
}

/** The owner of a location that the catalog chose. The path contains the internal id, so no record is needed. */
function ownerOfChosen(roots: readonly ContentRoot[], reader: Reader, location: string): string | undefined {
  const folder = `${roots[0]!.url}${tablesFolder}/`
  if (!location.startsWith(folder)) return undefined
  const internalId = location.slice(folder.length).split('/')[0]!
  return keptTableById(reader, internalId)?.record.location === null ? internalId : undefined
}

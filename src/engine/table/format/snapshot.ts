import { leadsOut } from '../../../base/model/relative-path.ts'
import { uncached } from '../storage/coalesced-read.ts'
import { brokenObject, isEngineObject, type ReadStorage, readChecked } from '../storage/objects.ts'
import type { Snapshot } from '../table-engine.ts'
import type { ManifestRef } from './manifest.ts'
import {
  type FragmentEntry,
  type Kind,
  type ManifestBody,
  pathsOf,
  type SegmentEntry,
  unseal,
  withIds,
  withRowIds,
} from './manifest.ts'
import { decodeTableSchema, type TableSchema } from './table-schema.ts'

/** A snapshot with the content of its manifest. The engine returns only such snapshots. */
export interface LoadedSnapshot extends Snapshot {
  readonly schema: TableSchema
  readonly body: ManifestBody
}

/** The engine's form of a location. */
export function normalPrefix(prefix: string): string {
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
}

/** The snapshot of a manifest. Reuses the schema of `earlier` if it is equal. */
export function snapshotOf(
  prefix: string,
  manifest: ManifestRef,
  given: ManifestBody,
  earlier?: LoadedSnapshot,
): LoadedSnapshot {
  const body = withRowIds(given)
  const metadata = new Map(body.metadata)
  const isKnown = earlier?.body.schema === body.schema && earlier.body.columns === body.columns
  const bare = isKnown ? earlier.schema : decodeTableSchema(body.schema, body.columns)
  const schema: TableSchema = { ...bare, metadata: metadata.size > 0 ? metadata : null }
  const { rows, deletedRows, fragments, bytes } = body
  return { prefix, manifest, schema, metadata, rows, deletedRows, fragments, bytes, body }
}

export function openSnapshot(
  storage: ReadStorage,
  prefix: string,
  ref: ManifestRef,
): Promise<LoadedSnapshot> {
  const path = prefix + ref.path
  return storage.cache.get(
    `${path}@${ref.etag}`,
    // Parsed JSON takes several times the memory of its text.
    () => ref.size * 4,
    async () => {
      const body = await readSealed<ManifestBody>(storage, 'manifest', path, ref)
      requireBases(path, body.bases, ref.bases)
      requireWithin(path, body.tail, body.bases)
      return snapshotOf(prefix, ref, body)
    },
  )
}

/** The key of a segment in the cache. Older versions may have it at different positions. */
function keyOfSegment(prefix: string, { path, firstId }: SegmentEntry): string {
  return firstId === undefined ? prefix + path : `${prefix}${path}#${firstId}`
}

/** The fragments of a segment. */
export function openSegment(
  storage: ReadStorage,
  prefix: string,
  segment: SegmentEntry,
  bases: ManifestBody['bases'],
): Promise<readonly FragmentEntry[]> {
  const path = prefix + segment.path
  const { firstId } = segment
  return storage.cache.get(
    keyOfSegment(prefix, segment),
    () => segment.size * 4,
    async () => {
      const entries = await readSealed<FragmentEntry[]>(storage, 'segment', path, segment)
      requireWithin(path, entries, bases)
      return withIds(entries, firstId ?? 0)
    },
  )
}

function readSealed<T>(
  { content }: ReadStorage,
  kind: Kind,
  path: string,
  ref: { readonly size: number; readonly etag: string },
): Promise<T> {
  return readChecked(async (again) => {
    const bytes = await (again ? uncached(content) : content).get(path)
    if (bytes === undefined) throw brokenObject(path, 'is missing')
    return unseal<T>(kind, path, bytes, ref)
  })
}

/** Refuses a manifest with folders that its version may not use: the engine did not write it for that version. */
function requireBases(
  path: string,
  named: ManifestBody['bases'] = [],
  allowed: ManifestBody['bases'] = [],
): void {
  const foreign = named.find((base) => !allowed.includes(base))
  if (foreign !== undefined)
    throw brokenObject(path, `names files in ${JSON.stringify(foreign)}, which its version may not name`)
}

/** Refuses entries with files outside of the table's location and of all `bases`. */
function requireWithin(
  path: string,
  entries: readonly FragmentEntry[],
  bases: ManifestBody['bases'] = [],
): void {
  const isWithin = (file: string) =>
    bases.some((base) => file.startsWith(base) && isEngineObject(file.slice(base.length)))
  for (const entry of entries) {
    const foreign = pathsOf(entry).find((file) => leadsOut(file) && !isWithin(file))
    if (foreign !== undefined)
      throw brokenObject(path, `names the file ${JSON.stringify(foreign)}, which is not its own`)
  }
}

/** The groups of fragments, in row order. The tail is a group without a segment. */
export async function* groupsOf(
  storage: ReadStorage,
  { prefix, body }: LoadedSnapshot,
): AsyncGenerator<{
  readonly segment: SegmentEntry | undefined
  readonly entries: readonly FragmentEntry[]
}> {
  for (const segment of body.segments)
    yield { segment, entries: await openSegment(storage, prefix, segment, body.bases) }
  yield { segment: undefined, entries: body.tail }
}

/** The fragments, in row order. */
export function fragmentsOf(storage: ReadStorage, snapshot: LoadedSnapshot): Fragments {
  // Those of a small table lie in the manifest, and need no generator.
  return snapshot.body.segments.length === 0 ? snapshot.body.tail : fragmentsOfGroups(storage, snapshot)
}

/** The fragments, in row order, if their segments are in the cache. */
export function loadedFragments(
  { cache }: ReadStorage,
  { prefix, body: { segments, tail } }: LoadedSnapshot,
): readonly FragmentEntry[] | undefined {
  if (segments.length === 0) return tail
  const all: FragmentEntry[] = []
  for (const segment of segments) {
    const entries = cache.loaded<readonly FragmentEntry[]>(keyOfSegment(prefix, segment))
    if (entries === undefined) return undefined
    all.push(...entries)
  }
  return [...all, ...tail]
}

export type Fragments = Iterable<FragmentEntry> | AsyncIterable<FragmentEntry>

async function* fragmentsOfGroups(
  storage: ReadStorage,
  snapshot: LoadedSnapshot,
): AsyncGenerator<FragmentEntry> {
  for await (const { entries } of groupsOf(storage, snapshot)) yield* entries
}

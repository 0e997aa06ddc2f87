import { uncached } from '../storage/coalesced-read.ts'
import { brokenObject, readChecked, type Storage } from '../storage/objects.ts'
import type { ManifestRef, Snapshot } from '../table-engine.ts'
import {
  type FragmentEntry,
  type Kind,
  type ManifestBody,
  type SegmentEntry,
  unseal,
  withIds,
  withRowIds,
} from './manifest.ts'
import { decodeTableSchema, type TableSchema } from './table-schema.ts'

/** A snapshot with the content of its manifest. Every snapshot that the engine returns is one. */
export interface LoadedSnapshot extends Snapshot {
  readonly schema: TableSchema
  readonly body: ManifestBody
}

/** The form of a location the engine works with. */
export function normalPrefix(prefix: string): string {
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
}

/** The snapshot of a manifest. When the schema is still that of `earlier`, it is not decoded again. */
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

export function openSnapshot(storage: Storage, prefix: string, ref: ManifestRef): Promise<LoadedSnapshot> {
  const path = prefix + ref.path
  return storage.cache.get(
    `${path}@${ref.etag}`,
    // Parsed JSON takes several times the memory of its text.
    () => ref.size * 4,
    async () => snapshotOf(prefix, ref, await readSealed<ManifestBody>(storage, 'manifest', path, ref)),
  )
}

/** The fragments of a segment. */
export function openSegment(
  storage: Storage,
  prefix: string,
  segment: SegmentEntry,
): Promise<readonly FragmentEntry[]> {
  const path = prefix + segment.path
  const { firstId } = segment
  return storage.cache.get(
    // Older versions may have the segment at different places.
    firstId === undefined ? path : `${path}#${firstId}`,
    () => segment.size * 4,
    async () => withIds(await readSealed<FragmentEntry[]>(storage, 'segment', path, segment), firstId ?? 0),
  )
}

function readSealed<T>(
  { content }: Storage,
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

/** The groups of fragments, in the order of their rows. The tail is a group without a segment. */
export async function* groupsOf(
  storage: Storage,
  { prefix, body }: LoadedSnapshot,
): AsyncGenerator<{
  readonly segment: SegmentEntry | undefined
  readonly entries: readonly FragmentEntry[]
}> {
  for (const segment of body.segments) yield { segment, entries: await openSegment(storage, prefix, segment) }
  yield { segment: undefined, entries: body.tail }
}

/** The fragments, in the order of their rows. */
export async function* fragmentsOf(
  storage: Storage,
  snapshot: LoadedSnapshot,
): AsyncGenerator<FragmentEntry> {
  for await (const { entries } of groupsOf(storage, snapshot)) yield* entries
}

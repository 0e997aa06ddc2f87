import type { Schema } from '@uwdata/flechette'
import { numberDictionaries } from '../../arrow/ipc/dictionary-ids.ts'
import { decodeSchema } from '../../arrow/schema.ts'
import { brokenObject, readChecked, type Storage } from '../storage/objects.ts'
import type { ManifestRef, Snapshot } from '../table-engine.ts'
import { type FragmentEntry, type Kind, type ManifestBody, type SegmentEntry, unseal } from './manifest.ts'

/** A snapshot with the content of its manifest. Every snapshot that the engine returns is one. */
export interface LoadedSnapshot extends Snapshot {
  readonly body: ManifestBody
}

/** The form of a location the engine works with. */
export function normalPrefix(prefix: string): string {
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
}

/** A schema as manifests hold it, ready for reading fragments. */
export function decodeTableSchema(text: string): Schema {
  return numberDictionaries(decodeSchema(Buffer.from(text, 'base64')))
}

/** The snapshot of a manifest. When the schema is still that of `earlier`, it is not decoded again. */
export function snapshotOf(
  prefix: string,
  manifest: ManifestRef,
  body: ManifestBody,
  earlier?: LoadedSnapshot,
): LoadedSnapshot {
  const metadata = new Map(body.metadata)
  const bare = earlier?.body.schema === body.schema ? earlier.schema : decodeTableSchema(body.schema)
  const schema: Schema = { ...bare, metadata: metadata.size > 0 ? metadata : null }
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
  return storage.cache.get(
    path,
    () => segment.size * 4,
    () => readSealed<FragmentEntry[]>(storage, 'segment', path, segment),
  )
}

function readSealed<T>(
  { content }: Storage,
  kind: Kind,
  path: string,
  ref: { readonly size: number; readonly etag: string },
): Promise<T> {
  return readChecked(async () => {
    const bytes = await content.get(path)
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

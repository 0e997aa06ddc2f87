import type { Schema } from '@uwdata/flechette'
import { encodeSchema } from '../../arrow/schema.ts'
import {
  entriesText,
  entryText,
  etagOf,
  type FragmentEntry,
  type ManifestBody,
  manifestText,
  refOf,
  type SegmentEntry,
  seal,
  totalsOf,
} from '../format/manifest.ts'
import { type LoadedSnapshot, snapshotOf } from '../format/snapshot.ts'
import type { Storage } from '../storage/objects.ts'

/** Fragments that a manifest lists itself, and the bytes of their entries. Beyond that, entries move to a segment. */
const maxTail = 256
const maxTailBytes = 128 * 1024

/** The parts of a manifest that are not derived from others. */
export interface ManifestParts {
  readonly schema: string
  readonly metadata: readonly (readonly [string, string])[]
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
}

/**
 * Writes a manifest, and segments for the entries that are too many for it. No other attempt uses the same file name:
 * an attempt that is not committed leaves a file that nothing refers to. With `base`, a schema that is the same is
 * not decoded again.
 */
export async function writeManifest(
  storage: Storage,
  prefix: string,
  parts: ManifestParts,
  version: number | undefined,
  base?: LoadedSnapshot,
): Promise<LoadedSnapshot> {
  const { segments, tail } = await spill(storage, prefix, parts)
  const body: ManifestBody = {
    schema: parts.schema,
    metadata: parts.metadata,
    ...totalsOf(tail, segments),
    segments,
    tail,
  }
  const bytes = seal('manifest', manifestText(body))
  const number = version === undefined ? '' : `${String(version).padStart(10, '0')}-`
  const path = `_versions/${number}${storage.newName()}.json`
  await storage.content.put(prefix + path, bytes)
  const snapshot = snapshotOf(prefix, refOf(path, bytes), body, base)
  // The next reader asks for the newest version.
  return storage.cache.get(
    `${prefix}${path}@${snapshot.manifest.etag}`,
    () => bytes.length * 4,
    async () => snapshot,
  )
}

/** Writes the manifest of a version that differs from `base` in some parts. */
export function reviseManifest(
  storage: Storage,
  base: LoadedSnapshot,
  changes: Partial<ManifestParts>,
  version: number | undefined,
): Promise<LoadedSnapshot> {
  return writeManifest(storage, base.prefix, { ...base.body, ...changes }, version, base)
}

async function spill(
  storage: Storage,
  prefix: string,
  { segments, tail }: ManifestParts,
): Promise<{ segments: readonly SegmentEntry[]; tail: readonly FragmentEntry[] }> {
  const full: SegmentEntry[] = []
  let first = 0
  let bytes = 0
  for (let i = 0; i < tail.length; i++) {
    bytes += entryText(tail[i]!).length
    if (i + 1 - first < maxTail && bytes < maxTailBytes) continue
    full.push(await writeSegment(storage, prefix, tail.slice(first, i + 1)))
    first = i + 1
    bytes = 0
  }
  return { segments: full.length > 0 ? [...segments, ...full] : segments, tail: tail.slice(first) }
}

/** Writes fragment entries as an object of their own. */
export async function writeSegment(
  { content, newName }: Storage,
  prefix: string,
  entries: readonly FragmentEntry[],
): Promise<SegmentEntry> {
  const bytes = seal('segment', entriesText(entries))
  const path = `_versions/segments/${newName()}.json`
  await content.put(prefix + path, bytes)
  return { path, size: bytes.length, etag: etagOf(bytes), ...totalsOf(entries) }
}

/** A schema and its metadata as manifests hold them. */
export function storeSchema(schema: Schema): Pick<ManifestParts, 'schema' | 'metadata'> {
  const bare = encodeSchema({ ...schema, metadata: null })
  return { schema: Buffer.from(bare).toString('base64'), metadata: [...(schema.metadata ?? [])] }
}

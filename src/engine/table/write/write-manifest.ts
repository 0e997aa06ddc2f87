import type { Schema } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { leadsOut } from '../../../base/model/relative-path.ts'
import { encodeSchema } from '../../arrow/schema.ts'
import {
  entriesText,
  entryText,
  etagOf,
  type FragmentEntry,
  layoutsOf,
  type ManifestBody,
  manifestText,
  pathsOf,
  refOf,
  type SegmentEntry,
  type StoredColumns,
  seal,
  totalsOf,
  withIds,
} from '../format/manifest.ts'
import { groupsOf, type LoadedSnapshot, snapshotOf } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { endOfPath } from '../storage/objects.ts'
import type { Storage } from '../storage/storage.ts'

/** Fragments that a segment lists, and the bytes of their entries. */
const maxSegment = 256
const maxSegmentBytes = 128 * 1024

/**
 * Fragments that a manifest lists itself. Once it has more, all but the last ones, which later inserts may merge, move to
 * segments: each change writes a manifest, so it is to be small.
 */
const maxTail = 32
const keptTail = 16

/** The parts of a manifest that are not derived from others. */
export interface ManifestParts {
  readonly schema: string
  readonly metadata: readonly (readonly [string, string])[]
  readonly indices?: ManifestBody['indices']
  readonly columns?: StoredColumns | undefined
  readonly bases?: ManifestBody['bases']
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
  /** The next free row id. Default 0. */
  readonly nextId?: number
}

/**
 * Writes a manifest, and segments for excess entries. No other attempt uses the same file name: an attempt that is not
 * committed leaves a file that nothing refers to. The schema of `base` is reused if it is equal.
 * Throws the signal's reason if the signal has aborted.
 */
export async function writeManifest(
  job: Job,
  prefix: string,
  parts: ManifestParts,
  base?: LoadedSnapshot,
): Promise<LoadedSnapshot> {
  job.signal?.throwIfAborted()
  const { storage, version } = job
  const { nextId: firstNew = 0 } = parts
  const entries = withIds(parts.tail, firstNew)
  let nextId = firstNew
  for (const [i, { rows }] of entries.entries()) if (entries[i] !== parts.tail[i]) nextId += rows
  const { segments, tail } = await spill(storage, prefix, { segments: parts.segments, tail: entries })
  const body: ManifestBody = {
    schema: parts.schema,
    metadata: parts.metadata,
    ...(parts.indices?.length && { indices: parts.indices }),
    ...columnsFor(parts.columns, layoutsOf(tail, segments)),
    ...(parts.bases?.length && { bases: parts.bases }),
    ...totalsOf(tail, segments),
    segments,
    tail,
    nextId,
  }
  const { columns, bases } = body
  const has = { columns: columns !== undefined, bases: bases !== undefined, typedItems: columns?.typedItems }
  const bytes = seal('manifest', manifestText(body), has)
  const number = version === undefined ? '' : `${String(version).padStart(10, '0')}-`
  const path = `_versions/${number}${endOfPath(storage, 'json', bytes.length)}`
  // The next change of the branch starts from the snapshot, so it need not wait for the file.
  if (storage.writer.begin) await storage.writer.begin(prefix + path, bytes)
  else await storage.writer.put(prefix + path, bytes)
  const snapshot = snapshotOf(prefix, refOf(path, bytes, bases), body, base)
  // Cached, as the next reader requests the newest version.
  return storage.cache.get(
    `${prefix}${path}@${snapshot.manifest.etag}`,
    () => bytes.length * 4,
    async () => snapshot,
  )
}

/** Writes the manifest of a version that differs from `base` in some parts. */
export function reviseManifest(
  job: Job,
  base: LoadedSnapshot,
  changes: Partial<ManifestParts>,
): Promise<LoadedSnapshot> {
  return writeManifest(job, base.prefix, { ...base.body, ...changes }, base)
}

/**
 * The fragments of a version, each as `revise` returns it. Segments whose fragments stay the same are kept, so only the
 * others are written.
 */
export async function reviseFragments(
  job: Job,
  base: LoadedSnapshot,
  revise: (entry: FragmentEntry) => FragmentEntry,
): Promise<Pick<ManifestParts, 'segments' | 'tail'>> {
  const segments: SegmentEntry[] = []
  let tail: readonly FragmentEntry[] = []
  for await (const { segment, entries } of groupsOf(job.storage, base)) {
    const revised = entries.map(revise)
    if (segment === undefined) tail = revised
    else if (revised.every((entry, i) => entry === entries[i])) segments.push(segment)
    else segments.push(await writeSegment(job.storage, base.prefix, revised))
    if (job.due) await job.rest()
  }
  return { segments, tail }
}

async function spill(
  storage: Storage,
  prefix: string,
  { segments, tail }: Pick<ManifestParts, 'segments' | 'tail'>,
): Promise<{ segments: readonly SegmentEntry[]; tail: readonly FragmentEntry[] }> {
  const kept = keptOf(tail)
  const full: SegmentEntry[] = []
  let first = 0
  let bytes = 0
  for (let i = 0; i < tail.length - kept; i++) {
    bytes += entryText(tail[i]!).length
    if (i + 1 < tail.length - kept && i + 1 - first < maxSegment && bytes < maxSegmentBytes) continue
    full.push(await writeSegment(storage, prefix, tail.slice(first, i + 1)))
    first = i + 1
    bytes = 0
  }
  return { segments: full.length > 0 ? [...segments, ...full] : segments, tail: tail.slice(first) }
}

/** How many of the last entries a manifest lists itself. */
function keptOf(tail: readonly FragmentEntry[]): number {
  let bytes = 0
  for (let i = 0; i < tail.length; i++) {
    bytes += entryText(tail[tail.length - 1 - i]!).length
    if (bytes >= maxSegmentBytes) return Math.min(i, keptTail)
  }
  return tail.length <= maxTail ? tail.length : keptTail
}

/** Writes fragment entries to an object of their own. */
export async function writeSegment(
  storage: Storage,
  prefix: string,
  entries: readonly FragmentEntry[],
): Promise<SegmentEntry> {
  const layouts = layoutsOf(entries)
  const isFirst = layouts.size === 1 && layouts.has('')
  const bases = entries.some((entry) => pathsOf(entry).some(leadsOut))
  const bytes = seal('segment', entriesText(entries), { columns: !isFirst, bases })
  const path = `_versions/segments/${endOfPath(storage, 'json', bytes.length)}`
  await storage.writer.put(prefix + path, bytes)
  const segment = { path, size: bytes.length, etag: etagOf(bytes), ...totalsOf(entries) }
  return isFirst ? segment : { ...segment, layouts: [...layouts] }
}

/** The columns with only those layouts that files have. */
function columnsFor(
  columns: StoredColumns | undefined,
  used: ReadonlySet<string>,
): { columns?: StoredColumns } {
  const known = new Set(columns ? [columns.layout, ...Object.keys(columns.layouts)] : [''])
  if ([...used].some((layout) => !known.has(layout))) {
    throw new CatalogError(
      'ConcurrentModification',
      "The table's columns changed while its rows were being written. Read the schema again and repeat the change.",
    )
  }
  if (columns === undefined) return {}
  const entries = Object.entries(columns.layouts)
  const kept = entries.filter(([layout]) => used.has(layout))
  if (kept.length === entries.length) return { columns }
  return { columns: { ...columns, layouts: Object.fromEntries(kept) } }
}

/** A schema and its metadata in the form of manifests. */
export function storeSchema(schema: Schema): Pick<ManifestParts, 'schema' | 'metadata'> {
  const bare = encodeSchema({ ...schema, metadata: null })
  return { schema: Buffer.from(bare).toString('base64'), metadata: [...(schema.metadata ?? [])] }
}

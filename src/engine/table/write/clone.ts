import type { Content } from '../../../base/content/content.ts'
import { CatalogError } from '../../../base/errors.ts'
import { leadsOut, pathFrom, pathIn } from '../../../base/model/relative-path.ts'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { nextTurn } from '../../../base/time.ts'
import {
  type FragmentEntry,
  type FragmentObject,
  indexesOf,
  objectsOf,
  type SegmentEntry,
  withPaths,
} from '../format/manifest.ts'
import { groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { checkBytes } from '../read/check.ts'
import { ByteCache } from '../storage/cache.ts'
import { type ReadContent, uncached } from '../storage/coalesced-read.ts'
import { brokenObject, type ReadStorage, readChecked } from '../storage/objects.ts'
import { writeManifest, writeSegment } from './write-manifest.ts'

/*
 * A clone is a new table with the rows of a version. Its manifest shares the files of that version, or names copies of
 * them. Rows and columns keep their ids.
 */

/** Writes a manifest with the fragments of `source`, in the same content. */
export async function shareRows(job: Job, prefix: string, source: LoadedSnapshot): Promise<LoadedSnapshot> {
  const bases = new Set<string>()
  const rename = (path: string) => {
    const folder = leadsOut(path) ? baseOf(source, path) : source.prefix
    const base = pathFrom(prefix, folder)
    bases.add(base)
    return base + pathIn(source.prefix, path).slice(folder.length)
  }
  const clone = (entry: FragmentEntry) => withPaths(entry, rename)
  return cloneManifest(job, prefix, source, { from: job.storage, bases, clone })
}

/** The folder of another table that a path refers to, relative to the root of the content. */
function baseOf({ prefix, body, manifest }: LoadedSnapshot, path: string): string {
  const base = body.bases?.find((one) => path.startsWith(one))
  if (base === undefined) throw brokenObject(prefix + manifest.path, `names ${path}, which is not its own`)
  return pathIn(prefix, base)
}

/** How many small files are copied at a time. A large file is copied alone, since it is in memory as a whole. */
const depth = 8
const smallBytes = 4 * 1024 * 1024

/** Copies the files of `source`, and writes a manifest with the copies as fragments. Damaged files are not copied. */
export async function copyRows(
  job: Job,
  prefix: string,
  source: LoadedSnapshot,
  content: Content,
): Promise<LoadedSnapshot> {
  const { storage, signal } = job
  const from = { content: uncached(content), cache: new ByteCache(0) }
  // Fragments share files of indexes, and files of deletions if one change deleted their rows.
  const copied = new Map<string, Promise<string>>()
  const copy = async (object: FragmentObject): Promise<string> => {
    signal?.throwIfAborted()
    const bytes = await readWhole(from.content, pathIn(source.prefix, object.path), object, signal)
    const path = pathLike(object, storage.newName())
    await storage.writer.put(prefix + path, bytes)
    return path
  }
  const copyFragment = async (entry: FragmentEntry): Promise<FragmentEntry> => {
    const names = new Map<string, string>()
    const broken = new Set<FragmentObject>()
    for (const object of objectsOf(entry)) {
      const known = copied.get(object.path) ?? copy(object)
      if ('crc' in object) copied.set(object.path, known)
      try {
        names.set(object.path, await known)
      } catch (error) {
        if (!isDispensable(object, error)) throw error
        broken.add(object)
      }
    }
    job.report(entry.rows, source.rows + source.deletedRows)
    const indexes = indexesOf(entry).filter((index) => !broken.has(index))
    return withPaths({ ...entry, ...(entry.indexes && { indexes }) }, (path) => names.get(path)!)
  }
  return cloneManifest(job, prefix, source, { from, bases: new Set(), clone: copyFragment })
}

/** The path of a copy of an object. */
function pathLike(object: FragmentObject, name: string): string {
  if ('buckets' in object) return `indexes/${name}.index`
  return `${'crc' in object ? 'deletions' : 'data'}/${name}.arrow`
}

/** Whether a copy is complete without an object that is missing or damaged. */
function isDispensable(object: FragmentObject, error: unknown): boolean {
  return 'buckets' in object && error instanceof CatalogError && error.code === 'InvalidTableState'
}

/** The bytes of an object, checked against its checksums. */
async function readWhole(
  content: ReadContent,
  path: string,
  object: FragmentObject,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  return readChecked(async () => {
    const bytes = await content.get(path)
    if (bytes === undefined) throw brokenObject(path, 'is missing')
    if (bytes.length !== object.size)
      throw brokenObject(path, `has ${bytes.length} bytes; it should have ${object.size}`)
    const get: Content['get'] = async (_, range) => {
      // The checksum of a large file takes a while; the event loop must not wait for it.
      await nextTurn()
      return bytes.subarray(range!.start, range!.end)
    }
    await checkBytes({ get }, path, object, signal)
    return bytes
  })
}

/** How the entries of a clone are made. */
interface Cloning {
  /** The storage of the source. */
  readonly from: ReadStorage
  /** The folders of other tables whose files the clone uses. */
  readonly bases: ReadonlySet<string>
  readonly clone: (entry: FragmentEntry) => FragmentEntry | Promise<FragmentEntry>
}

/** Writes the manifest of a clone, group by group, so that only one group's entries are in memory. */
async function cloneManifest(
  job: Job,
  prefix: string,
  source: LoadedSnapshot,
  { from, bases, clone }: Cloning,
): Promise<LoadedSnapshot> {
  const segments: SegmentEntry[] = []
  let tail: readonly FragmentEntry[] = []
  for await (const { segment, entries } of groupsOf(from, source)) {
    job.signal?.throwIfAborted()
    const areSmall = entries.every(({ size }) => size <= smallBytes)
    const cloned: FragmentEntry[] = []
    const work = async (entry: FragmentEntry) => clone(entry)
    for await (const one of prefetch(entries, work, { depth: areSmall ? depth : 0 })) cloned.push(one)
    if (segment === undefined) tail = cloned
    else segments.push(await writeSegment(job.storage, prefix, cloned))
  }
  return writeManifest(job, prefix, { ...source.body, segments, tail, bases: [...bases] })
}

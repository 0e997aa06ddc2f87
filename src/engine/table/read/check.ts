import { crc32 } from 'node:zlib'
import type { Content } from '../../../base/content/content.ts'
import { CatalogError, type ErrorCode } from '../../../base/errors.ts'
import { pathIn } from '../../../base/model/relative-path.ts'
import type { ManifestRef } from '../format/manifest.ts'
import { type FragmentEntry, type FragmentObject, objectsOf, rangesOf, totalsOf } from '../format/manifest.ts'
import { type LoadedSnapshot, openSegment, openSnapshot } from '../format/snapshot.ts'
import { ByteCache } from '../storage/cache.ts'
import { type ReadContent, uncached } from '../storage/coalesced-read.ts'
import { brokenObject, type Range, type ReadStorage, readChecked } from '../storage/objects.ts'
import type { CheckedObject, TableEngine } from '../table-engine.ts'

/** Bytes of an object that are in memory at a time. */
const pieceBytes = 4 << 20

type CheckOptions = NonNullable<Parameters<TableEngine['check']>[2]>

/** Checks the objects that versions need, bypassing all caches. */
export async function* checkObjects(
  content: ReadContent,
  prefix: string,
  refs: Iterable<ManifestRef>,
  options: CheckOptions,
): AsyncGenerator<CheckedObject> {
  const storage = { content: uncached(content), cache: new ByteCache(0) }
  const seen = new Set<string>()
  for (const manifest of refs) {
    options.signal?.throwIfAborted()
    if (!isNew(seen, manifest.path)) continue
    const opened = await attempt(storage.content, prefix, () => openSound(storage, prefix, manifest))
    const { problem, value } = opened
    const looked = { path: prefix + manifest.path, manifest, bytes: manifest.size }
    yield { ...looked, ...(value && { rows: value.rows }), ...(problem && { problem }) }
    if (value === undefined) continue
    for await (const checked of checkSnapshot(storage, prefix, value, seen, options)) {
      yield { ...checked, manifest }
    }
  }
}

/** Opens a manifest, and checks its sums against its entries. */
async function openSound(storage: ReadStorage, prefix: string, ref: ManifestRef): Promise<LoadedSnapshot> {
  const snapshot = await openSnapshot(storage, prefix, ref)
  const { tail, segments, ...body } = snapshot.body
  for (const [name, sum] of Object.entries(totalsOf(tail, segments))) {
    if (body[name as keyof typeof body] !== sum) {
      throw brokenObject(
        prefix + ref.path,
        `says that ${name} is ${body[name as keyof typeof body]}, not ${sum}`,
      )
    }
  }
  return snapshot
}

async function* checkSnapshot(
  storage: ReadStorage,
  prefix: string,
  { body }: LoadedSnapshot,
  seen: Set<string>,
  options: CheckOptions,
): AsyncGenerator<Omit<CheckedObject, 'manifest'>> {
  for (const segment of body.segments) {
    if (!isNew(seen, segment.path)) continue
    const opened = await attempt(storage.content, prefix, () =>
      openSegment(storage, prefix, segment, body.bases),
    )
    const { problem } = opened
    yield { path: prefix + segment.path, bytes: segment.size, ...(problem && { problem }) }
    if (opened.value) yield* checkFragments(storage, prefix, opened.value, seen, options)
  }
  yield* checkFragments(storage, prefix, body.tail, seen, options)
}

async function* checkFragments(
  { content }: ReadStorage,
  prefix: string,
  entries: readonly FragmentEntry[],
  seen: Set<string>,
  { quick = false, signal }: CheckOptions,
): AsyncGenerator<Omit<CheckedObject, 'manifest'>> {
  for (const entry of entries) {
    for (const object of objectsOf(entry)) {
      if (!isNew(seen, object.path)) continue
      signal?.throwIfAborted()
      const path = pathIn(prefix, object.path)
      const check = async () => {
        await checkSize(content, path, object.size)
        if (!quick) await checkBytes(content, path, object, signal)
      }
      const { problem } = await attempt(content, prefix, () => readChecked(check))
      yield { path, bytes: quick ? 1 : object.size, ...(problem && { problem }) }
    }
  }
}

/** Checks the size of an object by reading its last byte and the byte after it, which must not exist. */
export async function checkSize(content: ReadContent, path: string, size: number): Promise<void> {
  const end = await content.get(path, { start: Math.max(0, size - 1), end: size + 1 })
  if (end === undefined) throw brokenObject(path, 'is missing')
  if (end.length < Math.min(1, size)) throw brokenObject(path, `is cut off: it should have ${size} bytes`)
  if (end.length > 1) throw brokenObject(path, `is longer than the ${size} bytes it should have`)
}

/**
 * Compares the checksum of every range, and of the bytes between them. Each piece is read once: to a service, many
 * small requests take far longer than one for all of them.
 */
export async function checkBytes(
  content: Pick<Content, 'get'>,
  path: string,
  object: FragmentObject,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ranges: readonly Range[] = 'crc' in object ? [[0, object.size, object.crc]] : rangesOf(object)
  let piece: Uint8Array = new Uint8Array(0)
  let pieceStart = 0
  const read = async (start: number, end: number, sum: number): Promise<number> => {
    for (let at = start; at < end; ) {
      if (at < pieceStart || at >= pieceStart + piece.length) {
        signal?.throwIfAborted()
        const found = await content.get(path, { start: at, end: Math.min(object.size, at + pieceBytes) })
        if (found === undefined) throw brokenObject(path, 'is missing')
        if (found.length === 0) throw brokenObject(path, `is cut off at byte ${at}`)
        piece = found
        pieceStart = at
      }
      const part = piece.subarray(at - pieceStart, end - pieceStart)
      sum = crc32(part, sum)
      at += part.length
    }
    return sum
  }
  let rest = 0
  let at = 0
  for (const [start, length, crc] of ranges) {
    rest = await read(at, start, rest)
    at = start + length
    if ((await read(start, at, 0)) !== crc) throw damaged(path, start, at)
  }
  rest = await read(at, object.size, rest)
  if ('rest' in object && rest !== object.rest) throw damaged(path, 0, object.size)
}

function damaged(path: string, start: number, end: number): CatalogError {
  return brokenObject(
    path,
    `is damaged within bytes ${start} to ${end}: the checksum differs from the one it was written with`,
  )
}

function isNew(seen: Set<string>, path: string): boolean {
  if (seen.has(path)) return false
  seen.add(path)
  return true
}

/** Codes of errors that may be about the service or the network, and not about an object. */
const passing: readonly ErrorCode[] = ['ServiceUnavailable', 'PermissionDenied']

/**
 * The problem of an object, if any. Throws if the service is not available, which says nothing about the object. A
 * request that fails is tried once more.
 */
async function attempt<T>(
  content: ReadContent,
  prefix: string,
  work: () => Promise<T>,
): Promise<{ value?: T; problem?: CatalogError }> {
  for (let isSecond = false; ; isSecond = true) {
    try {
      return { value: await work() }
    } catch (problem) {
      if (!(problem instanceof CatalogError)) throw problem
      if (!passing.includes(problem.code)) return { problem }
      // Nothing exists at that path: every service that responds at all reports this.
      await content.get(`${prefix}nothing`)
      if (isSecond) return { problem }
    }
  }
}

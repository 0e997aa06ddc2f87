import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Content } from '../../../base/content/content.ts'
import { inlineMark } from '../../../base/content/path.ts'
import { CatalogError } from '../../../base/errors.ts'
import { checksumOfRead } from '../../../base/scheduling/checksum.ts'
import { wallClock } from '../../../base/time.ts'
import type { ByteCache } from './cache.ts'
import type { ReadContent } from './coalesced-read.ts'
import { uncached } from './coalesced-read.ts'

/** Part of an object: its offset, its length and its CRC-32. */
export type Range = readonly [offset: number, length: number, crc: number]

/** The storage of tables that are only read. */
export interface ReadStorage {
  readonly content: ReadContent
  readonly cache: ByteCache
}

/** Keeps the small objects of one writer, until records with their bytes are committed with the version. */
export interface InlineObjects {
  /** Whether an object of this many bytes has room. */
  fits(bytes: number): boolean
  /** Keeps an object. Readers of this process find it at once. */
  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): void
  /** Called before the same writer puts an object that has no room here. The put waits for it. */
  beforeFile?(): Promise<void>
}

/** Puts new objects: a content, or the group of objects that one writer makes durable together. */
export interface ObjectWriter extends Pick<Content, 'put' | 'remove' | 'group'> {
  /**
   * Begins to put an object. Resolves at once, unless many puts are under way. The writer's next sync waits for them.
   * Absent if objects are durable once they are put.
   */
  begin?(path: string, bytes: Uint8Array): Promise<void>
  /** Whether an object of this many bytes is to be inline, as its name must say. */
  isInline?(bytes: number): boolean
}

/** The unique end of an object's path. */
export function endOfPath(
  { writer, newName }: { readonly writer: ObjectWriter; readonly newName: NewName },
  extension: 'arrow' | 'json',
  bytes: number,
): string {
  return `${newName()}${writer.isInline?.(bytes) ? inlineMark : ''}.${extension}`
}

/** The checksum of parts that follow bytes with checksum `sum`. */
export function checksum(parts: readonly Uint8Array[], sum = 0): number {
  for (const part of parts) sum = crc32(part, sum)
  return sum
}

/** The error for an object that differs from the manifest. None of its bytes are used as data. */
export function brokenObject(path: string, fact: string, options?: { cause?: unknown }): CatalogError {
  const mend = isIndexObject(path)
    ? 'No answer needs it, as rows are scanned instead. Optimize the table to write it anew; older versions name it until they are deleted.'
    : 'Restore it from a backup, or restore the table to a version that does not need it.'
  return new CatalogError(
    'InvalidTableState',
    `The table's file ${JSON.stringify(path)} ${fact}. ${mend}`,
    options,
  )
}

/** Reads and checks an object or a part. Reads damaged bytes `again`: a network may have damaged them in transit. */
export async function readChecked<T>(read: (again: boolean) => Promise<T>): Promise<T> {
  try {
    return await read(false)
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'InvalidTableState')) throw error
    return read(true)
  }
}

/** Reads part of an object and checks it. The bytes begin at a multiple of 8, so typed arrays can view them. */
export function readRange(
  content: ReadContent,
  path: string,
  [start, length, crc]: Range,
): Promise<Uint8Array> {
  if (length === 0) return Promise.resolve(new Uint8Array(0))
  return readChecked(async (again) => {
    const from = again ? uncached(content) : content
    return checked(await from.get(path, { start, end: start + length }), path, length, crc)
  })
}

async function checked(
  bytes: Uint8Array | undefined,
  path: string,
  length: number,
  crc: number,
): Promise<Uint8Array> {
  if (bytes === undefined) throw brokenObject(path, 'is missing')
  if (bytes.length !== length)
    throw brokenObject(path, `is cut off: ${bytes.length} of ${length} bytes could be read`)
  if ((await checksumOfRead(bytes)) !== crc)
    throw brokenObject(path, 'is damaged: its checksum differs from the one it was written with')
  return bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes)
}

/**
 * A unique name, which no other attempt at a change has. Names sort by creation in milliseconds, and may have a mark.
 */
export type NewName = (writer?: string) => string

export const uniqueName: NewName = (writer) => {
  // Node fetches random bits for many UUIDs at once. Reading eight random bytes from the system takes 8 times as long.
  const uuid = randomUUID()
  return nameOf(wallClock(), writer === undefined ? uuid.slice(0, 8) : writerMark(writer), uuid.slice(-8))
}

/** Names derived from a clock and from ids. Each id must be unique. */
export function namesFrom(now: () => number, newId: () => string): NewName {
  return (writer) => {
    const hash = createHash('sha256').update(newId()).digest('hex')
    return nameOf(now(), writer === undefined ? hash.slice(0, 8) : writerMark(writer), hash.slice(8, 16))
  }
}

function nameOf(time: number, mark: string, unique: string): string {
  return `${Math.max(0, Math.floor(time)).toString(36).padStart(9, '0')}-${mark}${unique}`
}

/** The mark of a writer in the names of its objects: a hash of its id. Few writers are active at once, so two with the same mark are rare, and do no harm. */
export function writerMark(writer: string): string {
  return crc32(writer).toString(16).padStart(8, '0')
}

/** The mark of the writer in the path of an object; undefined if the engine did not name the object. */
export function writerMarkIn(path: string): string | undefined {
  return /-([0-9a-f]{8})[0-9a-f]{8}(?:\.inline)?\.(?:arrow|json|index)$/.exec(path)?.[1]
}

const unique = '[0-9a-z]{9,}-[0-9a-f]{16}(?:\\.inline)?'
const objects = `data/${unique}\\.arrow|deletions/${unique}\\.arrow|indexes/${unique}\\.index|_versions/(?:segments/|\\d+-)?${unique}\\.json`

/** Objects that a content of files is writing, or that remained there after a crash. */
const unfinished = '(?:data|deletions|indexes|_versions(?:/segments)?)/\\.[0-9a-f-]{36}\\.partial'

const engineObjects = new RegExp(`^(?:${objects}|${unfinished})$`)

/** Whether an object of the engine is a file of indexes, without which every answer stays the same. */
export function isIndexObject(path: string): boolean {
  return /(?:^|\/)indexes\/[^/]+\.index$/.test(path)
}

/** Whether a path has the form of the engine's object names. `path` begins after the table's prefix. */
export function isEngineObject(path: string): boolean {
  return engineObjects.test(path)
}

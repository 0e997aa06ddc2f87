import { createHash } from 'node:crypto'
import type { Identifier } from '../../base/model/identifier.ts'
import { type FormerRecord, keys, recordFormat } from '../../base/store/records.ts'
import type { Key, Reader, Writer } from '../../base/store/store.ts'
import { type ContentRoot, folderName, type Roots, rootBySegments, segmentsOf } from './locations.ts'

/*
 * Content that waits to be registered belonged to a table. Its identifier is kept, so that hooks can decide whether a
 * caller may register the content.
 */

/** Notes that content waits: the path of its registration, and the identifier that its table had. */
export function putWaiting(
  { contentRoots }: Roots,
  writer: Writer,
  location: string,
  path: string,
  id: Identifier,
): void {
  const segments = segmentsOf(location)
  writer.put(keys.registration(segments), path)
  writer.put(formerKey(contentRoots, segments, path), { v: recordFormat, path, id: [...id] })
}

/** Removes the note that content waits at a location. */
export function removeWaiting({ contentRoots }: Roots, writer: Writer, location: string): void {
  const segments = segmentsOf(location)
  const path = writer.get<string>(keys.registration(segments))
  if (path === undefined) return
  writer.remove(keys.registration(segments))
  writer.remove(formerKey(contentRoots, segments, path))
}

/** The identifier of the table whose content waits at a location; undefined if an earlier release deregistered it. */
export function formerIdentifier(
  roots: readonly ContentRoot[],
  reader: Reader,
  segments: readonly string[],
): Identifier | undefined {
  const path = reader.get<string>(keys.registration(segments))
  if (path === undefined) return undefined
  const former = reader.get<FormerRecord>(formerKey(roots, segments, path))
  // An earlier release may have registered the content, and deregistered it again, without this record.
  return former?.path === path ? former.id : undefined
}

/** The key by the folder of the registration, whose name is the same in a copy of the catalog. */
function formerKey(roots: readonly ContentRoot[], segments: readonly string[], path: string): Key {
  const { content } = rootBySegments(roots, segments)
  const folder = folderName(roots, { content, prefix: path.slice(0, path.lastIndexOf('/') + 1) })
  return keys.formerIdentifier(createHash('sha256').update(folder).digest('hex'))
}

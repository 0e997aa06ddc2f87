import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { wallClock } from '../../../base/time.ts'

/**
 * A unique name, which no other attempt at a change has. Names sort by creation in milliseconds, and may have a mark.
 */
export type NewName = (writer?: string) => string

export const uniqueName: NewName = (writer) => {
  // Node fetches random bits for many UUIDs at once. Reading eight random bytes from the system takes 8 times as long.
  const uuid = randomUUID()
  return nameOf(wallClock(), writer === undefined ? uuid.slice(0, 8) : markOf(writer), uuid.slice(-8))
}

/** Names derived from a clock and from ids. Each id must be unique. */
export function namesFrom(now: () => number, newId: () => string): NewName {
  return (writer) => {
    const hash = createHash('sha256').update(newId()).digest('hex')
    return nameOf(now(), writer === undefined ? hash.slice(0, 8) : markOf(writer), hash.slice(8, 16))
  }
}

function nameOf(time: number, mark: string, unique: string): string {
  return `${Math.max(0, Math.floor(time)).toString(36).padStart(9, '0')}-${mark}${unique}`
}

/** The mark of a writer. Few writers are active at once, so two with the same mark are rare, and do no harm. */
export function markOf(writer: string): string {
  return crc32(writer).toString(16).padStart(8, '0')
}

/** The mark in the path of an object; undefined if the engine did not name the object. */
export function markIn(path: string): string | undefined {
  return /-([0-9a-f]{8})[0-9a-f]{8}\.(?:arrow|json)$/.exec(path)?.[1]
}

const unique = '[0-9a-z]{9,}-[0-9a-f]{16}'
const objects = `data/${unique}\\.arrow|deletions/${unique}\\.arrow|_versions/(?:segments/|\\d+-)?${unique}\\.json`

/** Objects that a content of files is writing, or that remained there after a crash. */
const unfinished = '(?:data|deletions|_versions(?:/segments)?)/\\.[0-9a-f-]{36}\\.partial'

const engineObjects = new RegExp(`^(?:${objects}|${unfinished})$`)

/** Whether a path has the form of the engine's object names. `path` begins after the table's prefix. */
export function isEngineObject(path: string): boolean {
  return engineObjects.test(path)
}

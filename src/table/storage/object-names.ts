import { createHash, randomUUID } from 'node:crypto'

/** A name no other attempt at the same change gets; names made later sort later, by the millisecond. */
export function uniqueName(): string {
  // Node draws the chance for many UUIDs at once: eight times as fast as eight bytes from the system each time.
  const uuid = randomUUID()
  return nameOf(Date.now(), uuid.slice(0, 8) + uuid.slice(-8))
}

/** Names that follow from a clock and from ids, each of which is given out once. */
export function namesFrom(now: () => number, newId: () => string): () => string {
  return () => nameOf(now(), createHash('sha256').update(newId()).digest('hex').slice(0, 16))
}

function nameOf(time: number, unique: string): string {
  return `${Math.max(0, Math.floor(time)).toString(36).padStart(9, '0')}-${unique}`
}

const unique = '[0-9a-z]{9,}-[0-9a-f]{16}'
const objects = `data/${unique}\\.arrow|deletions/${unique}\\.arrow|_versions/(?:segments/|\\d+-)?${unique}\\.json`

/** Objects on their way into a content of files, or left behind there by a crash. */
const unfinished = '(?:data|deletions|_versions(?:/segments)?)/\\.[0-9a-f-]{36}\\.partial'

const ours = new RegExp(`^(?:${objects}|${unfinished})$`)

/** Whether it is the engine that gives objects such a path. `path` begins after the table's prefix. */
export function isEngineObject(path: string): boolean {
  return ours.test(path)
}

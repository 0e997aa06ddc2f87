import { createHash, randomUUID } from 'node:crypto'

/** A name that no other attempt at the same change gets. Names sort by the millisecond they were made in. */
export function uniqueName(): string {
  // Node fetches random bits for many UUIDs at once. Eight random bytes from the system take eight times as long.
  const uuid = randomUUID()
  return nameOf(Date.now(), uuid.slice(0, 8) + uuid.slice(-8))
}

/** Names derived from a clock and from ids. Each id must be unique. */
export function namesFrom(now: () => number, newId: () => string): () => string {
  return () => nameOf(now(), createHash('sha256').update(newId()).digest('hex').slice(0, 16))
}

function nameOf(time: number, unique: string): string {
  return `${Math.max(0, Math.floor(time)).toString(36).padStart(9, '0')}-${unique}`
}

const unique = '[0-9a-z]{9,}-[0-9a-f]{16}'
const objects = `data/${unique}\\.arrow|deletions/${unique}\\.arrow|_versions/(?:segments/|\\d+-)?${unique}\\.json`

/** Objects that a content of files is writing, or that a crash left behind there. */
const unfinished = '(?:data|deletions|_versions(?:/segments)?)/\\.[0-9a-f-]{36}\\.partial'

const ours = new RegExp(`^(?:${objects}|${unfinished})$`)

/** Whether the engine names objects like this. `path` begins after the table's prefix. */
export function isEngineObject(path: string): boolean {
  return ours.test(path)
}

import type { Identifier } from '../base/model/identifier.ts'
import { plainText } from './model/text.ts'
import { beginTransaction, get, post, recordInner, ServerError, type Within } from './server.ts'

/*
 * Changes that a user confirms in a dialog. Before the confirmation, others may drop the object and create another one
 * with its name. So a change checks the identity first, in the same transaction.
 */

/** The identity of a table, to detect another one of the same name. */
export interface NamedTable {
  readonly id: Identifier
  /** What it is called. */
  readonly noun: 'table' | 'view'
  readonly location: string
  /** The latest version when it was shown. With explicit locations, a new table can have the location of an old one. */
  readonly latest?: SeenVersion | undefined
}

interface SeenVersion {
  readonly version: number
  readonly timestamp_millis?: number
}

/** The latest version of a table. Undefined if there is none, or the caller may not list versions. */
export async function latestOf(id: Identifier, signal: AbortSignal): Promise<SeenVersion | undefined> {
  const query = { descending: true, limit: 1 }
  try {
    const asked = { query, signal }
    return (await get<{ versions: SeenVersion[] }>('table', id, 'version/list', asked)).versions[0]
  } catch (error) {
    if (isStatus(error, 403, 406)) return undefined
    throw error
  }
}

/** Changes a table, or fails if another one has its name by now. */
export function changeTable(
  table: NamedTable,
  change: (within: Within) => Promise<unknown>,
): Promise<unknown> {
  return inTransaction(async (within) => {
    await requireTable(table, within)
    return change(within)
  })
}

async function requireTable({ id, noun, location, latest }: NamedTable, within: Within): Promise<void> {
  const found = await post<{ location: string }>('table', id, 'describe', { body: {}, ...within })
  if (found.location !== location) throw replacedError(noun, id)
  if (latest?.timestamp_millis === undefined) return
  const body = { version: latest.version }
  try {
    const { version } = await post<{ version: SeenVersion }>('table', id, 'version/describe', {
      body,
      ...within,
    })
    const time = version.timestamp_millis
    if (time !== undefined && time !== latest.timestamp_millis) throw replacedError(noun, id)
  } catch (error) {
    throw isStatus(error, 404) ? replacedError(noun, id) : error
  }
}

function isStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof ServerError && statuses.includes(error.status)
}

/** A tag of a table, as it was listed. */
export interface NamedTag {
  readonly name: string
  readonly version: number
  readonly branch?: string | undefined
}

/** Fails if a tag points to another version than when it was listed. */
export async function requireTag(id: Identifier, tag: NamedTag, within: Within): Promise<void> {
  const body = { tag: tag.name }
  const found = await post<{ version: number; branch?: string }>('table', id, 'tags/version', {
    body,
    ...within,
  })
  if (found.version === tag.version && (found.branch || '') === (tag.branch || '')) return
  throw new Error(
    `The tag ${plainText(tag.name)} points to another version by now. Nothing is changed. Close this to see where it points.`,
  )
}

/**
 * Drops an empty namespace if it still has the properties that were shown. An empty namespace has no other identity:
 * another one with the same name and properties is equivalent.
 */
export function dropEmptyNamespace(
  id: Identifier,
  properties: Readonly<Record<string, string>>,
): Promise<unknown> {
  return inTransaction(async (within) => {
    const found = await post<{ properties?: Record<string, string> }>('namespace', id, 'describe', {
      body: {},
      ...within,
    })
    if (sorted(found.properties ?? {}) !== sorted(properties)) throw replacedError('namespace', id)
    return post('namespace', id, 'drop', { body: { behavior: 'Restrict' }, ...within })
  })
}

function sorted(properties: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function replacedError(kind: NamedTable['noun'] | 'namespace', id: Identifier): Error {
  return new Error(
    `${plainText(id.join(' › '))} is not the ${kind} that this dialog names: that one is gone or renamed, and another one has its name. Nothing is changed. Close this to see the one that is there.`,
  )
}

const maxAttempts = 20
/** The numbers of the errors ConcurrentModification and Unsupported. */
const conflictNumber = 14
const unsupportedNumber = 0

/**
 * Runs several requests in one transaction, and retries on a conflict. If the server has no transactions for this
 * caller or for such a table, runs them without one.
 */
async function inTransaction<T>(work: (within: Within) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const id = await tryBegin()
    if (id === undefined) return work({})
    const within = { transaction: { id, inner: [] } }
    try {
      const answer = await work(within)
      await post('transaction', [id], 'commit', { body: {} })
      recordInner(within)
      return answer
    } catch (error) {
      // A failed rollback is harmless, since the transaction expires.
      await post('transaction', [id], 'rollback', { body: {} }).catch(() => {})
      const code = error instanceof ServerError ? error.code : undefined
      if (code === unsupportedNumber) return work({})
      if (code !== conflictNumber || attempt === maxAttempts) throw error
    }
  }
}

/** Begins a transaction and returns its id. Undefined if this caller cannot have one. */
async function tryBegin(): Promise<string | undefined> {
  try {
    return await beginTransaction()
  } catch (error) {
    if (isStatus(error, 403, 404, 405, 406)) return undefined
    throw error
  }
}

import type { Identifier } from '../base/model/identifier.ts'
import { plainText } from './model/text.ts'
import { ask, askToBegin, hearAll, read, ServerError, type Within } from './server.ts'

/*
 * Changes of what a dialog named. Between the moment when somebody saw it and the moment when they confirm, others may
 * drop it and make another one under its name. So a change looks first, in the same transaction.
 */

/** What tells a table from another one of the same name. */
export interface NamedTable {
  readonly id: Identifier
  readonly location: string
  /** The latest version as it was seen. Where a location was chosen, one table can follow another one at it. */
  readonly latest?: SeenVersion | undefined
}

interface SeenVersion {
  readonly version: number
  readonly timestamp_millis?: number
}

/** The latest version of a table. Undefined where there is none, or the caller may not list versions. */
export async function latestOf(id: Identifier, signal: AbortSignal): Promise<SeenVersion | undefined> {
  const query = { descending: true, limit: 1 }
  try {
    const asked = { query, signal }
    return (await read<{ versions: SeenVersion[] }>('table', id, 'version/list', asked)).versions[0]
  } catch (error) {
    if (isStatus(error, 403, 406)) return undefined
    throw error
  }
}

/** Changes a table that was named, or fails where another one has its name by now. */
export function changeTable(
  table: NamedTable,
  change: (within: Within) => Promise<unknown>,
): Promise<unknown> {
  return atOnce(async (within) => {
    await requireTable(table, within)
    return change(within)
  })
}

async function requireTable({ id, location, latest }: NamedTable, within: Within): Promise<void> {
  const found = await ask<{ location: string }>('table', id, 'describe', { body: {}, ...within })
  if (found.location !== location) throw another('table', id)
  if (latest?.timestamp_millis === undefined) return
  const body = { version: latest.version }
  try {
    const { version } = await ask<{ version: SeenVersion }>('table', id, 'version/describe', {
      body,
      ...within,
    })
    const time = version.timestamp_millis
    if (time !== undefined && time !== latest.timestamp_millis) throw another('table', id)
  } catch (error) {
    throw isStatus(error, 404) ? another('table', id) : error
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

/** Fails where a tag points elsewhere than when it was named. */
export async function requireTag(id: Identifier, tag: NamedTag, within: Within): Promise<void> {
  const body = { tag: tag.name }
  const found = await ask<{ version: number; branch?: string }>('table', id, 'tags/version', {
    body,
    ...within,
  })
  if (found.version === tag.version && (found.branch || '') === (tag.branch || '')) return
  throw new Error(
    `The tag ${plainText(tag.name)} points to another version by now. Nothing is changed. Close this to see where it points.`,
  )
}

/**
 * Drops a namespace with the properties that it was shown with, if it is empty. No answer has more to tell an empty
 * namespace by: another one with the same name and properties is the same to everybody.
 */
export function dropEmptyNamespace(
  id: Identifier,
  properties: Readonly<Record<string, string>>,
): Promise<unknown> {
  return atOnce(async (within) => {
    const found = await ask<{ properties?: Record<string, string> }>('namespace', id, 'describe', {
      body: {},
      ...within,
    })
    if (sorted(found.properties ?? {}) !== sorted(properties)) throw another('namespace', id)
    return ask('namespace', id, 'drop', { body: { behavior: 'Restrict' }, ...within })
  })
}

function sorted(properties: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function another(kind: 'table' | 'namespace', id: Identifier): Error {
  return new Error(
    `${plainText(id.join(' › '))} is not the ${kind} that this dialog names: that one is gone or renamed, and another one has its name. Nothing is changed. Close this to see the one that is there.`,
  )
}

const mostAttempts = 20
/** The numbers of the errors ConcurrentModification and Unsupported. */
const lostRace = 14
const unsupported = 0

/**
 * Does several requests in one transaction, and again when others changed meanwhile what they read. Where the server has
 * no transactions for this caller, or not for such a table, it does them one after the other.
 */
async function atOnce<T>(work: (within: Within) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const id = await begun()
    if (id === undefined) return work({})
    const within = { transaction: { id, heard: [] } }
    try {
      const answer = await work(within)
      await ask('transaction', [id], 'commit', { body: {} })
      hearAll(within)
      return answer
    } catch (error) {
      // It would expire by itself, too.
      await ask('transaction', [id], 'rollback', { body: {} }).catch(() => {})
      const code = error instanceof ServerError ? error.code : undefined
      if (code === unsupported) return work({})
      if (code !== lostRace || attempt === mostAttempts) throw error
    }
  }
}

/** The id of a transaction, or undefined where this caller can have none here. */
async function begun(): Promise<string | undefined> {
  try {
    return await askToBegin()
  } catch (error) {
    if (isStatus(error, 403, 404, 405, 406)) return undefined
    throw error
  }
}

import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { nextTurn, sleep } from '../../base/time.ts'
import { isRetryable } from '../transactions/retry.ts'
import type { VersionRow } from './change-types.ts'
import { askForTurns, inTurnAt, isContended, rememberContended } from './contention.ts'
import type { RowsContext } from './context.ts'

/*
 * Writers who bring versions of their own, as Lance's do, must name the next one. Where several processes record
 * versions of one branch, each process knows the next one only until another has recorded it. So all but one of them
 * were refused, again and again. Here they come in a row: a process takes a turn, refuses those who are late, tells them
 * the next version, and keeps its turn for the moment in which they return. Turns save lost work, and nothing else
 * depends on them.
 */

/** How long a turn waits for writers whom it refused, in milliseconds. */
const returnMillis = 25

/** How long it waits for further ones after it refused nobody, in milliseconds. */
const moreMillis = 2

/** The most groups of writers in one turn. */
const maxGroups = 8

/**
 * Records a version: at once, or in a row with others where several processes race for the versions of a branch. A
 * writer whose signal aborts leaves the row.
 */
export function inVersionRow<T>(
  core: RowsContext,
  { id, branch }: { readonly id: Identifier; readonly branch: string },
  signal: AbortSignal | undefined,
  record: () => Promise<T>,
): Promise<T> {
  if (core.staging || core.store.inTurn === undefined) return record()
  // By its name: a turn that misses a renamed table costs only time.
  const key = JSON.stringify([id, branch])
  const row = core.versionRows.get(key)
  if (row) return join(row, signal, record)
  if (isContended(core, key)) {
    const made: VersionRow = { waiting: [], wake: undefined }
    core.versionRows.set(key, made)
    const recorded = join(made, signal, record)
    void takeTurns(core, key, made)
    return recorded
  }
  askForTurns(core, key)
  return record().catch((error) => {
    if (isRefusal(error)) rememberContended(core, key)
    throw error
  })
}

function join<T>(row: VersionRow, signal: AbortSignal | undefined, record: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      row.waiting.splice(row.waiting.indexOf(one), 1)
      reject(signal!.reason)
    }
    const one = async () => {
      signal?.removeEventListener('abort', leave)
      try {
        resolve(await record())
        return false
      } catch (error) {
        reject(error)
        return isRefusal(error)
      }
    }
    signal?.addEventListener('abort', leave, { once: true })
    row.waiting.push(one)
    row.wake?.()
  })
}

/** Takes turns among processes until nobody waits in the row. Never rejects. */
async function takeTurns(core: RowsContext, key: string, row: VersionRow): Promise<void> {
  while (row.waiting.length > 0) {
    const turn = inTurnAt(core, key, () => recordInTurn(core, key, row))
    // A closed store gives no turn. It refuses each writer itself.
    await turn.catch(() => recordInTurn(core, key, row))
  }
  core.versionRows.delete(key)
}

async function recordInTurn(core: RowsContext, key: string, row: VersionRow): Promise<void> {
  for (let group = 0; group < maxGroups && row.waiting.length > 0; group++) {
    // In one turn of the event loop: the store makes one commit of them.
    const refused = (await Promise.all(row.waiting.splice(0).map((one) => one()))).includes(true)
    if (refused) rememberContended(core, key)
    if (row.waiting.length === 0) await arrival(row, refused ? returnMillis : moreMillis)
    // Others come in the same moment.
    await nextTurn()
  }
}

/** Waits until a writer comes, but not for long. */
async function arrival(row: VersionRow, millis: number): Promise<void> {
  const came = new AbortController()
  row.wake = () => came.abort()
  await sleep(millis, { signal: came.signal }).catch(() => {})
  row.wake = undefined
}

/** Whether a version is not the next one, and its writer may return with the next one. */
function isRefusal(error: unknown): boolean {
  return error instanceof CatalogError && error.next_version !== undefined && !isRetryable(error)
}

import type { CommittedChange, LocalCatalog } from '../../src/tabularium/index.ts'
import { CatalogError } from '../../src/tabularium/index.ts'
import type { OwnTable } from './client.ts'
import { type Change, Violation } from './ledger.ts'

type Status = string

const finalStatuses: readonly Status[] = ['Succeeded', 'Failed', 'Canceled']

/** The observations of clients: states of transactions, and changes in the order of the feed. */
export class History {
  /** The token before the first change. */
  beginning = ''
  /** The number of values in rows so far. All values are unique. */
  values = 0
  /** The deregistered tables. */
  readonly waiting: OwnTable[] = []
  /** Names that tables had, and that are not reused. */
  readonly gone: string[] = []
  /** The ids of transactions that any client may describe. */
  readonly ids: string[] = []
  readonly #reported = new Map<string, { readonly status: Status; readonly at: number }>()
  readonly #now: () => number
  readonly #sessions = new Map<string, readonly Change[]>()
  readonly #committed = new Map<string, { readonly start: number; readonly end: number }>()
  /** The changes that followers of the feed saw. */
  readonly seen: { readonly ids: readonly string[] }[] = []
  /** The tags that were set. */
  readonly tags: { readonly table: string; readonly tag: string; readonly version: number }[] = []
  /** Tables that were declared together. */
  readonly batches: { readonly names: readonly string[]; readonly change: Change }[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  committed(id: string, start: number, end: number): void {
    this.ids.push(id)
    this.#committed.set(id, { start, end })
  }

  began(id: string, changes: readonly Change[]): void {
    this.ids.push(id)
    this.#sessions.set(id, changes)
  }

  /**
   * Records the status of a transaction in the response to a request from `start`. A final status must be the same in
   * all later requests.
   */
  reported(id: string, status: Status, start: number): void {
    const before = this.#reported.get(id)
    const isFinal = finalStatuses.includes(status)
    if (before !== undefined && before.status !== status && (isFinal || start > before.at))
      throw new Violation(`Transaction ${id} was reported as ${before.status}, and later as ${status}.`)
    if (isFinal && before === undefined) this.#reported.set(id, { status, at: this.#now() })
    if (isFinal && status !== 'Succeeded' && this.#committed.has(id))
      throw new Violation(`Transaction ${id} was acknowledged, and reported as ${status}.`)
  }

  /** Derives the outcome of changes in open transactions from the reported status. */
  decide(): void {
    for (const [id, changes] of this.#sessions) {
      const status = this.#reported.get(id)?.status
      if (status === undefined) continue
      for (const change of changes) {
        const outcome = status === 'Succeeded' ? 'done' : 'refused'
        if (change.outcome === 'done' && outcome === 'refused')
          throw new Violation(`Transaction ${id} was acknowledged, and reported as ${status}.`)
        change.outcome = outcome
        change.end = Math.min(change.end, Number.MAX_VALUE)
      }
    }
  }

  /** Checks that the feed has every acknowledged change once, in an order that is consistent with real time. */
  checkFeed(feed: readonly CommittedChange[]): void {
    const places = new Map<string, number>()
    for (const [place, { transaction_id: id }] of feed.entries()) {
      if (places.has(id)) throw new Violation(`The feed has transaction ${id} twice.`)
      places.set(id, place)
    }
    const inOrder = [...this.#committed]
      .map(([id, span]) => ({ id, ...span, place: places.get(id) }))
      .filter(({ id, place }) => {
        if (place === undefined)
          throw new Violation(`The feed has no transaction ${id}, which was acknowledged.`)
        return true
      })
      .sort((one, other) => one.place! - other.place!)
    let latest = { id: '', start: Number.NEGATIVE_INFINITY }
    for (const change of inOrder) {
      if (latest.start > change.end)
        throw new Violation(`The feed has ${latest.id} before ${change.id}, which had ended when that began.`)
      if (change.start > latest.start) latest = change
    }
    const all = feed.map(({ transaction_id }) => transaction_id)
    for (const { ids } of this.seen) {
      if (ids.length === 0) continue
      const from = places.get(ids[0]!) ?? -1
      if (from < 0 || ids.some((id, i) => all[from + i] !== id))
        throw new Violation(`A reader of the feed saw ${ids}, and not what lies there: ${all.slice(from)}.`)
    }
    checkVersions(feed)
  }
}

/** Checks that the versions of a table appear in order, without gaps or duplicates. */
function checkVersions(feed: readonly CommittedChange[]): void {
  const latest = new Map<string, number>()
  for (const { transaction_id, changes } of feed) {
    for (const { id, versions = [] } of changes) {
      const name = id.join('/')
      if (!name.startsWith('l')) continue
      for (const { branch, first, last } of versions) {
        if (branch !== undefined) continue
        const before = latest.get(name) ?? 0
        if (first !== before + 1 && before !== 0)
          throw new Violation(
            `The feed has version ${first} of ${name} behind ${before}, in ${transaction_id}.`,
          )
        latest.set(name, last)
      }
    }
  }
}

/** All changes after a token of the feed; undefined if they were cleared. */
export async function feedSince(
  catalog: LocalCatalog,
  since: string,
): Promise<readonly CommittedChange[] | undefined> {
  const end = await catalog.watch().token()
  const found: CommittedChange[] = []
  if (end === since) return found
  try {
    for await (const change of catalog.watch({ since })) {
      found.push(change)
      if (change.token === end) return found
    }
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'TransactionNotFound') return undefined
    throw error
  }
  return found
}

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type { CatalogError, CommittedChange, LocalCatalog } from '../../../src/tabularium/index.ts'
import { changesSince, listed, Replayed } from '../../catalog/handle/watch-model.ts'
import { rowsOf } from '../../support/rows.ts'

/** A refusal with these words leaves open whether the change was made. */
const isOpen = /may have been made or not/

/**
 * Writers that never stop for an error, and keep a list of what was acknowledged. One of their changes inserts a row, the
 * other one declares two tables together. Somebody watches all of them.
 */
export class Ledger {
  readonly acknowledged = new Set<string>()
  /** Why others were refused, by their names. */
  readonly refused = new Map<string, CatalogError>()
  readonly #catalogs: readonly LocalCatalog[]
  readonly #tried = new Set<string>()
  readonly #watched: CommittedChange[] = []
  readonly #since: string
  readonly #ending = new AbortController()
  #work: Promise<unknown> = Promise.resolve()

  private constructor(catalogs: readonly LocalCatalog[], since: string) {
    this.#catalogs = catalogs
    this.#since = since
  }

  /** Begins to write through several catalogs that share their records. */
  static async begin(catalogs: readonly LocalCatalog[], writers = 6): Promise<Ledger> {
    const [first] = catalogs as [LocalCatalog]
    const ledger = new Ledger(catalogs, await first.watch().token())
    onTestFinished(() => ledger.#ending.abort())
    for (const id of [['a'], ['b']]) await first.createNamespace({ id })
    await first.createTable({ id: ['rows'], data: [{ name: 'the first' }] })
    const work = Array.from({ length: writers }, (_, writer) => ledger.#write(writer))
    ledger.#work = Promise.all([...work, ledger.#watch(catalogs.at(-1)!)])
    return ledger
  }

  /** Waits until so many more changes were acknowledged. */
  async grows(by: number): Promise<void> {
    const until = this.acknowledged.size + by
    await expect.poll(() => this.acknowledged.size, { interval: 10 }).toBeGreaterThanOrEqual(until)
  }

  /** Waits until so many more changes were refused. */
  async refuses(by = 1): Promise<void> {
    const until = this.refused.size + by
    await expect.poll(() => this.refused.size, { interval: 10 }).toBeGreaterThanOrEqual(until)
  }

  /** Ends the writers. */
  async end(): Promise<void> {
    this.#ending.abort()
    await this.#work
  }

  /** Holds that all is there that was acknowledged, once, and nothing in part; and that the feed has all of it. */
  async check(): Promise<void> {
    for (const catalog of this.#catalogs) {
      const rows = (await rowsOf(catalog, ['rows'])).map(({ name }) => name as string)
      const [a, b] = await Promise.all([namesIn(catalog, 'a'), namesIn(catalog, 'b')])
      expect(a).toEqual(b)
      const there = [...rows.filter((name) => name !== 'the first'), ...a]
      const all = new Set(there)
      expect(all.size).toBe(there.length)
      expect([...this.acknowledged].filter((name) => !all.has(name))).toEqual([])
      expect(there.filter((name) => !this.#tried.has(name))).toEqual([])
      const closed = [...this.refused].filter(([, { message }]) => !isOpen.test(message))
      expect(closed.filter(([name]) => all.has(name))).toEqual([])
    }
    const [first] = this.#catalogs as [LocalCatalog]
    const feed = await changesSince(first, this.#since)
    const ids = feed.map(({ transaction_id }) => transaction_id)
    expect(new Set(ids).size).toBe(ids.length)
    const replayed = new Replayed()
    for (const change of feed) replayed.take(change)
    expect(replayed.shown()).toEqual(await listed(first))
    // Who watched all the time saw the same, as far as it got.
    expect(this.#watched).toEqual(feed.slice(0, this.#watched.length))
    expect(await first.verify()).toMatchObject({ ok: true })
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; !this.#ending.signal.aborted; n++) {
      const catalog = this.#catalogs[(writer + n) % this.#catalogs.length]!
      await this.#attempt(`row-${writer}-${n}`, (name) =>
        catalog.insertIntoTable({ id: ['rows'], data: [{ name }] }),
      )
      await this.#attempt(`two-${writer}-${n}`, (name) =>
        catalog.transaction(async (tx) => {
          for (const namespace of ['a', 'b']) await tx.declareTable({ id: [namespace, name] })
        }),
      )
    }
  }

  async #attempt(name: string, change: (name: string) => Promise<unknown>): Promise<void> {
    this.#tried.add(name)
    try {
      await change(name)
      this.acknowledged.add(name)
    } catch (error) {
      this.refused.set(name, error as CatalogError)
      // Nobody needs refusals by the thousand.
      await sleep(10)
    }
  }

  async #watch(catalog: LocalCatalog): Promise<void> {
    const { signal } = this.#ending
    for (let since = this.#since; !signal.aborted; ) {
      const watch = catalog.watch({ since })
      const stop = () => void watch.return()
      signal.addEventListener('abort', stop)
      try {
        for await (const change of watch) {
          since = change.token
          this.#watched.push(change)
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'ServiceUnavailable' })
      } finally {
        signal.removeEventListener('abort', stop)
      }
    }
  }
}

async function namesIn(catalog: LocalCatalog, namespace: string): Promise<string[]> {
  const names: string[] = []
  for await (const id of catalog.tables({ id: [namespace], include_declared: true })) names.push(id.at(-1)!)
  return names.sort()
}

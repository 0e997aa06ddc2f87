import type { LocalCatalog } from '../../src/tabularium/index.ts'
import { type Client, ledgerTables, rowsOf } from './client.ts'
import type { Fleet } from './fleet.ts'
import type { feedSince, History } from './history.ts'
import { type Ledger, Violation } from './ledger.ts'
import { checkOwn } from './own-steps.ts'

/** The context of the checks at the end of a run. */
export interface Judged {
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly history: History
  readonly clients: readonly Client[]
  /** Runs work at a server and waits for its end. */
  readonly once: (server: number, work: (catalog: LocalCatalog) => Promise<void>) => Promise<void>
  readonly feedSince: typeof feedSince
}

/** Compares the final state of a catalog with the observations during the run. */
export async function judge({ fleet, ledger, history, clients, once, feedSince }: Judged): Promise<void> {
  const { scheduler } = fleet
  const last = fleet.servers.length - 1
  await once(last, async (catalog) => {
    for (const id of history.ids) {
      const start = scheduler.now
      const described = await clients[0]!.ask(() => catalog.describeTransaction({ id: [id] }))
      if (described) history.reported(id, described.status, start)
    }
    history.decide()
  })
  await once(0, async (catalog) => {
    for (const name of ledgerTables)
      ledger.check(name, await rowsOf(catalog, name), scheduler.now, scheduler.now)
    await checkTags(catalog, history)
    await checkBatches(catalog, history)
    const feed = await feedSince(catalog, history.beginning)
    if (feed) history.checkFeed(feed)
  })
  for (const client of clients) await once(0, (catalog) => checkOwn({ catalog, client }))
  await once(last, async (catalog) => {
    await catalog.vacuum({ graceMillis: 0 })
    const { ok, findings } = await catalog.verify()
    if (!ok) throw new Violation(`The catalog is damaged: ${JSON.stringify(findings)}`)
  })
}

async function checkTags(catalog: LocalCatalog, { tags }: History): Promise<void> {
  for (const { table, tag, version } of tags) {
    const described = await catalog.getTableTagVersion({ id: [table], tag })
    if (described.version !== version)
      throw new Violation(`The tag ${tag} of ${table} was set to ${version}, and is at ${described.version}.`)
  }
}

async function checkBatches(catalog: LocalCatalog, { batches }: History): Promise<void> {
  const { tables } = await catalog.listTables({ id: [], include_declared: true })
  for (const { names, change } of batches) {
    const there = names.filter((name) => tables.includes(name)).length
    const isWhole = there === names.length
    if (
      (there > 0 && !isWhole) ||
      (change.outcome === 'done' && !isWhole) ||
      (change.outcome === 'refused' && there > 0)
    )
      throw new Violation(`Of ${names}, declared at once and ${change.outcome}, ${there} are there.`)
  }
}

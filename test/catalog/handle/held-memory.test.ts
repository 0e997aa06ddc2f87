import { expect, it } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { bytesUsed, collect } from '../../support/garbage.ts'
import { limitEach } from '../../support/time-limit.ts'

// It does each kind of work hundreds of times, and collects garbage.
limitEach(60)

/*
 * A process that serves for months holds nothing of what has ended. Signals are the usual way to hold it all the same:
 * Node keeps a signal that is made of others for as long as it has listeners.
 */

const mebibyte = 1024 * 1024
const id = ['t']

/**
 * Bytes that are held once garbage is collected: so many, or what is held when nothing more goes. What ends in callbacks
 * is let go of a few turns of the event loop later.
 */
async function held(enough = 0): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5 && least > enough; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
    const used = bytesUsed()
    const isLevel = used > least - mebibyte / 10
    least = Math.min(least, used)
    if (enough === 0 && isLevel) break
  }
  return least
}

/** What a process does again and again. `signal` is one that stays, such as that of a process which will end some day. */
const works: Readonly<Record<string, (catalog: LocalCatalog, signal: AbortSignal) => Promise<unknown>>> = {
  'a function in a transaction': (catalog, signal) =>
    catalog.transaction((tx) => tx.describeTable({ id }), { signal }),
  'a function that fails': (catalog, signal) =>
    catalog
      .transaction(
        () => {
          throw new Error('not today')
        },
        { signal },
      )
      .catch(() => {}),
  'a transaction that is committed': async (catalog, signal) => {
    const { transaction_id: transaction } = await catalog.beginTransaction({}, { signal })
    await catalog.describeTable({ id }, { transaction, signal })
    await catalog.commitTransaction({ id: [transaction] }, { signal })
  },
  'a transaction that is rolled back': async (catalog, signal) => {
    const { transaction_id: transaction } = await catalog.beginTransaction({}, { signal })
    await catalog.describeTable({ id }, { transaction, signal })
    await catalog.rollbackTransaction({ id: [transaction] }, { signal })
  },
  'a transaction that is canceled': async (catalog, signal) => {
    const { transaction_id: transaction } = await catalog.beginTransaction({}, { signal })
    await catalog.describeTable({ id }, { transaction, signal })
    await catalog.alterTransaction({
      id: [transaction],
      actions: [{ setStatusAction: { status: 'Canceled' } }],
    })
  },
  'a query': (catalog, signal) => catalog.queryTable({ id, filter: 'n > 1' }, { signal }),
  'an insert that is refused': (catalog, signal) =>
    catalog.insertIntoTable({ id: ['missing'], data: [{ n: 1 }] }, { signal }).catch(() => {}),
  'a watch that is left': async (catalog, signal) => {
    const changes = catalog.watch({ signal })
    // A server counts a stream until it has noticed that its client left, and refuses too many.
    await changes.token().catch(() => {})
    await changes.return()
  },
}

eachCatalog((open) => {
  it.each(Object.entries(works))('nothing is held of %s', async (_, work) => {
    const catalog = await open({ transactionCount: 10 })
    await catalog.createTable({ id, data: [{ n: 1 }, { n: 2 }] })
    const { signal } = new AbortController()
    const several = async (count: number) => {
      for (let n = 0; n < count; n++) await work(catalog, signal)
    }
    await several(150)
    const before = await held()
    await several(600)
    const most = before + 2 * mebibyte
    expect(await held(most)).toBeLessThanOrEqual(most)
  })
})

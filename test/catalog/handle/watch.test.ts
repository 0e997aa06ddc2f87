import { describe, expect, test } from 'vitest'
import type { SubjectChange } from '../../../src/base/model/subject-change.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { seededRandom } from '../../../src/testing/suites/random.ts'
import { closedAfterwards, eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { guessingStore } from '../../support/guessing-store.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { fails } from '../../support/refusals.ts'
import { limitEach } from '../../support/time-limit.ts'
import { randomChanges } from './watch-history.ts'
import { changesSince, listed, Replayed, take } from './watch-model.ts'

// It replays random histories from each of their tokens.
limitEach(60)

/** The members of a change that listings of transactions have. */
function pick({ operation, kind, id, effect, to, versions }: SubjectChange) {
  return { operation, kind, id, effect, to, versions }
}

const t = ['t']
const seeds = [1, 2, 3]

async function followsHistories(open: () => Promise<LocalCatalog>): Promise<void> {
  for (const seed of seeds) {
    const catalog = await open()
    const since = await catalog.watch().token()
    await randomChanges(catalog, seededRandom(seed), 250)
    const all = await changesSince(catalog, since)
    expect(all.length).toBeGreaterThan(30)
    const replayed = new Replayed()
    for (const change of all) replayed.take(change)
    expect(replayed.shown(), `seed ${seed}`).toEqual(await listed(catalog))
    expect(new Set(all.map(({ transaction_id }) => transaction_id)).size).toBe(all.length)
    // What transactions are listed with is what the feed tells of them.
    const listings = new Map<string, object>()
    for await (const { transaction_id, changes, num_changes } of catalog.transactions())
      listings.set(transaction_id, { changes, num_changes })
    let large = 0
    for (const { transaction_id, changes } of all) {
      // The record of a transaction holds no more, and a page says nothing of others.
      if (changes.length > 16) large++
      const first = changes.slice(0, 5).map((change) => pick(change))
      const expected = changes.length > 16 ? {} : { changes: first, num_changes: changes.length }
      expect(listings.get(transaction_id)).toEqual(expected)
    }
    expect(large).toBeLessThan(all.length / 2)
    for (const { transaction_id } of all)
      await expect(catalog.describeTransaction({ id: [transaction_id] })).resolves.toMatchObject({
        status: 'Succeeded',
      })
    for (const at of [0, Math.floor(all.length / 2), all.length - 1])
      expect(await changesSince(catalog, all[at]!.token)).toEqual(all.slice(at + 1))
  }
}

eachCatalog((open) => {
  describe('the change feed', () => {
    test('leads whoever replays it to the state of the catalog, from any of its tokens on', async () => {
      await followsHistories(open)
    })

    test('gives each commit once, in one order, to all who watch', async () => {
      const catalog = await open()
      const watches = [catalog.watch(), catalog.watch(), catalog.watch({ id: ['a'] })]
      await Promise.all(watches.map((watch) => watch.token()))
      await catalog.createNamespace({ id: ['a'] })
      await Promise.all(Array.from({ length: 150 }, (_, i) => catalog.declareTable({ id: ['a', `t${i}`] })))
      const seen = await Promise.all(watches.map((watch) => take(watch, 151)))
      expect(seen[1]).toEqual(seen[0])
      expect(seen[2]).toEqual(seen[0])
      expect(new Set(seen[0]!.map(({ token }) => token)).size).toBe(151)
      for (const watch of watches) await watch.return()
    })

    test('tells what was done to what, with versions, tags and branches', async () => {
      const catalog = await open()
      const since = await catalog.watch().token()
      await catalog.createTable({ id: t, data: [{ x: 1 }] })
      await catalog.createTableBranch({ id: t, name: 'side' })
      await catalog.insertIntoTable({ id: t, data: [{ x: 2 }], branch: 'side' })
      await catalog.createTableTag({ id: t, tag: 'first', version: 1 })
      await catalog.renameTable({ id: t, new_table_name: 'u' })
      await catalog.createTable({ id: ['u'], data: [{ y: 1 }], mode: 'Overwrite' })
      await catalog.dropTable({ id: ['u'] })
      const changes = (await changesSince(catalog, since)).map((change) => change.changes)
      const of = { kind: 'table', id: t }
      expect(changes).toEqual([
        [{ ...of, operation: 'CreateTable', effect: 'created', versions: [{ first: 1, last: 1 }] }],
        [
          {
            ...of,
            operation: 'CreateTableBranch',
            effect: 'changed',
            versions: [{ branch: 'side', first: 1, last: 1 }],
            branches: ['side'],
          },
        ],
        [
          {
            ...of,
            operation: 'InsertIntoTable',
            effect: 'changed',
            versions: [{ branch: 'side', first: 2, last: 2 }],
          },
        ],
        [{ ...of, operation: 'CreateTableTag', effect: 'changed', tags: [{ name: 'first', version: 1 }] }],
        [{ ...of, operation: 'RenameTable', effect: 'moved', to: ['u'] }],
        [
          {
            kind: 'table',
            id: ['u'],
            operation: 'CreateTable',
            effect: 'replaced',
            versions: [{ first: 1, last: 1 }],
          },
        ],
        [{ kind: 'table', id: ['u'], operation: 'DropTable', effect: 'removed' }],
      ])
    })

    test('tells nothing of what failed, changed nothing, or only read', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['a'] })
      const since = await catalog.watch().token()
      await fails(() => catalog.createNamespace({ id: ['a'] }), 'NamespaceAlreadyExists')
      await catalog.createNamespace({ id: ['a'], mode: 'ExistOk' })
      await catalog.dropNamespace({ id: ['none'], mode: 'Skip' })
      await catalog.transaction((tx) => tx.listTables({ id: [] }))
      await catalog
        .transaction(async (tx) => {
          await tx.declareTable({ id: t })
          throw new Error('given up')
        })
        .catch(() => {})
      expect(await changesSince(catalog, since)).toEqual([])
    })

    test('makes one change of a transaction, in the order of its operations', async () => {
      const catalog = await open()
      await catalog.createTable({ id: t, data: [{ x: 1 }] })
      const since = await catalog.watch().token()
      let id: string | undefined
      await catalog.transaction(async (tx) => {
        id = tx.transactionId
        await tx.renameTable({ id: t, new_table_name: 'u' })
        await tx.insertIntoTable({ id: ['u'], data: [{ x: 2 }] })
        await tx.declareTable({ id: t })
      })
      const [change, ...others] = await changesSince(catalog, since)
      expect(others).toEqual([])
      expect(change).toMatchObject({
        transaction_id: id,
        changes: [
          { operation: 'RenameTable', effect: 'moved', id: t, to: ['u'] },
          { operation: 'InsertIntoTable', id: ['u'], versions: [{ first: 2, last: 2 }] },
          { operation: 'DeclareTable', effect: 'created', id: t },
        ],
      })
      for (const { transaction_id } of change!.changes)
        await expect(catalog.describeTransaction({ id: [transaction_id!] })).resolves.toMatchObject({
          status: 'Succeeded',
        })
    })

    test('tells the versions that a transaction came to when it was put on top of others', async () => {
      const catalog = await open()
      await catalog.createTable({ id: t, data: [{ x: 1 }] })
      const since = await catalog.watch().token()
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id: t, data: [{ x: 2 }] })
        await catalog.insertIntoTable({ id: t, data: [{ x: 3 }] })
      })
      const versions = (await changesSince(catalog, since)).map(({ changes }) =>
        changes.map((one) => one.versions),
      )
      expect(versions).toEqual([[[{ first: 2, last: 2 }]], [[{ first: 3, last: 3 }]]])
    })

    test('holds a batch whole, however large', async () => {
      const catalog = await open()
      const since = await catalog.watch().token()
      const count = 2_600
      const operations = Array.from({ length: count }, (_, i) => ({ declare_table: { id: [`t${i}`] } }))
      await catalog.batchCommitTables({ operations })
      const [change, ...others] = await changesSince(catalog, since)
      expect(others).toEqual([])
      expect(change!.changes.map(({ id }) => id[0])).toEqual(
        operations.map(({ declare_table }) => declare_table.id[0]),
      )
      const report = await catalog.verify()
      expect(report.findings).toEqual([])
    })

    test('gives what concerns a namespace or a table, also when that goes with what it is in', async () => {
      const catalog = await open()
      const since = await catalog.watch().token()
      await catalog.createNamespace({ id: ['a'] })
      await catalog.createNamespace({ id: ['ab'] })
      await catalog.declareTable({ id: ['ab', 't'] })
      await catalog.declareTable({ id: ['a', 't'] })
      await catalog.renameTable({ id: ['ab', 't'], new_table_name: 'u', new_namespace_id: ['a'] })
      await catalog.dropNamespace({ id: ['a'], behavior: 'Cascade' })
      const seen = async (id: string[], count: number) => {
        const watch = catalog.watch({ id, since })
        const taken = await take(watch, count)
        await watch.return()
        return taken.flatMap(({ changes }) =>
          changes.map(({ operation, id: of }) => `${operation} ${of.join('.')}`),
        )
      }
      expect(await seen(['a'], 4)).toEqual([
        'CreateNamespace a',
        'DeclareTable a.t',
        'RenameTable ab.t',
        'DropNamespace a',
      ])
      expect(await seen(['a', 't'], 3)).toEqual(['CreateNamespace a', 'DeclareTable a.t', 'DropNamespace a'])
      expect(await seen(['ab', 't'], 3)).toEqual([
        'CreateNamespace ab',
        'DeclareTable ab.t',
        'RenameTable ab.t',
      ])
    })

    test('refuses tokens of another catalog, what is no token, and what it does not know', async () => {
      const [catalog, other] = [await open(), await open()]
      const since = await other.watch().token()
      await fails(() => catalog.watch({ since }).next(), 'InvalidInput', 'another catalog')
      for (const wrong of ['', 'x', 'WzFd', `${since}x`.repeat(100)])
        await fails(() => catalog.watch({ since: wrong }).next(), 'InvalidInput', 'no token')
      await fails(() => catalog.watch({ id: [''] }).next(), 'InvalidInput', /identifier/)
      await fails(() => catalog.watch({ id: 'a' as never }).next(), 'InvalidInput', /identifier/)
      if (!open.remote)
        await fails(() => catalog.watch({ sinse: '' } as never).next(), 'InvalidInput', 'since')
    })

    test('tells when changes behind a token were cleared, and never skips them', async () => {
      const catalog = await open({ transactionCount: 10 })
      const since = await catalog.watch().token()
      const slow = catalog.watch()
      await slow.token()
      for (let i = 0; i < 60; i++) await catalog.declareTable({ id: [`t${i}`] })
      await expect
        .poll(() =>
          catalog
            .watch({ since })
            .next()
            .then(
              () => 'there',
              ({ code, message }) => `${code}: ${message}`,
            ),
        )
        .toMatch(/^TransactionNotFound: .*list what there is/)
      await slow.return()
      // The newest are there.
      const end = await catalog.watch().token()
      await catalog.declareTable({ id: ['last'] })
      expect(await changesSince(catalog, end)).toHaveLength(1)
    })

    test('ends by return, by its signal and with the catalog', async () => {
      const catalog = await open()
      const returned = catalog.watch()
      const first = returned.next()
      await returned.token()
      await returned.return()
      expect(await first).toEqual({ done: true, value: undefined })
      const reason = new Error('enough')
      const stop = new AbortController()
      const stopped = catalog.watch({ signal: stop.signal })
      await stopped.token()
      const second = stopped.next()
      stop.abort(reason)
      await expect(second).rejects.toBe(reason)
      const closed = catalog.watch()
      await closed.token()
      const third = closed.next()
      await catalog.close()
      expect(await third).toEqual({ done: true, value: undefined })
      expect(() => catalog.watch()).toThrow(/closed/)
    })

    test('is not watched inside of a transaction', async () => {
      const catalog = await open()
      await catalog.transaction(async (tx) => {
        expect(() => (tx as unknown as LocalCatalog).watch()).toThrow(/watch on the catalog/)
      })
    })
  })
})

eachLocalCatalog((open) => {
  test('a watch tells no more than the authorize hook lets its caller read', async () => {
    const hidden = (id: readonly string[] | undefined) => id?.[0] === 'secret'
    const catalog = await open({
      authorize: ({ id, changes }) => changes || !hidden(id),
    })
    const since = await catalog.watch().token()
    await catalog.createNamespace({ id: ['secret'] })
    await catalog.declareTable({ id: ['secret', 't'] })
    await catalog.declareTable({ id: ['u'] })
    await catalog.renameTable({ id: ['secret', 't'], new_table_name: 't', new_namespace_id: [] })
    await catalog.renameTable({ id: ['u'], new_table_name: 'u', new_namespace_id: ['secret'] })
    const seen = (await take(catalog.watch({ since }), 3)).flatMap(({ changes }) => changes)
    expect(seen).toMatchObject([
      { id: ['u'], effect: 'created' },
      { id: ['t'], effect: 'created' },
      { id: ['u'], effect: 'removed' },
    ])
    expect(JSON.stringify(seen)).not.toMatch(/secret/)
    const batch = [{ declare_table: { id: ['v'] } }, { declare_table: { id: ['secret', 'w'] } }]
    await catalog.batchCommitTables({ operations: batch, context: { principal: 'ada' } })
    const { transactions } = await catalog.listTransactions({ context: { principal: 'ada' } })
    expect(JSON.stringify(transactions)).not.toMatch(/secret/)
    expect(transactions.map(({ changes, num_changes }) => [changes, num_changes])).toMatchObject([
      [[{ id: ['v'], effect: 'created' }], 1],
      [[{ id: ['u'], effect: 'removed' }], 1],
      [[{ id: ['u'], effect: 'created' }], 1],
    ])
  })

  test('a watch tells who asked for a change', async () => {
    const catalog = await open()
    const since = await catalog.watch().token()
    await catalog.declareTable({ id: t, context: { principal: 'ada' } })
    await catalog.transaction((tx) => tx.dropTable({ id: t, context: { principal: 'bob' } }))
    const all = await changesSince(catalog, since)
    expect(all.map(({ principal }) => principal)).toEqual(['ada', 'bob'])
  })
})

test('a token of a state that was put back is refused', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const before = catalog.snapshot()
  await catalog.declareTable({ id: ['one'] })
  const since = await catalog.watch().token()
  const watch = catalog.watch()
  await watch.token()
  catalog.restore(before)
  await fails(() => catalog.watch({ since }).next(), 'TransactionNotFound')
  await catalog.declareTable({ id: ['other'] })
  await fails(() => catalog.watch({ since }).next(), 'TransactionNotFound')
  await fails(() => watch.next(), 'TransactionNotFound')
})

test('the feed follows random histories over a store that guesses', async () => {
  await followsHistories(async () =>
    closedAfterwards(
      await openCatalog({ store: guessingStore(), content: memoryContent(), root: 'memory://here' }),
    ),
  )
})

test.skipIf(missingPostgres)('the feed follows random histories over PostgreSQL', async () => {
  const server = await sharedServer()
  await followsHistories(async () => {
    const store = await openPostgresStore(await server.freshUrl())
    return closedAfterwards(await openCatalog({ store, content: memoryContent(), root: 'memory://here' }))
  })
})

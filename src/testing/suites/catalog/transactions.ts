import assert from 'node:assert/strict'
import { wallClock } from '../../../base/time.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, versionOf } from './trial.ts'

export const transactions: Topic<CatalogTrial> = {
  name: 'transactions',
  cases: [
    rule(
      'transaction.recorded',
      'document 4.7; decision: transactions',
      'Every change has a transaction, told as Succeeded as soon as its answer is there.',
      ['describeTransaction', 'renameTable', 'createTableTag', 'deregisterTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const answers = [
          await catalog.createNamespace({ id: id('n') }),
          await catalog.declareTable({ id: id('t') }),
          await catalog.createTableVersion(versionOf(id('t'), 1)),
          await catalog.createTableTag({ id: id('t'), tag: 'x', version: 1 }),
          await catalog.renameTable({ id: id('t'), new_table_name: 'u' }),
          await catalog.deregisterTable({ id: id('u') }),
        ]
        const ids = answers.map(({ transaction_id }) => transaction_id)
        for (const one of ids) {
          assert.ok(one, 'A change answered without a transaction_id.')
          const { status, properties } = await catalog.describeTransaction({ id: [one] })
          assert.equal(status, 'Succeeded')
          assert.equal(typeof properties, 'object')
        }
        assert.equal(new Set(ids).size, ids.length)
      },
    ),
    rule(
      'transaction.identifier',
      'decision: transactions',
      'A transaction is named by its id alone, or by the identifier of its table with the id last.',
      ['describeTransaction'],
      async ({ catalog, id }: CatalogTrial) => {
        const { transaction_id } = await catalog.declareTable({ id: id('t') })
        const alone = await catalog.describeTransaction({ id: [transaction_id!] })
        const withTable = await catalog.describeTransaction({ id: id('t', transaction_id!) })
        assert.equal(alone.status, withTable.status)
        assert.deepEqual(alone.properties, withTable.properties)
      },
    ),
    rule(
      'transaction.other-table',
      'decision: transactions',
      "A transaction is not found under another table's identifier, and found under its own after a rename.",
      ['describeTransaction', 'renameTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const { transaction_id } = await catalog.declareTable({ id: id('t') })
        await catalog.declareTable({ id: id('other') })
        await refused(
          catalog.describeTransaction({ id: id('other', transaction_id!) }),
          'TransactionNotFound',
        )
        await catalog.renameTable({ id: id('t'), new_table_name: 'u' })
        await catalog.describeTransaction({ id: id('u', transaction_id!) })
      },
    ),
    rule(
      'transaction.listed',
      'listTransactions',
      'Transactions are listed with what they did, the newest first, in pages of the limit.',
      ['listTransactions', 'createTableTag'],
      async ({ catalog, id }: CatalogTrial) => {
        const since_millis = wallClock() - 3_600_000
        const answers = [
          await catalog.declareTable({ id: id('t') }),
          await catalog.createTableVersion(versionOf(id('t'), 1)),
          await catalog.createTableTag({ id: id('t'), tag: 'x', version: 1 }),
        ]
        const ids = answers.map(({ transaction_id }) => transaction_id!)
        const found: string[] = []
        // Others may use the same catalog at the same time.
        for (let page_token: string | undefined; found.length < ids.length; ) {
          const page = await catalog.listTransactions({ limit: 2, page_token })
          assert.ok(page.transactions.length <= 2, 'A page has more than its limit.')
          for (const { transaction_id, status, subject } of page.transactions) {
            if (!ids.includes(transaction_id)) continue
            found.push(transaction_id)
            assert.equal(status, 'Succeeded')
            assert.deepEqual(subject, id('t'))
          }
          page_token = page.page_token
          if (page_token === undefined) break
        }
        assert.deepEqual(found, ids.toReversed())
        const running = await catalog.listTransactions({ status: ['Running'], since_millis })
        assert.ok(running.transactions.every(({ status }) => status === 'Running'))
      },
    ),
    rule(
      'transaction.missing',
      'document 4.7, status 404',
      'A transaction nobody knows is TransactionNotFound.',
      ['describeTransaction'],
      async ({ catalog, id }: CatalogTrial) => {
        for (const one of [['none'], ['01ARZ3NDEKTSV4RRFFQ69G5FAV'], id('t', 'none')]) {
          await refused(catalog.describeTransaction({ id: one }), 'TransactionNotFound')
        }
      },
    ),
    rule(
      'transaction.properties',
      'protocol: alter transaction',
      'Properties can be set and unset; all actions are done, or none.',
      ['describeTransaction', 'alterTransaction'],
      async ({ catalog, id }: CatalogTrial) => {
        const { transaction_id } = await catalog.declareTable({ id: id('t') })
        const one = [transaction_id!]
        const set = (key: string, value: string) => ({ setPropertyAction: { key, value } })
        await catalog.alterTransaction({ id: one, actions: [set('a', '1'), set('b', '2')] })
        await refused(
          catalog.alterTransaction({
            id: one,
            actions: [set('a', '3'), { unsetPropertyAction: { key: 'none', mode: 'Fail' } }],
          }),
          ['InvalidInput', 'ConcurrentModification'],
        )
        await catalog.alterTransaction({ id: one, actions: [{ unsetPropertyAction: { key: 'b' } }] })
        const { properties } = await catalog.describeTransaction({ id: one })
        assert.equal(properties.a, '1')
        assert.equal(properties.b, undefined)
      },
    ),
    rule(
      'transaction.status-case',
      'document 2, transaction; decision: status names',
      'Statuses are written in PascalCase and read in any case; what is finished keeps its status.',
      ['describeTransaction', 'alterTransaction'],
      async ({ catalog, id }: CatalogTrial) => {
        const { transaction_id } = await catalog.declareTable({ id: id('t') })
        const one = [transaction_id!]
        for (const status of ['Succeeded', 'succeeded', 'SUCCEEDED']) {
          const actions = [{ setStatusAction: { status: status as 'Succeeded' } }]
          assert.equal((await catalog.alterTransaction({ id: one, actions })).status, 'Succeeded')
        }
        const cancel = [{ setStatusAction: { status: 'Canceled' as const } }]
        await refused(catalog.alterTransaction({ id: one, actions: cancel }), 'ConcurrentModification')
        assert.equal((await catalog.describeTransaction({ id: one })).status, 'Succeeded')
      },
    ),
  ],
}

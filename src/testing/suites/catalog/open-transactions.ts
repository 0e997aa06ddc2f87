import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, tablesIn, versionOf, withVersions } from './trial.ts'

const needs = ['beginTransaction', 'commitTransaction', 'rollbackTransaction']

async function begin({ catalog }: CatalogTrial): Promise<string> {
  const { transaction_id, status } = await catalog.beginTransaction({})
  assert.equal(typeof transaction_id, 'string')
  assert.equal(status, 'Running')
  return transaction_id
}

/** The names of the tables of the case. */
async function names(trial: CatalogTrial): Promise<string[]> {
  return (await tablesIn(trial, { include_declared: true })).map((name) => name.join('.'))
}

/** Transactions across several requests. */
export const openTransactions: Topic<CatalogTrial> = {
  name: 'open transactions',
  cases: [
    rule(
      'session.all',
      'beginTransaction; commitTransaction',
      'All that operations did inside of a transaction is there when its commit is acknowledged.',
      [...needs, 'renameTable', 'dropTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'a', 1)
        await withVersions(trial, 'b', 1)
        await catalog.declareTable({ id: id('c') })
        const transaction = await begin(trial)
        await catalog.createTableVersion(versionOf(id('a'), 2), { transaction })
        await catalog.createTableVersion(versionOf(id('b'), 2), { transaction })
        await catalog.renameTable({ id: id('b'), new_table_name: 'd' }, { transaction })
        await catalog.dropTable({ id: id('c') }, { transaction })
        await catalog.createNamespace({ id: id('n') }, { transaction })
        const answer = await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual([answer.transaction_id, answer.status], [transaction, 'Succeeded'])
        assert.deepEqual(await names(trial), ['a', 'd'])
        assert.deepEqual(await numbers(catalog, id('a')), [1, 2])
        assert.deepEqual(await numbers(catalog, id('d')), [1, 2])
        assert.deepEqual((await catalog.listNamespaces({ id: id() })).namespaces, ['n'])
      },
    ),
    rule(
      'session.own',
      'OperationOptions.transaction',
      'Operations inside see what those before them did.',
      [...needs, 'renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const transaction = await begin(trial)
        await catalog.declareTable({ id: id('a'), properties: { k: '1' } }, { transaction })
        await catalog.createTableVersion(versionOf(id('a'), 1), { transaction })
        await catalog.renameTable({ id: id('a'), new_table_name: 'b' }, { transaction })
        const described = await catalog.describeTable({ id: id('b') }, { transaction })
        assert.deepEqual(described.properties, { k: '1' })
        const { tables } = await catalog.listTables({ id: id() }, { transaction })
        assert.deepEqual(tables, [id('b').join('$')])
        const { versions } = await catalog.listTableVersions({ id: id('b') }, { transaction })
        assert.equal(versions.length, 1)
        await refused(catalog.declareTable({ id: id('b') }, { transaction }), 'TableAlreadyExists')
        await catalog.rollbackTransaction({ id: [transaction] })
      },
    ),
    rule(
      'session.unseen',
      'beginTransaction',
      'Nobody outside, and no other transaction, sees anything before the commit; also not when it was looked at before.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'a', 1)
        assert.deepEqual(await names(trial), ['a'])
        const transaction = await begin(trial)
        const other = await begin(trial)
        await catalog.declareTable({ id: id('b') }, { transaction })
        await catalog.createTableVersion(versionOf(id('a'), 2), { transaction })
        const inside = async (one: string) => {
          const request = { id: id(), include_declared: true }
          return (await catalog.listTables(request, { transaction: one })).tables.length
        }
        assert.deepEqual([await inside(transaction), await inside(other)], [2, 1])
        assert.deepEqual(await names(trial), ['a'])
        assert.deepEqual(await numbers(catalog, id('a')), [1])
        await refused(catalog.describeTable({ id: id('b') }), 'TableNotFound')
        await refused(catalog.describeTable({ id: id('b') }, { transaction: other }), 'TableNotFound')
        await catalog.rollbackTransaction({ id: [other] })
        await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual(await names(trial), ['a', 'b'])
        assert.deepEqual(await numbers(catalog, id('a')), [1, 2])
      },
    ),
    rule(
      'session.given-up',
      'rollbackTransaction; alterTransaction',
      'Nothing is there of what was rolled back or canceled, and it cannot be committed any more.',
      [...needs, 'alterTransaction'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'a', 1)
        const ways = [
          (one: string) => catalog.rollbackTransaction({ id: [one] }),
          (one: string) =>
            catalog.alterTransaction({ id: [one], actions: [{ setStatusAction: { status: 'Canceled' } }] }),
        ]
        for (const giveUp of ways) {
          const transaction = await begin(trial)
          await catalog.createTableVersion(versionOf(id('a'), 2), { transaction })
          await catalog.declareTable({ id: id('b') }, { transaction })
          assert.equal((await giveUp(transaction)).status, 'Canceled')
          await refused(catalog.commitTransaction({ id: [transaction] }), 'ConcurrentModification')
          await refused(catalog.declareTable({ id: id('c') }, { transaction }), 'ConcurrentModification')
          assert.equal((await catalog.rollbackTransaction({ id: [transaction] })).status, 'Canceled')
          assert.deepEqual(await names(trial), ['a'])
          assert.deepEqual(await numbers(catalog, id('a')), [1])
        }
      },
    ),
    rule(
      'session.again',
      'commitTransaction',
      'A commit that is asked for again answers as the first; after it, nothing is taken and nothing can be undone.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const transaction = await begin(trial)
        await catalog.declareTable({ id: id('a') }, { transaction })
        const { context: _, ...first } = await catalog.commitTransaction({ id: [transaction] })
        const { context: __, ...second } = await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual(second, first)
        await refused(catalog.declareTable({ id: id('b') }, { transaction }), 'InvalidInput')
        await refused(catalog.rollbackTransaction({ id: [transaction] }), 'ConcurrentModification')
        assert.deepEqual(await names(trial), ['a'])
      },
    ),
    rule(
      'session.lost',
      'commitTransaction',
      'When others changed what was read inside, nothing is committed: ConcurrentModification, with the transaction_id.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'a', 1)
        await withVersions(trial, 'b', 1)
        const transaction = await begin(trial)
        await catalog.listTableVersions({ id: id('a') }, { transaction })
        await catalog.createTableVersion(versionOf(id('b'), 2), { transaction })
        await catalog.createTableVersion(versionOf(id('a'), 2))
        const commit = () => catalog.commitTransaction({ id: [transaction] })
        const error = await refused(commit, 'ConcurrentModification')
        assert.equal((error as { transaction_id?: string }).transaction_id, transaction)
        await refused(commit, 'ConcurrentModification')
        assert.deepEqual(await numbers(catalog, id('b')), [1])
      },
    ),
    rule(
      'session.retry',
      'beginTransaction.retry_of',
      'What is given up can be done again. What is open (InvalidInput), committed (ConcurrentModification) or unknown cannot.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const retry = (retry_of: string) => catalog.beginTransaction({ retry_of })
        const former = await begin(trial)
        await refused(retry(former), 'InvalidInput')
        await catalog.declareTable({ id: id('a') }, { transaction: former })
        await catalog.rollbackTransaction({ id: [former] })
        const { transaction_id: transaction } = await retry(former)
        assert.notEqual(transaction, former)
        await catalog.declareTable({ id: id('b') }, { transaction })
        await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual(await names(trial), ['b'])
        await refused(retry(transaction), 'ConcurrentModification')
        await refused(retry('01ARZ3NDEKTSV4RRFFQ69G5FAV'), 'TransactionNotFound')
      },
    ),
    rule(
      'session.refused',
      'OperationOptions.transaction',
      'An operation that is refused inside changes nothing, and the rest is committed.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const transaction = await begin(trial)
        await catalog.declareTable({ id: id('a') }, { transaction })
        await refused(catalog.declareTable({ id: id('a') }, { transaction }), 'TableAlreadyExists')
        await refused(catalog.describeTable({ id: id('none') }, { transaction }), 'TableNotFound')
        await catalog.declareTable({ id: id('b') }, { transaction })
        await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual(await names(trial), ['a', 'b'])
      },
    ),
    rule(
      'session.unknown',
      'beginTransaction',
      'A transaction that nobody began is TransactionNotFound, and one that cannot be is InvalidInput.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const transaction = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
        await refused(catalog.declareTable({ id: id('a') }, { transaction }), 'TransactionNotFound')
        await refused(catalog.commitTransaction({ id: [transaction] }), 'TransactionNotFound')
        await refused(catalog.rollbackTransaction({ id: [transaction] }), 'TransactionNotFound')
        for (const wrong of ['', 'two, ids'])
          await refused(catalog.declareTable({ id: id('a') }, { transaction: wrong }), 'InvalidInput')
        const change = await catalog.createNamespace({ id: id('n') })
        await refused(
          catalog.declareTable({ id: id('a') }, { transaction: change.transaction_id! }),
          'TransactionNotFound',
        )
        assert.deepEqual(await names(trial), [])
      },
    ),
    rule(
      'session.nested',
      'beginTransaction',
      'A transaction has no transactions inside: that is Unsupported, and the outer one goes on.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const transaction = await begin(trial)
        await refused(catalog.beginTransaction({}, { transaction }), 'Unsupported')
        await catalog.declareTable({ id: id('a') }, { transaction })
        await catalog.commitTransaction({ id: [transaction] })
        assert.deepEqual(await names(trial), ['a'])
      },
    ),
  ],
}

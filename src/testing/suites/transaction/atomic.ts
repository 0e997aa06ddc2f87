import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { count, names, type TransactionTrial, withRows } from './trial.ts'

const source = 'LocalCatalog.transaction'

/** A transaction is applied as a whole, or not at all. */
export const atomic: Topic<TransactionTrial> = {
  name: 'all or nothing',
  cases: [
    rule(
      'tx.all',
      source,
      'All that a transaction did is there when it is acknowledged, and its result is that of the function.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b', 'c', 'd')
        const result = await catalog.transaction(async (tx) => {
          await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
          await tx.deleteFromTable({ id: id('b'), predicate: 'k = 1' })
          await tx.renameTable({ id: id('c'), new_table_name: 'e' })
          await tx.dropTable({ id: id('d') })
          await tx.declareTable({ id: id('f'), properties: { from: 'a transaction' } })
          await tx.createTableTag({ id: id('a'), tag: 'last', version: 2 })
          return 'done'
        })
        assert.equal(result, 'done')
        assert.deepEqual(await names(catalog, id()), ['a', 'b', 'e', 'f'])
        assert.deepEqual(
          [await count(catalog, id('a')), await count(catalog, id('b')), await count(catalog, id('e'))],
          [3, 1, 2],
        )
        assert.equal((await catalog.getTableTagVersion({ id: id('a'), tag: 'last' })).version, 2)
        assert.deepEqual((await catalog.describeTable({ id: id('f') })).properties, {
          from: 'a transaction',
        })
      },
    ),
    rule(
      'tx.nothing',
      source,
      'When the function throws, its error is passed on and nothing of the transaction is there.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const own = new RangeError('out of stock')
        const failing = catalog.transaction(async (tx) => {
          await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
          await tx.dropTable({ id: id('b') })
          await tx.createTable({ id: id('c'), data: [{ k: 1 }] })
          await tx.createNamespace({ id: id('n') })
          throw own
        })
        await assert.rejects(failing, (error) => error === own)
        assert.deepEqual(await names(catalog, id()), ['a', 'b'])
        assert.deepEqual([await count(catalog, id('a')), await count(catalog, id('b'))], [2, 2])
        assert.deepEqual((await catalog.listNamespaces({ id: id() })).namespaces, [])
      },
    ),
    rule(
      'tx.caught',
      source,
      'An operation that is refused inside changes nothing; when the function goes on, the rest is committed.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        await catalog.transaction(async (tx) => {
          await tx.declareTable({ id: id('b') })
          await refused(tx.declareTable({ id: id('b') }), 'TableAlreadyExists')
          await refused(
            tx.batchCommitTables({
              operations: [{ declare_table: { id: id('c') } }, { declare_table: { id: id('b') } }],
            }),
            'TableAlreadyExists',
          )
          await refused(tx.dropTable({ id: id('none') }), 'TableNotFound')
          await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
        })
        assert.deepEqual(await names(catalog, id()), ['a', 'b'])
        assert.equal(await count(catalog, id('a')), 3)
      },
    ),
    rule('tx.own', source, 'A transaction sees its own changes.', [], async (trial: TransactionTrial) => {
      const { catalog, id } = trial
      await withRows(trial, 'a', 'b')
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }, { k: 4 }] })
        assert.equal(await count(tx, id('a')), 4)
        await tx.deleteFromTable({ id: id('a'), predicate: 'k = 4' })
        assert.equal(await count(tx, id('a'), 'k > 2'), 1)
        await tx.renameTable({ id: id('b'), new_table_name: 'c' })
        assert.deepEqual(await names(tx, id()), ['a', 'c'])
        await tx.createNamespace({ id: id('n') })
        await tx.declareTable({ id: id('n', 't') })
        assert.deepEqual(await names(tx, id('n')), ['t'])
        await tx.createTableVersion({ id: id('n', 't'), version: 1, manifest_path: 'of/another/engine' })
        const { versions } = await tx.listTableVersions({ id: id('n', 't') })
        assert.deepEqual(
          versions.map(({ version }) => version),
          [1],
        )
        await tx.dropNamespace({ id: id('n'), behavior: 'Cascade' })
        await refused(tx.describeTable({ id: id('n', 't') }), 'TableNotFound')
      })
    }),
    rule(
      'tx.unseen',
      source,
      'Nobody else sees anything of a transaction before its commit.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        await catalog.transaction(async (tx) => {
          const { transaction_id } = await tx.insertIntoTable({ id: id('a'), data: [{ k: 3 }] })
          await tx.renameTable({ id: id('b'), new_table_name: 'c' })
          await tx.declareTable({ id: id('d') })
          assert.equal(await count(catalog, id('a')), 2)
          assert.equal((await catalog.listTableVersions({ id: id('a') })).versions.length, 1)
          assert.deepEqual(await names(catalog, id()), ['a', 'b'])
          await refused(catalog.describeTransaction({ id: [transaction_id!] }), 'TransactionNotFound')
        })
        assert.deepEqual(await names(catalog, id()), ['a', 'c', 'd'])
      },
    ),
    rule(
      'tx.content-kept',
      source,
      'What a transaction drops stays whole when the transaction is given up.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a')
        await catalog.createNamespace({ id: id('n') })
        await catalog.createTable({ id: id('n', 'b'), data: [{ k: 1 }] })
        await catalog.createTable({ id: id('c'), data: [{ k: 1 }] })
        const failing = catalog.transaction(async (tx) => {
          await tx.dropTable({ id: id('a') })
          await tx.dropNamespace({ id: id('n'), behavior: 'Cascade' })
          await tx.createTable({ id: id('c'), data: [{ k: 1 }, { k: 2 }], mode: 'Overwrite' })
          throw new RangeError('no')
        })
        await assert.rejects(failing, RangeError)
        assert.deepEqual(
          [await count(catalog, id('a'), 'k > 0'), await count(catalog, id('n', 'b'), 'k > 0')],
          [2, 1],
        )
        assert.equal(await count(catalog, id('c'), 'k > 0'), 1)
      },
    ),
    rule(
      'tx.deregistered',
      source,
      'A table that a transaction deregistered can be registered again, inside and after it.',
      [],
      async (trial: TransactionTrial) => {
        const { catalog, id } = trial
        await withRows(trial, 'a', 'b')
        const location = await catalog.transaction(async (tx) => {
          const first = await tx.deregisterTable({ id: id('a') })
          const second = await tx.deregisterTable({ id: id('b') })
          await tx.registerTable({ id: id('c'), location: second.location })
          assert.equal(await count(tx, id('c')), 2)
          return first.location
        })
        assert.deepEqual(await names(catalog, id()), ['c'])
        await catalog.registerTable({ id: id('a'), location })
        assert.deepEqual([await count(catalog, id('a')), await count(catalog, id('c'))], [2, 2])
      },
    ),
  ],
}

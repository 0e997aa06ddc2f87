import assert from 'node:assert/strict'
import { nextTurn } from '../../../base/time.ts'
import { during, refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, tablesIn, unchanged, versionOf, withVersions } from './trial.ts'

const needs = ['batchCommitTables']

export const batches: Topic<CatalogTrial> = {
  name: 'batch commit',
  cases: [
    rule(
      'batch.results',
      'document 4.8',
      'Results come in the order of the operations, each under the member of its operation.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'lines', 1, 2, 3)
        await withVersions(trial, 'orders')
        const { location } = await catalog.declareTable({ id: id('gone') })
        const { results } = await catalog.batchCommitTables({
          operations: [
            { create_table_version: { ...versionOf(id('orders'), 8), e_tag: 'e' } },
            {
              delete_table_versions: { id: id('lines'), ranges: [{ start_version: 1, end_version: 3 }] },
            },
            { deregister_table: { id: id('gone') } },
            { declare_table: { id: id('new'), properties: { a: '1' } } },
          ],
        })
        assert.deepEqual(
          results.map((result) => Object.keys(result)),
          [['create_table_version'], ['delete_table_versions'], ['deregister_table'], ['declare_table']],
        )
        assert.equal(results[0]!.create_table_version!.version?.version, 8)
        assert.equal(results[0]!.create_table_version!.version?.e_tag, 'e')
        assert.equal(results[1]!.delete_table_versions!.deleted_count, 2)
        assert.deepEqual(results[2]!.deregister_table!.id, id('gone'))
        assert.equal(results[2]!.deregister_table!.location, location)
        assert.ok(results[3]!.declare_table!.location)
        assert.deepEqual(await tablesIn(trial), [['lines'], ['new'], ['orders']])
      },
    ),
    rule(
      'batch.in-order',
      'decision: batch commit',
      'Operations run in order, and each sees what those before it did.',
      needs,
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.declareTable({ id: id('a') })
        await catalog.batchCommitTables({
          operations: [
            { deregister_table: { id: id('a') } },
            { declare_table: { id: id('a') } },
            { create_table_version: versionOf(id('a'), 1) },
            { create_table_version: versionOf(id('a'), 2) },
            { delete_table_versions: { id: id('a'), ranges: [{ start_version: 0, end_version: 2 }] } },
          ],
        })
        assert.deepEqual(await numbers(catalog, id('a')), [2])
      },
    ),
    rule(
      'batch.atomic',
      'document 4.8; decision: batch commit',
      'The first failure undoes all, and its error says the index of the operation.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await withVersions(trial, 'a', 1)
        const before = [
          { declare_table: { id: id('b') } },
          { create_table_version: versionOf(id('a'), 2) },
          { deregister_table: { id: id('a') } },
        ]
        const batch = (last: object) => [() => catalog.batchCommitTables({ operations: [...before, last] })]
        await unchanged(trial, 'TableAlreadyExists', batch({ declare_table: { id: id('b') } }), /\b3\b/)
        await unchanged(trial, 'NamespaceNotFound', batch({ declare_table: { id: id('x', 'y') } }), /\b3\b/)
        await unchanged(trial, 'TableNotFound', batch({ deregister_table: { id: id('a') } }), /\b3\b/)
        const skipping = { create_table_version: versionOf(id('b'), 1) }
        const late = { create_table_version: versionOf(id('b'), 9) }
        await unchanged(
          trial,
          'ConcurrentModification',
          [() => catalog.batchCommitTables({ operations: [before[0]!, skipping, late] })],
          /\b2\b/,
        )
        await catalog.batchCommitTables({ operations: before })
        assert.deepEqual(await tablesIn(trial), [['b']])
      },
    ),
    rule(
      'batch.seen-whole',
      'document 4.8',
      'Nobody sees a part of a batch.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const commit = async () => {
          for (let i = 0; i < 6; i++) {
            const operations = Array.from({ length: 5 }, (_, n) => ({
              [i % 2 ? 'deregister_table' : 'declare_table']: { id: id(`t${n}`) },
            }))
            await catalog.batchCommitTables({ operations })
            await nextTurn()
          }
        }
        await during(commit, async () => {
          const { length } = await tablesIn(trial)
          assert.ok(length === 0 || length === 5, `${length} of 5 tables were seen.`)
        })
      },
    ),
    rule(
      'batch.refused',
      'document 4.8; decision: batch commit',
      'A batch that is empty, or has an operation with none, several or unknown members, is InvalidInput.',
      needs,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const declare_table = { id: id('a') }
        const bad: unknown[] = [
          undefined,
          {},
          [],
          [{}],
          [{ drop_table: declare_table }],
          [{ declare_table, deregister_table: declare_table }],
          [{ declare_table }, null],
          [{ declare_table: {} }],
          [{ declare_table }, { create_table_version: { id: id('a'), version: -1, manifest_path: 'm' } }],
        ]
        const attempts = bad.map(
          (operations) => async () => catalog.batchCommitTables({ operations } as never),
        )
        await unchanged(trial, 'InvalidInput', attempts)
      },
    ),
    rule(
      'batch.transaction',
      'document 4.8',
      'A batch has one transaction_id, which can be described.',
      [...needs, 'describeTransaction'],
      async ({ catalog, id }: CatalogTrial) => {
        const { transaction_id } = await catalog.batchCommitTables({
          operations: [{ declare_table: { id: id('a') } }, { declare_table: { id: id('b') } }],
        })
        assert.ok(transaction_id)
        assert.equal((await catalog.describeTransaction({ id: [transaction_id] })).status, 'Succeeded')
        await refused(catalog.describeTransaction({ id: [`${transaction_id}x`] }), 'TransactionNotFound')
      },
    ),
  ],
}

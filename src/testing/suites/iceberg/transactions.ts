import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { creationOf } from './tables.ts'
import {
  createTable,
  done,
  failed,
  type IcebergTrial,
  loadTable,
  otherUuid,
  snapshotUpdates,
  tableAt,
  unchanged,
} from './trial.ts'

const needs = ['commitTransaction']

/** A change of a table in a transaction. */
function change(
  { home }: IcebergTrial,
  name: string,
  updates: readonly unknown[],
  requirements: readonly unknown[] = [],
) {
  return { identifier: { namespace: home, name }, requirements, updates }
}

const commitAll = ({ ask }: IcebergTrial, ...changes: object[]) =>
  ask('POST', ['transactions', 'commit'], { body: { 'table-changes': changes } })

const set = (value: string) => [{ action: 'set-properties', updates: { value } }]
const isEmpty = [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }]
const isOther = [{ type: 'assert-table-uuid', uuid: otherUuid }]

export const transactions: Topic<IcebergTrial> = {
  name: 'transactions over several tables',
  cases: [
    rule(
      'iceberg.transaction',
      'Iceberg REST, commitTransaction',
      'Changes of several tables are made together.',
      needs,
      async (trial) => {
        for (const name of ['a', 'b', 'c']) await createTable(trial, name)
        const changes = ['a', 'b', 'c'].map((name, i) => change(trial, name, snapshotUpdates(i + 1), isEmpty))
        done(await commitAll(trial, ...changes))
        for (const [i, name] of ['a', 'b', 'c'].entries())
          assert.equal((await loadTable(trial, name)).metadata['current-snapshot-id'], i + 1)
      },
    ),
    rule(
      'iceberg.transaction-none',
      'Iceberg REST, commitTransaction',
      'A requirement of one table that does not hold is 409, and leaves all tables as they were.',
      needs,
      async (trial) => {
        for (const name of ['a', 'b', 'c']) await createTable(trial, name)
        await unchanged(trial, ['a', 'b', 'c'], async () => {
          for (const bad of ['a', 'b', 'c']) {
            const changes = ['a', 'b', 'c'].map((name) =>
              change(trial, name, set('yes'), name === bad ? isOther : []),
            )
            failed(await commitAll(trial, ...changes), 409, 'CommitFailedException')
          }
        })
      },
    ),
    rule(
      'iceberg.transaction-invalid',
      'Iceberg REST, commitTransaction, status 400',
      'An update that nobody knows, or does not fit, is 400, and leaves all tables as they were.',
      needs,
      async (trial) => {
        for (const name of ['a', 'b']) await createTable(trial, name)
        await unchanged(trial, ['a', 'b'], async () => {
          const good = change(trial, 'a', set('yes'))
          for (const update of [{ action: 'do-magic' }, { action: 'set-current-schema', 'schema-id': 7 }])
            failed(await commitAll(trial, good, change(trial, 'b', [update])), 400)
          failed(await commitAll(trial, good, { requirements: [], updates: set('yes') }), 400)
        })
      },
    ),
    rule(
      'iceberg.transaction-missing',
      'Iceberg REST, commitTransaction, status 404',
      'A table that is not there is 404, and leaves the others as they were.',
      needs,
      async (trial) => {
        await createTable(trial, 'a')
        await unchanged(trial, ['a'], async () => {
          const changes = [change(trial, 'a', set('yes')), change(trial, 'none', set('yes'))]
          failed(await commitAll(trial, ...changes), 404, 'NoSuchTableException')
        })
      },
    ),
    rule(
      'iceberg.transaction-creates',
      'Iceberg REST, commitTransaction, assert-create',
      'A staged table is created together with changes of others, or not at all.',
      needs,
      async (trial) => {
        await createTable(trial, 'a')
        const { metadata } = await createTable(trial, 'b', { 'stage-create': true })
        const creation = change(trial, 'b', creationOf(metadata), [{ type: 'assert-create' }])
        await unchanged(trial, ['a'], async () =>
          failed(await commitAll(trial, creation, change(trial, 'a', set('no'), isOther)), 409),
        )
        failed(await trial.ask('GET', tableAt(trial, 'b')), 404, 'NoSuchTableException')
        done(await commitAll(trial, creation, change(trial, 'a', set('yes'))))
        assert.equal((await loadTable(trial, 'b')).metadata['table-uuid'], metadata['table-uuid'])
        assert.equal((await loadTable(trial, 'a')).metadata.properties.value, 'yes')
      },
    ),
    rule(
      'iceberg.transactions-at-once',
      'Iceberg REST, commitTransaction',
      'Of transactions at once on the same pair of tables, each is made in both or in neither.',
      needs,
      async (trial) => {
        for (const name of ['a', 'b']) await createTable(trial, name)
        const values = ['1', '2', '3', '4', '5', '6']
        const replies = await Promise.all(
          values.map((value) =>
            commitAll(trial, change(trial, 'a', set(value)), change(trial, 'b', set(value))),
          ),
        )
        for (const reply of replies.filter(({ status }) => status >= 300))
          failed(reply, [409, 503], 'CommitFailedException', 'ServiceUnavailableException')
        const value = async (name: string) => (await loadTable(trial, name)).metadata.properties.value
        const [a, b] = [await value('a'), await value('b')]
        assert.equal(a, b)
        assert.ok(values.some((one, i) => one === a && replies[i]!.status < 300))
      },
    ),
  ],
}

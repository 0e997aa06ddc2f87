import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import {
  committed,
  createTable,
  done,
  failed,
  good,
  type IcebergTrial,
  loadTable,
  namesIn,
  snapshotUpdates,
  tableAt,
} from './trial.ts'

const listed = async ({ ask, home }: IcebergTrial) =>
  namesIn(good(await ask('GET', ['namespaces', home, 'tables'])))

const rename = (
  { ask, home }: IcebergTrial,
  from: string,
  to: string,
  namespace: readonly string[] = home,
) => {
  const body = { source: { namespace: home, name: from }, destination: { namespace, name: to } }
  return ask('POST', ['tables', 'rename'], { body })
}

export const places: Topic<IcebergTrial> = {
  name: 'renaming, dropping and registering tables',
  cases: [
    rule(
      'iceberg.drop',
      'Iceberg REST, dropTable',
      'A dropped table is gone, and its name is free for another one.',
      [],
      async (trial) => {
        const first = await createTable(trial, 't')
        done(await trial.ask('DELETE', tableAt(trial, 't')))
        failed(await trial.ask('GET', tableAt(trial, 't')), 404, 'NoSuchTableException')
        assert.deepEqual(await listed(trial), [])
        const second = await createTable(trial, 't')
        assert.notEqual(second.metadata['table-uuid'], first.metadata['table-uuid'])
      },
    ),
    rule(
      'iceberg.purge',
      'Iceberg REST, dropTable, purgeRequested',
      'A table is dropped with its content.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        done(await trial.ask('DELETE', tableAt(trial, 't'), { query: { purgeRequested: 'true' } }))
        failed(await trial.ask('GET', tableAt(trial, 't')), 404, 'NoSuchTableException')
      },
    ),
    rule(
      'iceberg.rename',
      'Iceberg REST, renameTable',
      'A renamed table is there under its new name alone, with the same metadata.',
      ['renameTable'],
      async (trial) => {
        await createTable(trial, 'old')
        const metadata = await committed(trial, 'old', snapshotUpdates(5))
        done(await rename(trial, 'old', 'new'))
        assert.deepEqual((await loadTable(trial, 'new')).metadata, metadata)
        failed(await trial.ask('GET', tableAt(trial, 'old')), 404, 'NoSuchTableException')
        assert.deepEqual(await listed(trial), ['new'])
        // It goes on as before.
        const next = await committed(trial, 'new', snapshotUpdates(6, { parent: 5, sequence: 2 }))
        assert.equal(next['current-snapshot-id'], 6)
      },
    ),
    rule(
      'iceberg.rename-away',
      'Iceberg REST, renameTable',
      'A table is renamed into another namespace.',
      ['renameTable', 'nested'],
      async (trial) => {
        const { ask, home } = trial
        const inner = [...home, 'inner']
        good(await ask('POST', ['namespaces'], { body: { namespace: inner } }))
        const { metadata } = await createTable(trial, 't')
        done(await rename(trial, 't', 'u', inner))
        const moved = good(await ask('GET', ['namespaces', inner, 'tables', 'u']))
        assert.equal(moved.metadata['table-uuid'], metadata['table-uuid'])
        assert.deepEqual(await listed(trial), [])
      },
    ),
    rule(
      'iceberg.rename-refused',
      'Iceberg REST, renameTable, statuses 404 and 409',
      'To a taken name is 409, of a missing table or into a missing namespace 404; nothing is renamed.',
      ['renameTable'],
      async (trial) => {
        const first = await createTable(trial, 'a')
        const second = await createTable(trial, 'b')
        failed(await rename(trial, 'a', 'b'), 409, 'AlreadyExistsException')
        failed(await rename(trial, 'none', 'c'), 404, 'NoSuchTableException')
        failed(await rename(trial, 'a', 'c', ['nowhere-at-all']), 404, 'NoSuchNamespaceException')
        assert.deepEqual((await loadTable(trial, 'a')).metadata, first.metadata)
        assert.deepEqual((await loadTable(trial, 'b')).metadata, second.metadata)
        assert.deepEqual(await listed(trial), ['a', 'b'])
      },
    ),
    rule(
      'iceberg.register',
      'Iceberg REST, registerTable',
      'A table that was dropped comes back by its metadata file, as it was.',
      ['registerTable'],
      async (trial) => {
        const { ask, home } = trial
        await createTable(trial, 't')
        const metadata = await committed(trial, 't', snapshotUpdates(5))
        const { 'metadata-location': location } = await loadTable(trial, 't')
        done(await ask('DELETE', tableAt(trial, 't')))
        const body = { name: 'back', 'metadata-location': location }
        const answer = good(await ask('POST', ['namespaces', home, 'register'], { body }))
        assert.deepEqual(answer.metadata, metadata)
        assert.deepEqual((await loadTable(trial, 'back')).metadata, metadata)
        assert.deepEqual(await listed(trial), ['back'])
        const next = await committed(trial, 'back', snapshotUpdates(6, { parent: 5, sequence: 2 }))
        assert.equal(next['current-snapshot-id'], 6)
      },
    ),
    rule(
      'iceberg.register-refused',
      'Iceberg REST, registerTable, status 409',
      'A name that is taken is 409, and a metadata file that is not there is refused; nothing is registered.',
      ['registerTable'],
      async (trial) => {
        const { ask, home } = trial
        const first = await createTable(trial, 'a')
        const second = await createTable(trial, 'b')
        const register = (name: string, location: string) =>
          ask('POST', ['namespaces', home, 'register'], { body: { name, 'metadata-location': location } })
        done(await ask('DELETE', tableAt(trial, 'b')))
        failed(await register('a', second['metadata-location']), 409, 'AlreadyExistsException')
        const gone = first['metadata-location'].replace(/[^/]*$/, '00009-gone.metadata.json')
        failed(await register('c', gone), [400, 404])
        assert.deepEqual((await loadTable(trial, 'a')).metadata, first.metadata)
        assert.deepEqual(await listed(trial), ['a'])
      },
    ),
  ],
}

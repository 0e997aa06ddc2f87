import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rule, type Topic } from '../suite.ts'
import {
  commit,
  committed,
  createTable,
  done,
  failed,
  good,
  type IcebergTrial,
  loadTable,
  schema,
  snapshotUpdates,
  tableAt,
} from './trial.ts'

const etags: Topic<IcebergTrial> = {
  name: 'ETags',
  cases: [
    rule(
      'iceberg.etag',
      'Iceberg REST, loadTable, If-None-Match',
      'A table that is still as it was is 304 without a body; once it is changed, it is loaded.',
      ['etags'],
      async (trial) => {
        await createTable(trial, 't')
        const loadIf = (tag: string) =>
          trial.ask('GET', tableAt(trial, 't'), { headers: { 'if-none-match': tag } })
        const etag = async () => {
          const reply = await trial.ask('GET', tableAt(trial, 't'))
          good(reply)
          return reply.headers.get('etag') ?? assert.fail('There is no ETag.')
        }
        const first = await etag()
        const same = await loadIf(first)
        assert.deepEqual([same.status, same.text], [304, ''], same.told)
        good(await loadIf('"of-something-else"'))
        await committed(trial, 't', snapshotUpdates(5))
        const { metadata } = good(await loadIf(first))
        assert.equal(metadata['current-snapshot-id'], 5)
        const second = await etag()
        assert.notEqual(second, first)
        assert.equal((await loadIf(second)).status, 304)
      },
    ),
    rule(
      'iceberg.etag-mode',
      'Iceberg REST, loadTable, snapshots',
      'A load with snapshots=refs has another ETag than one with all.',
      ['etags'],
      async (trial) => {
        await createTable(trial, 't')
        await committed(trial, 't', snapshotUpdates(1))
        await committed(trial, 't', snapshotUpdates(2, { parent: 1, sequence: 2 }))
        const refs = await trial.ask('GET', tableAt(trial, 't'), { query: { snapshots: 'refs' } })
        const headers = { 'if-none-match': refs.headers.get('etag') ?? assert.fail('There is no ETag.') }
        assert.equal(
          good(await trial.ask('GET', tableAt(trial, 't'), { headers })).metadata.snapshots.length,
          2,
        )
      },
    ),
    rule(
      'iceberg.etag-of-change',
      'Iceberg REST, createTable and updateTable, ETag',
      'An ETag that comes with a creation or a commit is that of a load.',
      ['etags'],
      async (trial) => {
        const { home } = trial
        const made = await trial.ask('POST', ['namespaces', home, 'tables'], { body: { name: 't', schema } })
        const changed = async () => commit(trial, 't', snapshotUpdates(5))
        for (const reply of [made, await changed()]) {
          good(reply)
          const tag = reply.headers.get('etag')
          if (tag === null || reply === made) continue
          const headers = { 'if-none-match': tag }
          assert.equal((await trial.ask('GET', tableAt(trial, 't'), { headers })).status, 304)
        }
      },
    ),
  ],
}

const keys: Topic<IcebergTrial> = {
  name: 'requests that are sent again',
  cases: [
    rule(
      'iceberg.idempotency-key',
      'Iceberg REST, Idempotency-Key',
      'A request that comes again with its key is answered as before, and nothing is done twice.',
      ['idempotency'],
      async (trial) => {
        const { ask, home } = trial
        const keyed = () => ({ 'idempotency-key': randomUUID() })
        const creation = { body: { name: 't', schema }, headers: keyed() }
        const create = () => ask('POST', ['namespaces', home, 'tables'], creation)
        const uuid = good(await create()).metadata['table-uuid']
        assert.equal(good(await create()).metadata['table-uuid'], uuid)
        const change = {
          body: { requirements: [], updates: snapshotUpdates(5) },
          headers: keyed(),
        }
        const commitOnce = () => ask('POST', tableAt(trial, 't'), change)
        good(await commitOnce())
        const before = await loadTable(trial, 't')
        good(await commitOnce())
        assert.deepEqual(await loadTable(trial, 't'), before)
        const dropping = { headers: keyed() }
        done(await ask('DELETE', tableAt(trial, 't'), dropping))
        done(await ask('DELETE', tableAt(trial, 't'), dropping))
        failed(await ask('DELETE', tableAt(trial, 't'), { headers: keyed() }), 404)
      },
    ),
    rule(
      'iceberg.idempotency-other-key',
      'Iceberg REST, Idempotency-Key',
      'Another key is another request.',
      ['idempotency'],
      async (trial) => {
        const { ask, home } = trial
        const create = () =>
          ask('POST', ['namespaces', home, 'tables'], {
            body: { name: 't', schema },
            headers: { 'idempotency-key': randomUUID() },
          })
        good(await create())
        failed(await create(), 409, 'AlreadyExistsException')
      },
    ),
  ],
}

export const repeatTopics = [etags, keys] as const

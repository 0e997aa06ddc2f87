import assert from 'node:assert/strict'
import { type Case, rule, type Topic } from '../suite.ts'
import {
  type Answered,
  commit,
  committed,
  createTable,
  failed,
  type IcebergTrial,
  otherUuid,
  schema,
  snapshotUpdates,
  unchanged,
} from './trial.ts'

const source = 'Iceberg REST, TableUpdate'

/** A case for an update of a table `t` that was just created, or has the properties `more`. */
function update(
  action: string,
  text: string,
  run: (trial: IcebergTrial, metadata: Answered) => Promise<void>,
  needs: readonly string[] = [],
  more: object = {},
): Case<IcebergTrial> {
  return rule(`iceberg.${action}`, source, text, needs, async (trial) => {
    const { metadata } = await createTable(trial, 't', more)
    await run(trial, metadata)
  })
}

/** Asserts that updates are refused with 400, and change nothing. */
async function refuses(trial: IcebergTrial, updates: readonly unknown[]): Promise<void> {
  await unchanged(trial, ['t'], async () => failed(await commit(trial, 't', updates), 400))
}

const wider = {
  ...schema,
  'schema-id': 1,
  fields: [...schema.fields, { id: 3, name: 'delay', required: false, type: 'int' }],
}
const ids = (list: Answered, name: string) => list.map((one: Answered) => one[name]).sort()

const structure: Topic<IcebergTrial> = {
  name: 'updates of what a table is',
  cases: [
    update('assign-uuid', 'The UUID of a table stays.', async (trial, metadata) => {
      const same = await committed(trial, 't', [{ action: 'assign-uuid', uuid: metadata['table-uuid'] }])
      assert.equal(same['table-uuid'], metadata['table-uuid'])
      await refuses(trial, [{ action: 'assign-uuid', uuid: otherUuid }])
    }),
    update(
      'upgrade-format-version',
      'The version of the format is raised, and never lowered.',
      async (trial) => {
        const upgrade = (version: number) => ({ action: 'upgrade-format-version', 'format-version': version })
        const raised = await committed(trial, 't', [upgrade(2)])
        assert.equal(raised['format-version'], 2)
        await refuses(trial, [upgrade(1)])
        await refuses(trial, [upgrade(99)])
      },
      [],
      { properties: { 'format-version': '1' } },
    ),
    update(
      'add-schema',
      'A new schema is added, and becomes the current one by -1 or its id; an unknown id is 400.',
      async (trial, metadata) => {
        const add = { action: 'add-schema', schema: wider, 'last-column-id': 3 }
        const before = metadata['current-schema-id']
        const added = await committed(trial, 't', [add])
        assert.deepEqual(ids(added.schemas, 'schema-id'), [0, 1])
        assert.equal(added['current-schema-id'], before)
        assert.equal(added['last-column-id'], 3)
        const set = (id: number) => ({ action: 'set-current-schema', 'schema-id': id })
        assert.equal((await committed(trial, 't', [set(1)]))['current-schema-id'], 1)
        assert.equal((await committed(trial, 't', [set(0)]))['current-schema-id'], 0)
        const third = {
          ...wider,
          fields: [...wider.fields, { id: 4, name: 'n', required: false, type: 'int' }],
        }
        const last = { action: 'add-schema', schema: third, 'last-column-id': 4 }
        assert.equal((await committed(trial, 't', [last, set(-1)]))['current-schema-id'], 2)
        await refuses(trial, [set(7)])
      },
    ),
    update('remove-schemas', 'A schema is removed, unless it is the current one.', async (trial) => {
      const add = { action: 'add-schema', schema: wider, 'last-column-id': 3 }
      await committed(trial, 't', [add, { action: 'set-current-schema', 'schema-id': -1 }])
      await refuses(trial, [{ action: 'remove-schemas', 'schema-ids': [1] }])
      const { schemas } = await committed(trial, 't', [{ action: 'remove-schemas', 'schema-ids': [0] }])
      assert.deepEqual(ids(schemas, 'schema-id'), [1])
    }),
    update(
      'add-spec',
      'A new partition spec is added, and becomes the default; one that is not the default is removed.',
      async (trial) => {
        const field = { 'source-id': 2, 'field-id': 1000, name: 'day_year', transform: 'year' }
        const add = { action: 'add-spec', spec: { 'spec-id': 1, fields: [field] } }
        const set = (id: number) => ({ action: 'set-default-spec', 'spec-id': id })
        const added = await committed(trial, 't', [add, set(-1)])
        assert.deepEqual(ids(added['partition-specs'], 'spec-id'), [0, 1])
        assert.equal(added['default-spec-id'], 1)
        assert.equal(added['last-partition-id'], 1000)
        await refuses(trial, [set(7)])
        const remove = (id: number) => ({ action: 'remove-partition-specs', 'spec-ids': [id] })
        await refuses(trial, [remove(1)])
        const left = await committed(trial, 't', [remove(0)])
        assert.deepEqual(ids(left['partition-specs'], 'spec-id'), [1])
      },
    ),
    update('add-sort-order', 'A new sort order is added, and becomes the default.', async (trial) => {
      const field = { 'source-id': 1, transform: 'identity', direction: 'desc', 'null-order': 'nulls-last' }
      const add = { action: 'add-sort-order', 'sort-order': { 'order-id': 1, fields: [field] } }
      const set = (id: number) => ({ action: 'set-default-sort-order', 'sort-order-id': id })
      const added = await committed(trial, 't', [add, set(-1)])
      assert.deepEqual(ids(added['sort-orders'], 'order-id'), [0, 1])
      assert.equal(added['default-sort-order-id'], 1)
      assert.equal((await committed(trial, 't', [set(0)]))['default-sort-order-id'], 0)
      await refuses(trial, [set(7)])
    }),
    update('set-properties', 'Properties are set and removed.', async (trial) => {
      const set = await committed(trial, 't', [{ action: 'set-properties', updates: { a: '1', b: '2' } }])
      assert.deepEqual([set.properties.a, set.properties.b], ['1', '2'])
      const left = await committed(trial, 't', [{ action: 'remove-properties', removals: ['a', 'none'] }])
      assert.ok(!('a' in left.properties))
      assert.equal(left.properties.b, '2')
    }),
    update('set-location', 'A table gets another location.', async (trial, metadata) => {
      const location = `${metadata.location}-moved`
      const moved = await committed(trial, 't', [{ action: 'set-location', location }])
      assert.equal(moved.location, location)
    }),
    update(
      'update-unknown',
      'An update that nobody knows is 400, and those beside it change nothing.',
      async (trial) => {
        const known = { action: 'set-properties', updates: { a: '1' } }
        await refuses(trial, [known, { action: 'do-magic' }])
        await refuses(trial, [{ action: 'do-magic' }, known])
      },
    ),
    update('updates-in-order', 'Updates are applied in their order, all or none of them.', async (trial) => {
      const set = (value: string) => ({ action: 'set-properties', updates: { a: value } })
      const { properties } = await committed(trial, 't', [set('1'), set('2')])
      assert.equal(properties.a, '2')
      await refuses(trial, [set('3'), { action: 'set-current-schema', 'schema-id': 7 }])
    }),
  ],
}

const snapshots: Topic<IcebergTrial> = {
  name: 'updates of snapshots',
  cases: [
    update('add-snapshot', 'A snapshot is added, and is current where main names it.', async (trial) => {
      const [add] = snapshotUpdates(5)
      const added = await committed(trial, 't', [add])
      assert.deepEqual(ids(added.snapshots, 'snapshot-id'), [5])
      assert.equal(added['current-snapshot-id'] ?? -1, -1)
      assert.equal(added['last-sequence-number'], 1)
      const next = await committed(trial, 't', snapshotUpdates(6, { parent: 5, sequence: 2 }))
      assert.equal(next['current-snapshot-id'], 6)
      assert.equal(next.refs.main['snapshot-id'], 6)
      assert.equal(next['last-sequence-number'], 2)
      assert.ok(next['last-updated-ms'] >= added['last-updated-ms'])
    }),
    update('sequence-number', 'A snapshot whose sequence number was passed is refused.', async (trial) => {
      await committed(trial, 't', snapshotUpdates(5, { sequence: 7 }))
      await unchanged(trial, ['t'], async () => {
        const old = snapshotUpdates(6, { parent: 5, sequence: 7 })
        failed(await commit(trial, 't', old), [400, 409])
      })
    }),
    update('snapshot-twice', 'A snapshot id that is there is refused.', async (trial) => {
      await committed(trial, 't', snapshotUpdates(5))
      await unchanged(trial, ['t'], async () =>
        failed(await commit(trial, 't', snapshotUpdates(5, { sequence: 2 })), [400, 409]),
      )
    }),
    update(
      'set-snapshot-ref',
      'Branches and tags name snapshots, with how long they are kept, and are removed.',
      async (trial) => {
        await committed(trial, 't', snapshotUpdates(5))
        const kept = {
          'max-ref-age-ms': 1_000_000,
          'max-snapshot-age-ms': 2_000_000,
          'min-snapshots-to-keep': 3,
        }
        const set = (name: string, type: string, more = {}) => ({
          ...{ action: 'set-snapshot-ref', 'ref-name': name, type, 'snapshot-id': 5 },
          ...more,
        })
        const named = await committed(trial, 't', [set('dev', 'branch', kept), set('audited', 'tag')])
        assert.deepEqual({ ...named.refs.dev }, { 'snapshot-id': 5, type: 'branch', ...kept })
        assert.equal(named.refs.audited.type, 'tag')
        await refuses(trial, [{ ...set('none', 'tag'), 'snapshot-id': 99 }])
        const left = await committed(trial, 't', [{ action: 'remove-snapshot-ref', 'ref-name': 'dev' }])
        assert.deepEqual(Object.keys(left.refs).sort(), ['audited', 'main'])
      },
    ),
    update('remove-snapshots', 'A snapshot is removed, and what names it goes with it.', async (trial) => {
      await committed(trial, 't', snapshotUpdates(5))
      const tag = { action: 'set-snapshot-ref', 'ref-name': 'old', type: 'tag', 'snapshot-id': 5 }
      await committed(trial, 't', [...snapshotUpdates(6, { parent: 5, sequence: 2 }), tag])
      const left = await committed(trial, 't', [{ action: 'remove-snapshots', 'snapshot-ids': [5] }])
      assert.deepEqual(ids(left.snapshots, 'snapshot-id'), [6])
      assert.deepEqual(Object.keys(left.refs), ['main'])
      assert.equal(left['current-snapshot-id'], 6)
    }),
    update('set-statistics', 'Files of statistics are set for a snapshot, and removed.', async (trial) => {
      await committed(trial, 't', snapshotUpdates(5))
      const statistics = {
        'snapshot-id': 5,
        'statistics-path': 'file:///nowhere/stats.puffin',
        'file-size-in-bytes': 10,
        'file-footer-size-in-bytes': 2,
        'blob-metadata': [],
      }
      const set = { action: 'set-statistics', 'snapshot-id': 5, statistics }
      assert.deepEqual(ids((await committed(trial, 't', [set])).statistics, 'snapshot-id'), [5])
      const left = await committed(trial, 't', [{ action: 'remove-statistics', 'snapshot-id': 5 }])
      assert.deepEqual(left.statistics ?? [], [])
    }),
    update(
      'set-partition-statistics',
      'Files of partition statistics are set, and removed.',
      async (trial) => {
        await committed(trial, 't', snapshotUpdates(5))
        const file = {
          'snapshot-id': 5,
          'statistics-path': 'file:///nowhere/stats.parquet',
          'file-size-in-bytes': 10,
        }
        const set = { action: 'set-partition-statistics', 'partition-statistics': file }
        const named = await committed(trial, 't', [set])
        assert.deepEqual(ids(named['partition-statistics'], 'snapshot-id'), [5])
        const left = await committed(trial, 't', [
          { action: 'remove-partition-statistics', 'snapshot-id': 5 },
        ])
        assert.deepEqual(left['partition-statistics'] ?? [], [])
      },
    ),
    update(
      'row-lineage',
      'A snapshot of a table of version 3 takes row ids, and the next one begins behind them.',
      async (trial, metadata) => {
        assert.equal(metadata['format-version'], 3)
        assert.equal(metadata['next-row-id'], 0)
        const rows = { 'first-row-id': 0, 'added-rows': 10 }
        const next = await committed(trial, 't', snapshotUpdates(5, { more: rows }))
        assert.equal(next['next-row-id'], 10)
        const behind = snapshotUpdates(6, { parent: 5, sequence: 2, more: rows })
        await unchanged(trial, ['t'], async () => failed(await commit(trial, 't', behind), [400, 409]))
      },
      ['v3'],
      { properties: { 'format-version': '3' } },
    ),
    update(
      'encryption-keys',
      'Keys of encryption are kept as they are, and removed.',
      async (trial) => {
        const key = { 'key-id': 'k', 'encrypted-key-metadata': 'a2V5', 'encrypted-by-id': 'master' }
        const add = { action: 'add-encryption-key', 'encryption-key': key }
        const added = await committed(trial, 't', [add])
        assert.deepEqual(ids(added['encryption-keys'], 'key-id'), ['k'])
        const left = await committed(trial, 't', [{ action: 'remove-encryption-key', 'key-id': 'k' }])
        assert.deepEqual(left['encryption-keys'] ?? [], [])
      },
      ['v3'],
      { properties: { 'format-version': '3' } },
    ),
  ],
}

export const updateTopics = [structure, snapshots] as const

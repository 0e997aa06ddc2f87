import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import {
  type Answered,
  absent,
  committed,
  createTable,
  done,
  failed,
  good,
  type IcebergTrial,
  loadTable,
  namesIn,
  pagesOf,
  schema,
  snapshotUpdates,
  tableAt,
} from './trial.ts'

const listed = async ({ ask, home }: IcebergTrial) =>
  namesIn(good(await ask('GET', ['namespaces', home, 'tables'])))

/** The updates that create a table from the metadata of a staged one. */
export function creationOf(metadata: Answered): unknown[] {
  return [
    { action: 'assign-uuid', uuid: metadata['table-uuid'] },
    { action: 'upgrade-format-version', 'format-version': metadata['format-version'] },
    { action: 'add-schema', schema: metadata.schemas[0], 'last-column-id': metadata['last-column-id'] },
    { action: 'set-current-schema', 'schema-id': -1 },
    { action: 'add-spec', spec: metadata['partition-specs'][0] },
    { action: 'set-default-spec', 'spec-id': -1 },
    { action: 'add-sort-order', 'sort-order': metadata['sort-orders'][0] },
    { action: 'set-default-sort-order', 'sort-order-id': -1 },
    { action: 'set-location', location: metadata.location },
  ]
}

const creation: Topic<IcebergTrial> = {
  name: 'creating tables',
  cases: [
    rule(
      'iceberg.table',
      'Iceberg REST, createTable',
      'A new table has a metadata file, a UUID, a location and its schema, and is loaded as it was answered.',
      [],
      async (trial) => {
        const made = await createTable(trial, 't', { properties: { owner: 'ada' } })
        const { metadata } = made
        assert.match(made['metadata-location'], /\S/)
        assert.match(metadata['table-uuid'], /^[0-9a-f-]{36}$/)
        assert.match(metadata.location, /\S/)
        assert.ok([1, 2, 3].includes(metadata['format-version']))
        assert.deepEqual(metadata.schemas[0].fields, schema.fields)
        assert.equal(metadata['current-schema-id'], metadata.schemas[0]['schema-id'])
        assert.equal(metadata['last-column-id'], 2)
        assert.equal(metadata.properties.owner, 'ada')
        assert.ok((metadata['current-snapshot-id'] ?? -1) === -1)
        const loaded = await loadTable(trial, 't')
        assert.deepEqual(loaded.metadata, metadata)
        assert.equal(loaded['metadata-location'], made['metadata-location'])
        assert.deepEqual(await listed(trial), ['t'])
      },
    ),
    rule(
      'iceberg.table-parts',
      'Iceberg REST, createTable',
      'A partition spec and a write order of a new table become its default ones.',
      [],
      async (trial) => {
        const field = { 'source-id': 2, 'field-id': 1000, name: 'day_year', transform: 'year' }
        const order = { 'source-id': 1, transform: 'identity', direction: 'asc', 'null-order': 'nulls-last' }
        await createTable(trial, 't', {
          'partition-spec': { 'spec-id': 0, fields: [field] },
          'write-order': { 'order-id': 1, fields: [order] },
        })
        const { metadata } = await loadTable(trial, 't')
        const spec = metadata['partition-specs'].find(
          (one: Answered) => one['spec-id'] === metadata['default-spec-id'],
        )
        assert.deepEqual(
          spec.fields.map((one: Answered) => [one.name, one['source-id'], one.transform]),
          [['day_year', 2, 'year']],
        )
        assert.equal(metadata['last-partition-id'], 1000)
        const sort = metadata['sort-orders'].find(
          (one: Answered) => one['order-id'] === metadata['default-sort-order-id'],
        )
        assert.deepEqual(
          sort.fields.map((one: Answered) => [one['source-id'], one.direction]),
          [[1, 'asc']],
        )
      },
    ),
    rule(
      'iceberg.table-taken',
      'Iceberg REST, createTable, status 409',
      'A table whose name is taken is 409 AlreadyExistsException, also when it is staged; the one there stays.',
      [],
      async (trial) => {
        const { metadata } = await createTable(trial, 't')
        for (const more of [{}, { 'stage-create': true }]) {
          const body = { name: 't', schema, ...more }
          const reply = await trial.ask('POST', ['namespaces', trial.home, 'tables'], { body })
          failed(reply, 409, 'AlreadyExistsException')
        }
        assert.deepEqual((await loadTable(trial, 't')).metadata, metadata)
      },
    ),
    rule(
      'iceberg.table-nowhere',
      'Iceberg REST, createTable, status 404',
      'A table in a namespace that is not there is 404 NoSuchNamespaceException, and so is a listing of it.',
      [],
      async ({ ask }) => {
        const path = ['namespaces', ['nowhere-at-all'], 'tables'] as const
        failed(await ask('POST', path, { body: { name: 't', schema } }), 404, 'NoSuchNamespaceException')
        failed(await ask('GET', path), 404, 'NoSuchNamespaceException')
      },
    ),
    rule(
      'iceberg.staged',
      'Iceberg REST, createTable, stage-create',
      'A staged table is not there until a commit creates it, with the UUID and location that were answered.',
      [],
      async (trial) => {
        const { metadata } = await createTable(trial, 't', { 'stage-create': true })
        assert.deepEqual(await listed(trial), [])
        failed(await trial.ask('GET', tableAt(trial, 't')), 404, 'NoSuchTableException')
        const body = { requirements: [{ type: 'assert-create' }], updates: creationOf(metadata) }
        good(await trial.ask('POST', tableAt(trial, 't'), { body }))
        const loaded = await loadTable(trial, 't')
        for (const name of ['table-uuid', 'location', 'schemas', 'partition-specs', 'last-column-id'])
          assert.deepEqual(loaded.metadata[name], metadata[name], name)
        assert.deepEqual(await listed(trial), ['t'])
        const again = await trial.ask('POST', tableAt(trial, 't'), { body })
        failed(again, 409, 'CommitFailedException', 'AlreadyExistsException')
        assert.deepEqual((await loadTable(trial, 't')).metadata, loaded.metadata)
      },
    ),
    rule(
      'iceberg.staged-with-snapshot',
      'Iceberg REST, updateTable, assert-create',
      'A commit that creates a table may add its first snapshot.',
      [],
      async (trial) => {
        const { metadata } = await createTable(trial, 't', { 'stage-create': true })
        const updates = [...creationOf(metadata), ...snapshotUpdates(5)]
        const made = await committed(trial, 't', updates, [{ type: 'assert-create' }])
        assert.equal(made['current-snapshot-id'], 5)
      },
    ),
    rule(
      'iceberg.table-names',
      'Iceberg REST, tables in paths',
      'Names of tables hold dots, slashes, spaces, signs and emoji, and come back as they are.',
      [],
      async (trial) => {
        const names = ['a.b', 'a/b', 'a b', '100%', 'a+b', 'x?y#z', 'é', '\u{1F6EB}', '%2F', '__proto__']
        for (const name of names) await createTable(trial, name, { properties: { name } })
        for (const name of names) assert.equal((await loadTable(trial, name)).metadata.properties.name, name)
        assert.deepEqual(await listed(trial), [...names].sort())
        for (const name of names) done(await trial.ask('DELETE', tableAt(trial, name)))
        assert.deepEqual(await listed(trial), [])
      },
    ),
  ],
}

const reading: Topic<IcebergTrial> = {
  name: 'finding tables',
  cases: [
    rule(
      'iceberg.table-exists',
      'Iceberg REST, tableExists',
      'HEAD of a table is 204 or 404, without a body.',
      ['tableExists'],
      async (trial) => {
        await createTable(trial, 't')
        done(await trial.ask('HEAD', tableAt(trial, 't')))
        absent(await trial.ask('HEAD', tableAt(trial, 'none')))
      },
    ),
    rule(
      'iceberg.table-missing',
      'Iceberg REST, error NoSuchTableException',
      'What is asked of a table that is not there is 404 NoSuchTableException, and makes none.',
      [],
      async (trial) => {
        const path = tableAt(trial, 'none')
        const body = { requirements: [], updates: [{ action: 'set-properties', updates: { a: 'b' } }] }
        failed(await trial.ask('GET', path), 404, 'NoSuchTableException')
        failed(await trial.ask('POST', path, { body }), 404, 'NoSuchTableException')
        failed(await trial.ask('DELETE', path), 404, 'NoSuchTableException')
        assert.deepEqual(await listed(trial), [])
      },
    ),
    rule(
      'iceberg.table-pages',
      'Iceberg REST, pages',
      'Pages have at most as many tables as asked for, and together each of them once.',
      ['pages'],
      async (trial) => {
        const names = ['a', 'b', 'c', 'd', 'e']
        for (const name of names) await createTable(trial, name)
        const pages = await pagesOf(trial, ['namespaces', trial.home, 'tables'], { pageSize: '2' })
        assert.ok(pages.length > 1)
        assert.deepEqual(
          pages
            .flat()
            .map(({ name }) => name)
            .sort(),
          names,
        )
        for (const { namespace } of pages.flat()) assert.deepEqual(namespace, trial.home)
        assert.deepEqual(await listed(trial), names)
      },
    ),
    rule(
      'iceberg.snapshots-refs',
      'Iceberg REST, loadTable, snapshots',
      'With snapshots=refs a load has the snapshots of branches and tags alone; without it, all.',
      [],
      async (trial) => {
        await createTable(trial, 't')
        await committed(trial, 't', snapshotUpdates(1))
        await committed(trial, 't', snapshotUpdates(2, { parent: 1, sequence: 2 }))
        const load = async (query: Record<string, string>) => {
          const { metadata } = good(await trial.ask('GET', tableAt(trial, 't'), { query }))
          return metadata.snapshots.map((one: Answered) => one['snapshot-id']).sort()
        }
        assert.deepEqual(await load({}), [1, 2])
        assert.deepEqual(await load({ snapshots: 'all' }), [1, 2])
        assert.deepEqual(await load({ snapshots: 'refs' }), [2])
      },
    ),
    rule(
      'iceberg.credentials',
      'Iceberg REST, loadCredentials',
      'Credentials of a table are a list, and 404 for one that is not there.',
      ['loadCredentials'],
      async (trial) => {
        await createTable(trial, 't')
        const answer = good(await trial.ask('GET', [...tableAt(trial, 't'), 'credentials']))
        assert.ok(Array.isArray(answer['storage-credentials']))
        failed(await trial.ask('GET', [...tableAt(trial, 'none'), 'credentials']), 404)
      },
    ),
    rule(
      'iceberg.metrics',
      'Iceberg REST, reportMetrics',
      'Reports of a table are taken.',
      ['reportMetrics'],
      async (trial) => {
        await createTable(trial, 't')
        const body = {
          'report-type': 'scan-report',
          'table-name': 't',
          'snapshot-id': 1,
          filter: true,
          'schema-id': 0,
          'projected-field-ids': [],
          'projected-field-names': [],
          metrics: {},
        }
        done(await trial.ask('POST', [...tableAt(trial, 't'), 'metrics'], { body }))
      },
    ),
  ],
}

export const tableTopics = [creation, reading] as const

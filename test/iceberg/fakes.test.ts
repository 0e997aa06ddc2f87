import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fakeCatalog, serverFixture } from '../../src/testing/index.ts'
import { IcebergRequests, schema, servedFake, snapshotUpdates } from './rest.ts'

/** Years after the clock of a fake, which stands still. */
const later = 4_000_000_000_000

/** The updates that add a snapshot, by a client's own clock. */
function added(id: number, parent?: number) {
  const options = { sequence: id, ...(parent !== undefined && { parent }) }
  return snapshotUpdates(id, options).map((update) =>
    'snapshot' in update
      ? { ...update, snapshot: { ...update.snapshot, 'timestamp-ms': later + id } }
      : update,
  )
}

const view = {
  name: 'v',
  schema,
  'view-version': {
    'version-id': 1,
    'timestamp-ms': 1,
    'schema-id': 0,
    summary: {},
    representations: [{ type: 'sql', sql: 'select 1', dialect: 'spark' }],
    'default-namespace': ['prod'],
  },
}

test('a table of a fake takes changes after a snapshot, whose time is that of its client', async () => {
  await using server = await servedFake()
  const { rest } = server
  await rest.post('namespaces/prod/tables', { name: 'a', schema })
  const times: unknown[] = []
  for (const updates of [
    added(1),
    [{ action: 'set-properties', updates: { owner: 'ada' } }],
    added(2, 1),
    [{ action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': 1 }],
    [{ action: 'set-properties', updates: { owner: 'eve' } }],
  ]) {
    const { body } = await rest.post('namespaces/prod/tables/a', { requirements: [], updates })
    expect(body).not.toHaveProperty('error')
    times.push(body.metadata['last-updated-ms'] - later)
  }
  expect(times).toEqual([1, 1, 2, 2, 2])
})

test('UUIDs of a fake are the same in every run, and each is another', async () => {
  const uuids = async () => {
    await using server = await servedFake()
    const { rest } = server
    const table = await rest.post('namespaces/prod/tables', { name: 'a', schema })
    const staged = await rest.post('namespaces/prod/tables', { name: 'b', schema, 'stage-create': true })
    const made = await rest.post('namespaces/prod/views', view)
    return [
      ...[table, staged].map(({ body }) => body.metadata['table-uuid']),
      made.body.metadata['view-uuid'],
    ]
  }
  const first = await uuids()
  expect(new Set(first).size).toBe(3)
  for (const uuid of first)
    expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(await uuids()).toEqual(first)
})

test('a fake is served as it is, also again and as a fork, and its files go with it', async () => {
  const fake = await fakeCatalog({ seed: { prod: { rows: [{ x: 1 }] } } })
  const locations: string[] = []
  for (const name of ['first', 'second']) {
    await using server = await fake.serve({ iceberg: true })
    const rest = new IcebergRequests(`${server.url}/iceberg`)
    const { body } = await rest.post('namespaces/prod/tables', { name, schema })
    locations.push(body.metadata.location)
    expect(existsSync(fileURLToPath(body['metadata-location']))).toBe(true)
    expect((await fake.listTables({ id: ['prod'] })).tables).toContain(`prod$${name}`)
    expect((await rest.get('namespaces/prod/tables/first')).status).toBe(200)
  }
  {
    await using fork = fake.fork()
    await using server = await fork.serve({ iceberg: true })
    const rest = new IcebergRequests(`${server.url}/iceberg`)
    expect((await rest.get('namespaces/prod/tables/first')).status).toBe(200)
    const { body } = await rest.post('namespaces/prod/tables', { name: 'third', schema })
    expect(locations).not.toContain(body.metadata.location)
  }
  await using plain = await fake.serve()
  expect((await fetch(`${plain.url}/iceberg/v1/config`)).status).toBe(404)
  await fake.close()
  expect(locations.map((location) => existsSync(fileURLToPath(location)))).toEqual([false, false])
})

test('a fixture serves Iceberg REST to each test', async () => {
  const use = serverFixture({ seed: { prod: {} }, iceberg: true })
  for (let i = 0; i < 2; i++)
    await use({}, async ({ url }) => {
      const { status } = await new IcebergRequests(`${url}/iceberg`).post('namespaces/prod/tables', {
        name: 't',
        schema,
      })
      expect(status).toBe(200)
    })
})

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { schema, servedFake, snapshotUpdates } from './rest.ts'

type Server = Awaited<ReturnType<typeof servedFake>>

async function made({ rest }: Server, name: string, location?: string) {
  const { body } = await rest.post('namespaces/prod/tables', { name, schema, location })
  return body.metadata as { readonly location: string; readonly 'table-uuid': string }
}

const filesIn = (location: string) => readdirSync(fileURLToPath(location), { recursive: true }).map(String)

test('a table moves with its versions and tags, and its locations are taken', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const { location } = await made(server, 'a')
  await catalog.createTableTag({ id: ['prod', 'a'], tag: 'first', version: 1 })
  const elsewhere = location.replace(/[^/]+$/, 'elsewhere')
  const moved = await rest.post('namespaces/prod/tables/a', {
    requirements: [],
    updates: [{ action: 'set-location', location: elsewhere }, ...snapshotUpdates(1)],
  })
  expect(moved.status).toBe(200)
  expect(moved.body['metadata-location']).toMatch(new RegExp(`^${elsewhere}/metadata/00001-`))
  expect((await catalog.describeTable({ id: ['prod', 'a'] })).location).toBe(elsewhere)
  expect((await catalog.listTableVersions({ id: ['prod', 'a'] })).versions).toHaveLength(2)
  expect(await catalog.getTableTagVersion({ id: ['prod', 'a'], tag: 'first' })).toMatchObject({ version: 1 })
  for (const taken of [elsewhere, `${elsewhere}/below`, `${location}/below`])
    expect(
      (await rest.post('namespaces/prod/tables', { name: 'b', schema, location: taken })).body.error,
    ).toMatchObject({
      type: 'AlreadyExistsException',
      code: 409,
    })
  expect((await rest.get('namespaces/prod/tables/a')).body.metadata.location).toBe(elsewhere)
})

test('no table writes to the folder of another, whatever its metadata says', async () => {
  await using server = await servedFake()
  const { rest } = server
  const { location: victim } = await made(server, 'victim')
  const { location } = await made(server, 'a')
  const before = filesIn(victim)
  const update = (updates: unknown[]) => rest.post('namespaces/prod/tables/a', { requirements: [], updates })
  for (const target of [victim, `${victim}/data`, `${victim}/`, `${location}/../${victim.split('/').at(-1)}`])
    expect((await update([{ action: 'set-location', location: target }])).status).toBeGreaterThanOrEqual(400)
  for (const path of [victim, `${victim}/metadata`, `${location}/../x`, 'file:///etc', `${location}x`]) {
    const answer = await update([{ action: 'set-properties', updates: { 'write.metadata.path': path } }])
    expect(answer.body.error).toMatchObject({ code: 400 })
  }
  expect(
    (await update([{ action: 'set-properties', updates: { 'write.metadata.path': `${location}/meta` } }]))
      .body['metadata-location'],
  ).toContain(`${location}/meta/`)
  const staged = { name: 'b', schema, 'stage-create': true, location: `${victim}/below` }
  expect((await rest.post('namespaces/prod/tables', staged)).status).toBe(409)
  expect(filesIn(victim)).toEqual(before)
})

test('a commit that fails leaves nothing of itself in an open transaction', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const { location } = await made(server, 'a')
  const { transaction_id } = await catalog.beginTransaction({})
  const inside = { 'x-tabularium-transaction': transaction_id! }
  const create = (name: string, at: string) => ({
    identifier: { namespace: ['prod'], name },
    requirements: [{ type: 'assert-create' }],
    updates: [
      { action: 'assign-uuid', uuid: '6b2a6d6e-8d2b-4a6e-9d5c-0f4c1a2b3c4d' },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'add-schema', schema },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
      { action: 'set-location', location: at },
    ],
  })
  const change = {
    identifier: { namespace: ['prod'], name: 'a' },
    requirements: [],
    updates: snapshotUpdates(1),
  }
  const free = location.replace(/[^/]+$/, 'free')
  const failed = await rest.post(
    'transactions/commit',
    { 'table-changes': [change, create('b', free), create('c', `${location}/taken`)] },
    inside,
  )
  expect(failed.status).toBe(409)
  const twice = await rest.post('transactions/commit', { 'table-changes': [change, change] }, inside)
  expect(twice.body.error).toMatchObject({
    code: 400,
    message: expect.stringContaining('prod.a is named twice'),
  })
  await catalog.commitTransaction({ id: [transaction_id!] })
  expect((await catalog.listTables({ id: ['prod'] })).tables).toEqual(['prod$a'])
  expect((await catalog.listTableVersions({ id: ['prod', 'a'] })).versions).toHaveLength(1)
})

test('a table that is registered over another one lies where its metadata says', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const { location } = await made(server, 'a')
  const { body } = await rest.get('namespaces/prod/tables/a')
  await rest.send('DELETE', 'namespaces/prod/tables/a')
  await made(server, 'b')
  const register = { name: 'b', 'metadata-location': body['metadata-location'] }
  expect((await rest.post('namespaces/prod/register', register)).status).toBe(409)
  const over = await rest.post('namespaces/prod/register', { ...register, overwrite: true })
  expect(over.body['metadata-location']).toBe(body['metadata-location'])
  expect((await catalog.describeTable({ id: ['prod', 'b'] })).location).toBe(location)
})

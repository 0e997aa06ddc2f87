import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { endpoints } from '../../src/iceberg/rest/router.ts'
import { fakeCatalog } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { schema, servedFake, snapshotUpdates } from './rest.ts'

test('config lists every endpoint besides those that clients begin with', async () => {
  await using server = await servedFake()
  const { status, body } = await server.rest.get('config?warehouse=any')
  expect(status).toBe(200)
  expect(body.endpoints).toHaveLength(endpoints.length - 2)
  expect(body.endpoints).toContain('POST /v1/{prefix}/transactions/commit')
  expect(body.endpoints).toContain('DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}')
})

test('namespaces are created, listed, changed and dropped, and are those of the catalog', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const made = await rest.post('namespaces', { namespace: ['prod', 'eu'], properties: { owner: 'ada' } })
  expect(made).toMatchObject({
    status: 200,
    body: { namespace: ['prod', 'eu'], properties: { owner: 'ada' } },
  })
  expect((await rest.get('namespaces?parent=prod')).body).toEqual({
    namespaces: [['prod', 'eu']],
    'next-page-token': null,
  })
  expect((await rest.post('namespaces', { namespace: ['prod', 'eu'] })).body.error).toMatchObject({
    type: 'AlreadyExistsException',
    code: 409,
  })
  const changed = await rest.post('namespaces/prod%1Feu/properties', {
    updates: { tier: '1' },
    removals: ['owner', 'nothing'],
  })
  expect(changed.body).toEqual({ updated: ['tier'], removed: ['owner'], missing: ['nothing'] })
  expect(await catalog.describeNamespace({ id: ['prod', 'eu'] })).toEqual({ properties: { tier: '1' } })
  expect((await rest.send('DELETE', 'namespaces/prod')).body.error).toMatchObject({
    type: 'NamespaceNotEmptyException',
    code: 409,
  })
  expect((await rest.send('DELETE', 'namespaces/prod%1Feu')).status).toBe(204)
  // What is missing is told, and not what was to be made.
  expect((await rest.post('namespaces', { namespace: ['prod', 'eu', 'west'] })).body.error).toEqual({
    message: 'Namespace does not exist: prod.eu',
    type: 'NoSuchNamespaceException',
    code: 404,
  })
  expect((await rest.send('HEAD', 'namespaces/prod%1Feu')).status).toBe(404)
  expect((await rest.get('namespaces/prod%1Feu')).body.error).toEqual({
    message: 'Namespace does not exist: prod.eu',
    type: 'NoSuchNamespaceException',
    code: 404,
  })
})

test('names are listed page by page, or all at once', async () => {
  await using server = await servedFake()
  const { rest } = server
  for (let i = 0; i < 5; i++) await rest.post('namespaces/prod/tables', { name: `t${i}`, schema })
  const all = await rest.get('namespaces/prod/tables')
  expect(all.body.identifiers.map(({ name }: { name: string }) => name)).toEqual([
    't0',
    't1',
    't2',
    't3',
    't4',
  ])
  const seen: string[] = []
  for (let token = ''; ; ) {
    const { body } = await rest.get(
      `namespaces/prod/tables?pageSize=2&pageToken=${encodeURIComponent(token)}`,
    )
    seen.push(...body.identifiers.map(({ name }: { name: string }) => name))
    if (body['next-page-token'] === null) break
    token = body['next-page-token']
  }
  expect(seen).toEqual(['t0', 't1', 't2', 't3', 't4'])
  expect((await rest.get('namespaces/prod/tables?pageSize=0')).status).toBe(400)
})

test('a table is created with its metadata file, loaded, changed, and not loaded again while it is the same', async () => {
  await using server = await servedFake()
  const { rest, catalog } = server
  const made = await rest.post('namespaces/prod/tables', { name: 'flights', schema })
  expect(made.status).toBe(200)
  const first = made.body['metadata-location']
  expect(existsSync(fileURLToPath(first))).toBe(true)
  const loaded = await rest.get('namespaces/prod/tables/flights')
  expect(loaded.body.metadata).toEqual(made.body.metadata)
  const etag = loaded.headers.get('etag')!
  expect(await rest.get('namespaces/prod/tables/flights', { 'if-none-match': etag })).toMatchObject({
    status: 304,
    body: undefined,
  })
  const id = 9_007_199_254_740_993n
  const committed = await rest.post('namespaces/prod/tables/flights', {
    requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }],
    updates: snapshotUpdates(id),
  })
  expect(committed.body.error).toBeUndefined()
  expect(committed.body.metadata['current-snapshot-id']).toBe(id)
  expect(committed.body.metadata['metadata-log']).toMatchObject([{ 'metadata-file': first }])
  expect((await rest.get('namespaces/prod/tables/flights', { 'if-none-match': etag })).status).toBe(200)
  expect((await catalog.listTables({ id: ['prod'] })).tables).toEqual(['prod$flights'])
  const { versions } = await catalog.listTableVersions({ id: ['prod', 'flights'] })
  expect(versions.map(({ metadata }) => metadata?.['current-snapshot-id'])).toEqual([undefined, String(id)])
  await expect(catalog.countTableRows({ id: ['prod', 'flights'] })).rejects.toThrow(/format ICEBERG.*DuckDB/)
})

test('a requirement that fails, and an update that nobody knows, change nothing', async () => {
  await using server = await servedFake()
  const { rest } = server
  await rest.post('namespaces/prod/tables', { name: 'flights', schema })
  const before = await rest.get('namespaces/prod/tables/flights')
  const failed = await rest.post('namespaces/prod/tables/flights', {
    requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 7 }],
    updates: snapshotUpdates(1),
  })
  expect(failed.body.error).toMatchObject({ type: 'CommitFailedException', code: 409 })
  const unknown = await rest.post('namespaces/prod/tables/flights', {
    requirements: [],
    updates: [{ action: 'set-properties', updates: { a: 'b' } }, { action: 'do-magic' }],
  })
  expect(unknown).toMatchObject({ status: 400 })
  expect((await rest.get('namespaces/prod/tables/flights')).body).toEqual(before.body)
})

test('changes of several tables, one of them created with it, are committed at once or not at all', async () => {
  await using server = await servedFake()
  const { rest } = server
  await rest.post('namespaces/prod/tables', { name: 'a', schema })
  await rest.post('namespaces/prod/tables', { name: 'b', schema })
  const staged = await rest.post('namespaces/prod/tables', { name: 'c', schema, 'stage-create': true })
  expect(staged.body['metadata-location']).toBeUndefined()
  expect((await rest.get('namespaces/prod/tables/c')).status).toBe(404)
  const { metadata } = staged.body
  const creation = [
    { action: 'assign-uuid', uuid: metadata['table-uuid'] },
    { action: 'upgrade-format-version', 'format-version': 2 },
    { action: 'add-schema', schema: metadata.schemas[0] },
    { action: 'set-current-schema', 'schema-id': -1 },
    { action: 'add-spec', spec: metadata['partition-specs'][0] },
    { action: 'set-default-spec', 'spec-id': -1 },
    { action: 'add-sort-order', 'sort-order': metadata['sort-orders'][0] },
    { action: 'set-default-sort-order', 'sort-order-id': -1 },
    { action: 'set-location', location: metadata.location },
  ]
  const change = (name: string, requirements: unknown[], updates: unknown[]) => ({
    identifier: { namespace: ['prod'], name },
    requirements,
    updates,
  })
  const isEmpty = [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }]
  const half = await rest.post('transactions/commit', {
    'table-changes': [
      change('c', [{ type: 'assert-create' }], creation),
      change('a', isEmpty, snapshotUpdates(1)),
      change(
        'b',
        [{ type: 'assert-table-uuid', uuid: '00000000-0000-0000-0000-000000000000' }],
        snapshotUpdates(2),
      ),
    ],
  })
  expect(half.body.error).toMatchObject({ type: 'CommitFailedException', code: 409 })
  expect((await rest.get('namespaces/prod/tables/c')).status).toBe(404)
  expect((await rest.get('namespaces/prod/tables/a')).body.metadata.snapshots).toEqual([])
  const whole = await rest.post('transactions/commit', {
    'table-changes': [
      change('c', [{ type: 'assert-create' }], creation),
      change('a', isEmpty, snapshotUpdates(1)),
      change('b', isEmpty, snapshotUpdates(2)),
    ],
  })
  expect(whole.status).toBe(204)
  for (const [name, id] of [
    ['a', 1],
    ['b', 2],
  ] as const)
    expect((await rest.get(`namespaces/prod/tables/${name}`)).body.metadata['current-snapshot-id']).toBe(id)
  expect((await rest.get('namespaces/prod/tables/c')).body.metadata['table-uuid']).toBe(
    metadata['table-uuid'],
  )
})

test('a table is renamed, dropped, registered and unregistered', async () => {
  await using server = await servedFake()
  const { rest } = server
  const { body } = await rest.post('namespaces/prod/tables', { name: 'a', schema })
  await rest.post('namespaces/prod/tables', { name: 'b', schema })
  await rest.post('namespaces', { namespace: ['old'] })
  const rename = (name: string, namespace: string, to: string) =>
    rest.post('tables/rename', {
      source: { namespace: ['prod'], name },
      destination: { namespace: [namespace], name: to },
    })
  expect((await rename('a', 'prod', 'b')).body.error).toMatchObject({
    message: 'Cannot rename prod.a to prod.b. Table already exists',
    code: 409,
  })
  expect((await rename('a', 'nowhere', 'b')).body.error.type).toBe('NoSuchNamespaceException')
  expect((await rename('a', 'old', 'c')).status).toBe(204)
  expect((await rest.send('HEAD', 'namespaces/old/tables/c')).status).toBe(204)
  const left = await rest.post('namespaces/old/tables/c/unregister', {})
  expect(left.body).toEqual({ 'metadata-location': body['metadata-location'], metadata: body.metadata })
  expect((await rest.send('HEAD', 'namespaces/old/tables/c')).status).toBe(404)
  const back = await rest.post('namespaces/prod/register', {
    name: 'd',
    'metadata-location': body['metadata-location'],
  })
  expect(back.body.metadata).toEqual(body.metadata)
  expect((await rest.send('DELETE', 'namespaces/prod/tables/d')).status).toBe(204)
  expect(existsSync(fileURLToPath(body['metadata-location']))).toBe(true)
  const other = (await rest.get('namespaces/prod/tables/b')).body['metadata-location']
  expect((await rest.send('DELETE', 'namespaces/prod/tables/b?purgeRequested=true')).status).toBe(204)
  expect(existsSync(fileURLToPath(other))).toBe(false)
  expect((await rest.send('DELETE', 'namespaces/prod/tables/b')).body.error.message).toBe(
    'Table does not exist: prod.b',
  )
})

test('tables of other formats are not listed, and a load says what they are', async () => {
  await using server = await servedFake({ seed: { prod: { arrow: [{ x: 1 }] } } })
  const { rest } = server
  expect((await rest.get('namespaces/prod/tables')).body.identifiers).toEqual([])
  expect((await rest.get('namespaces/prod/tables/arrow')).body.error).toEqual({
    message: 'Table does not exist: prod.arrow is a table of another format',
    type: 'NoSuchTableException',
    code: 404,
  })
  expect((await rest.post('namespaces/prod/tables', { name: 'arrow', schema })).body.error).toMatchObject({
    type: 'AlreadyExistsException',
    code: 409,
  })
})

test('an open transaction of the catalog holds changes of Iceberg and of rows', async () => {
  await using server = await servedFake({ seed: { prod: { rows: [{ x: 1 }] } } })
  const { rest, catalog } = server
  await rest.post('namespaces/prod/tables', { name: 'ice', schema })
  const begin = async () => (await catalog.beginTransaction({})).transaction_id!
  const change = async (transaction: string, snapshot: number) => {
    await catalog.insertIntoTable({ id: ['prod', 'rows'], data: [{ x: snapshot }] }, { transaction })
    const body = { requirements: [], updates: snapshotUpdates(snapshot) }
    const headers = { 'x-tabularium-transaction': transaction }
    expect((await rest.post('namespaces/prod/tables/ice', body, headers)).status).toBe(200)
  }
  const state = async () => [
    (await catalog.countTableRows({ id: ['prod', 'rows'] })).count,
    (await rest.get('namespaces/prod/tables/ice')).body.metadata['current-snapshot-id'],
  ]
  const lost = await begin()
  await change(lost, 5)
  expect(await state()).toEqual([1, -1])
  await catalog.rollbackTransaction({ id: [lost] })
  expect(await state()).toEqual([1, -1])
  const kept = await begin()
  await change(kept, 6)
  await catalog.commitTransaction({ id: [kept] })
  expect(await state()).toEqual([2, 6])
})

test('a request that is sent again with its key does nothing more, also when the server began anew', async () => {
  const icebergFolder = await temporaryDirectory()
  onTestFinished(() => rm(icebergFolder, { recursive: true, force: true }))
  await using fake = await fakeCatalog({ seed: { prod: {} }, icebergFolder })
  const headers = { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c07398f' }
  const other = { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c073990' }
  const body = { requirements: [], updates: snapshotUpdates(1) }
  const versions = async () => (await fake.listTableVersions({ id: ['prod', 'a'] })).versions.length
  for (let round = 0; round < 2; round++) {
    await using server = await servedFake({ seed: undefined, catalog: fake })
    const { rest } = server
    const made = await rest.post('namespaces/prod/tables', { name: 'a', schema }, other)
    expect(made.status).toBe(200)
    const attempts = Array.from({ length: 3 }, () => rest.post('namespaces/prod/tables/a', body, headers))
    for (const { status, body } of await Promise.all(attempts))
      expect([status, body.metadata['current-snapshot-id']]).toEqual([200, 1])
    expect(await versions()).toBe(2)
  }
  await using server = await servedFake({ seed: undefined, catalog: fake })
  const drop = (headers: Record<string, string>) =>
    server.rest.send('DELETE', 'namespaces/prod/tables/a', undefined, headers)
  const reused = await drop(headers)
  expect([reused.status, reused.body.error.type]).toEqual([422, 'UnprocessableEntityException'])
  expect(reused.body.error.message).toContain('belongs to another request: iceberg.updateTable')
  const third = { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c07aaaa' }
  expect([(await drop(third)).status, (await drop(third)).status]).toEqual([204, 204])
})

test('faults of a fake reach clients of Iceberg as errors that they know', async () => {
  await using server = await servedFake()
  const { rest, faults } = server
  const made = await rest.post('namespaces/prod/tables', { name: 'a', schema })
  const commit = (id: number, headers: Record<string, string> = {}) =>
    rest.post('namespaces/prod/tables/a', { requirements: [], updates: snapshotUpdates(id) }, headers)
  const current = async () =>
    (await rest.get('namespaces/prod/tables/a')).body.metadata['current-snapshot-id']
  // A commit whose answer is lost, and the same request again.
  const key = { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c07398f' }
  faults.add({ operation: 'transaction', when: 'after', fail: 'ServiceUnavailable', times: 1 })
  const once = { requirements: [], updates: snapshotUpdates(1) }
  const commitOnce = () => rest.post('namespaces/prod/tables/a', once, key)
  expect((await commitOnce()).body.error).toMatchObject({ type: 'CommitStateUnknownException', code: 500 })
  expect(await current()).toBe(1)
  expect((await commitOnce()).status).toBe(200)
  // A conflict is met by another run of the server.
  faults.add({ operation: 'transaction', fail: 'ConcurrentModification', times: 1 })
  expect((await commit(2)).status).toBe(200)
  // A busy server.
  faults.add({ operation: 'transaction', fail: 'Throttling', times: 1 })
  expect(await commit(3)).toMatchObject({
    status: 503,
    body: { error: { type: 'ServiceUnavailableException' } },
  })
  expect(await current()).toBe(2)
  // A metadata file that is gone.
  await rm(fileURLToPath((await rest.get('namespaces/prod/tables/a')).body['metadata-location']))
  expect((await rest.get('namespaces/prod/tables/a')).body.error).toMatchObject({
    type: 'NotFoundException',
    code: 404,
  })
  expect(made.status).toBe(200)
})

test('what a client leaves out may be null, as the client in Go sends it', async () => {
  await using server = await servedFake()
  const { rest } = server
  const made = await rest.post('namespaces', { namespace: ['eu'], properties: null })
  expect(made).toMatchObject({ status: 200, body: { namespace: ['eu'], properties: {} } })
  const changed = { updates: { tier: '1' }, removals: null }
  expect((await rest.post('namespaces/eu/properties', changed)).body.updated).toEqual(['tier'])
  await rest.post('namespaces/eu/tables', { name: 'a', schema })
  const updates = [{ action: 'set-properties', updates: { owner: 'ada' } }]
  const committed = await rest.post('namespaces/eu/tables/a', { requirements: null, updates })
  expect(committed.body.metadata.properties.owner).toBe('ada')
})

test('a compressed body is refused before it is read, and says so', async () => {
  await using server = await servedFake()
  const { rest } = server
  const answer = await rest.post('namespaces', { namespace: ['eu'] }, { 'content-encoding': 'gzip' })
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { code: 400, message: expect.stringContaining('Send it without Content-Encoding') } },
  })
  expect((await rest.send('HEAD', 'namespaces/eu')).status).toBe(404)
})

test('unknown paths and methods are errors of Iceberg', async () => {
  await using server = await servedFake()
  const { rest } = server
  expect(await rest.get('nothing')).toMatchObject({
    status: 400,
    body: { error: { type: 'BadRequestException' } },
  })
  expect(await rest.send('DELETE', 'config')).toMatchObject({ status: 405 })
  expect(await rest.post('namespaces', [])).toMatchObject({ status: 400, body: { error: { code: 400 } } })
})

import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { endpointNames } from '../../../src/iceberg/endpoint-names.ts'
import { endpoints } from '../../../src/iceberg/rest/router.ts'
import type { Fault } from '../../../src/testing/index.ts'
import { schema, servedFake, snapshotUpdates } from '../../iceberg/rest.ts'

/** A fake with tables `a` and `b`, whose faults are added over HTTP, as tests in other languages do. */
async function served() {
  const server = await servedFake({ control: true })
  const { rest } = server
  for (const name of ['a', 'b']) await rest.post('namespaces/prod/tables', { name, schema })
  const control = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}/_control/${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as { id: string; seen: number; fired: number }
  }
  const load = (name = 'a') => rest.get(`namespaces/prod/tables/${name}`)
  return {
    rest,
    server,
    add: (fault: Fault) => control('POST', 'faults', fault),
    control,
    load,
    current: async () => (await load()).body.metadata['current-snapshot-id'],
    commit: (id: number, name = 'a') =>
      rest.post(`namespaces/prod/tables/${name}`, {
        requirements: [],
        updates: snapshotUpdates(id, { sequence: id }),
      }),
    [Symbol.asyncDispose]: () => server.close(),
  }
}

const errorOf = ({ status, body }: { status: number; body: { error: { type: string } } }) => [
  status,
  body.error.type,
]

test('every endpoint has a name for faults', () => {
  expect(endpoints.map(({ name }) => name).sort()).toEqual([...endpointNames].sort())
})

test('a commit is made, and its answer is lost', async () => {
  await using fake = await served()
  await fake.add({ operation: 'iceberg.updateTable', fail: 'ServiceUnavailable', when: 'after', times: 1 })
  expect(errorOf(await fake.commit(1))).toEqual([500, 'CommitStateUnknownException'])
  expect(await fake.current()).toBe(1)
  expect((await fake.commit(2)).status).toBe(200)
})

test('the next commit has a conflict, of one table or of several', async () => {
  await using fake = await served()
  const { rest, current, commit } = fake
  await fake.add({
    operation: 'iceberg.updateTable',
    table: ['prod', 'a'],
    fail: 'CommitFailedException',
    times: 1,
  })
  expect((await commit(1, 'b')).status).toBe(200)
  expect(errorOf(await commit(1))).toEqual([409, 'CommitFailedException'])
  expect(await current()).toBe(-1)
  expect((await commit(1)).status).toBe(200)
  await fake.add({
    operation: 'iceberg.commitTransaction',
    table: ['prod', 'b'],
    fail: 'ConcurrentModification',
    times: 1,
  })
  const change = (name: string, id: number) => ({
    identifier: { namespace: ['prod'], name },
    requirements: [],
    updates: snapshotUpdates(id, { sequence: 2 }),
  })
  const body = { 'table-changes': [change('a', 2), change('b', 3)] }
  expect(errorOf(await rest.post('transactions/commit', body))).toEqual([409, 'CommitFailedException'])
  expect(await current()).toBe(1)
  expect((await rest.post('transactions/commit', body)).status).toBe(204)
})

test('a load is slow', async () => {
  await using fake = await served()
  const { id } = await fake.add({ operation: 'iceberg.loadTable', delay: 'released' })
  let isLoaded = false
  const loading = fake.load().finally(() => {
    isLoaded = true
  })
  await expect.poll(() => fake.server.faults.all[0]!.fired).toBe(1)
  // Others are as fast as ever.
  expect((await fake.rest.send('HEAD', 'namespaces/prod/tables/a')).status).toBe(204)
  expect(isLoaded).toBe(false)
  await fake.control('POST', `faults/${id}/release`)
  expect((await loading).status).toBe(200)
})

test('a load is stale, and commits are not', async () => {
  await using fake = await served()
  await fake.commit(1)
  const { id } = await fake.add({ operation: 'iceberg.loadTable', stale: 'state' })
  expect((await fake.commit(2)).body.metadata['current-snapshot-id']).toBe(2)
  expect(await fake.current()).toBe(1)
  expect((await fake.load('b')).status).toBe(200)
  expect(await fake.control('DELETE', `faults/${id}`)).toMatchObject({ seen: 2, fired: 2 })
  expect(await fake.current()).toBe(2)
})

test('credentials have expired', async () => {
  await using fake = await served()
  await fake.add({ operation: 'iceberg.loadTable', fail: 'AuthenticationTimeoutException', times: 1 })
  expect(errorOf(await fake.load())).toEqual([419, 'AuthenticationTimeoutException'])
  await fake.add({ operation: 'iceberg.loadTable', fail: 'Unauthenticated', times: 1 })
  expect(errorOf(await fake.load())).toEqual([401, 'NotAuthorizedException'])
  expect((await fake.load()).status).toBe(200)
})

test('a metadata file was deleted, by a fault and on the disk', async () => {
  await using fake = await served()
  await fake.add({
    operation: 'iceberg.loadTable',
    table: ['prod', 'a'],
    fail: 'NotFoundException',
    times: 1,
  })
  expect((await fake.load('b')).status).toBe(200)
  expect(errorOf(await fake.load())).toEqual([404, 'NotFoundException'])
  await rm(fileURLToPath((await fake.load()).body['metadata-location']))
  expect(errorOf(await fake.load())).toEqual([404, 'NotFoundException'])
})

test('a namespace or name of the body is that of a fault, too', async () => {
  await using fake = await served()
  const { rest } = fake
  await fake.add({
    operation: 'iceberg.createTable',
    table: ['prod', 'c'],
    fail: 'ServiceUnavailable',
    retryAfter: 7,
  })
  const create = (name: string) => rest.post('namespaces/prod/tables', { name, schema })
  expect((await create('d')).status).toBe(200)
  const refused = await create('c')
  expect([...errorOf(refused), refused.headers.get('retry-after')]).toEqual([
    503,
    'ServiceUnavailableException',
    '7',
  ])
  await fake.add({ operation: 'iceberg.renameTable', namespace: ['dev'], fail: 'PermissionDenied' })
  const rename = (namespace: string) =>
    rest.post('tables/rename', {
      source: { namespace: ['prod'], name: 'a' },
      destination: { namespace: [namespace], name: 'x' },
    })
  expect(errorOf(await rename('dev'))).toEqual([403, 'ForbiddenException'])
  expect((await rename('prod')).status).toBe(204)
})

test('a fault for an endpoint that cannot be is refused, and one for all calls is not for endpoints', async () => {
  await using fake = await served()
  const { faults } = fake.server
  const bad: [Fault, string][] = [
    [{ operation: 'iceberg.loadTable', running: true }, 'give delay, fail or stale'],
    [{ operation: 'iceberg.loadTable', stale: 'token' }, 'give delay, fail or stale'],
    [{ operation: 'iceberg.fly' as 'transaction', delay: 1 }, 'must be the name of an operation'],
    [{ operation: 'createTable', fail: 'CommitFailedException' }, 'name an endpoint as the operation'],
    [{ fail: 'CommitFailedException' }, 'name an endpoint as the operation'],
  ]
  for (const [fault, message] of bad) expect(() => faults.add(fault)).toThrow(message)
  const all = faults.add({ delay: 0 })
  expect((await fake.rest.get('config')).status).toBe(200)
  expect(all.fired).toBe(0)
})

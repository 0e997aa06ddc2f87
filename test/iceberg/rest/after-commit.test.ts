import { expect, onTestFinished, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { serve } from '../../../src/server/index.ts'
import type { Mount } from '../../../src/server/mount.ts'
import { type CatalogOptions, openCatalog } from '../../../src/tabularium/index.ts'
import { HttpTransaction } from '../../catalog/lance/clients/transaction.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { IcebergRequests, schema, snapshotUpdates } from '../rest.ts'

/*
 * What fails after a commit, or may have been committed, must not be answered as a failure: clients delete the files of a
 * commit that failed, and send one again that was not taken.
 */

async function served(
  folder: string,
  { mounts, ...options }: CatalogOptions & { mounts?: readonly Mount[] } = {},
) {
  const catalog = await openCatalog(folder, options)
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    mounts: mounts ?? [icebergRest(catalog)],
    limits: { bodyBytes: 1 << 20, arrowBytes: 1 << 20, jsonBytes: 1 << 20 },
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  return { catalog, url: server.url, rest: new IcebergRequests(`${server.url}/iceberg`) }
}

const vended = { 'x-iceberg-access-delegation': 'vended-credentials' }

test('a commit needs no credentials, and one whose credentials fail has an unknown state', async () => {
  let isDown = false
  const { rest } = await served(await freshFolder(), {
    storageOptions: () => {
      if (isDown) throw new CatalogError('PermissionDenied', 'No credentials today.')
      return { region: 'eu-1' }
    },
  })
  await rest.post('namespaces', { namespace: ['prod'] })
  const tables = 'namespaces/prod/tables'
  const made = await rest.post(tables, { name: 'a', schema }, vended)
  expect(made).toMatchObject({ status: 200, body: { config: { 'client.region': 'eu-1' } } })
  isDown = true
  const changed = await rest.post(`${tables}/a`, { updates: snapshotUpdates(7) }, vended)
  expect(changed).toMatchObject({ status: 200, body: { metadata: { 'current-snapshot-id': 7 } } })
  const unknown = await rest.post(tables, { name: 'b', schema }, vended)
  expect(unknown.body.error).toEqual({
    code: 500,
    type: 'CommitStateUnknownException',
    message: 'The change was made, but what follows it failed: No credentials today.',
  })
  expect((await rest.send('HEAD', `${tables}/b`)).status).toBe(204)
})

// Its answer takes twice the memory for all answers.
test.each([
  ['a change', true, 500, 'CommitStateUnknownException', null],
  ['a read', false, 503, 'ServiceUnavailableException', '1'],
])('the answer to %s for which there is no room', async (_, changes, status, type, retryAfter) => {
  const catalog = await openCatalog('memory:')
  const rest = icebergRest(catalog)
  const body = JSON.stringify('x'.repeat(2 << 20))
  const run = async () => ({ status: 200, body })
  const mount: Mount = {
    ...rest,
    route: () => ({ name: 'iceberg.large', access: [], changes, body: 'none', run }),
  }
  const server = await served(await freshFolder(), { mounts: [mount] })
  const answer = await server.rest.get('large')
  expect(answer).toMatchObject({ status, body: { error: { code: status, type } } })
  expect(answer.headers.get('retry-after')).toBe(retryAfter)
  await catalog.close()
})

test('an error of a store that may have made the change is an unknown state', async () => {
  const lost = async () => {
    throw new CatalogError('ServiceUnavailable', 'The answer was lost.', { mayBeDone: true })
  }
  const catalog = await openCatalog('memory:')
  const mount: Mount = {
    ...icebergRest(catalog),
    route: () => ({ name: 'iceberg.lost', access: [], changes: true, body: 'none', run: lost }),
  }
  const { rest } = await served(await freshFolder(), { mounts: [mount] })
  const answer = await rest.get('lost')
  expect(answer.body.error).toEqual({
    code: 500,
    type: 'CommitStateUnknownException',
    message: 'The answer was lost.',
  })
  expect(answer.headers.has('retry-after')).toBe(false)
  await catalog.close()
})

test('a request inside of an open transaction reaches the server that holds it', async () => {
  const folder = await freshFolder()
  const [first, second] = [await served(folder), await served(folder)]
  await first.rest.post('namespaces', { namespace: ['prod'] })
  await first.rest.post('namespaces/prod/tables', { name: 'a', schema })
  const transaction = await HttpTransaction.begin(first.url)
  const inside = transaction.headers
  const changed = await second.rest.post('namespaces/prod/tables/a', { updates: snapshotUpdates(7) }, inside)
  expect(changed).toMatchObject({ status: 200, body: { metadata: { 'current-snapshot-id': 7 } } })
  const current = async (headers = {}) =>
    (await second.rest.get('namespaces/prod/tables/a', headers)).body.metadata['current-snapshot-id']
  expect([await current(inside), await current()]).toEqual([7, -1])
  expect(await transaction.commit()).toBe(200)
  expect(await current()).toBe(7)
})

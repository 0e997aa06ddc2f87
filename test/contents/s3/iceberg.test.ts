import { beforeAll, expect, test } from 'vitest'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { IcebergRequests, schema, snapshotUpdates } from '../../iceberg/rest.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { type Place, s3Place } from './server.ts'

/* Tables of Iceberg whose files lie in S3, and clients that reach them by signatures of the server. */

let place: Place | string

beforeAll(async () => {
  place = await s3Place()
}, 120_000)

test('clients write and read the files of a table by signatures, and no others', async ({ skip }) => {
  if (typeof place === 'string') return skip(place)
  await using catalog = await openCatalog(await freshFolder(), { content: place.freshUrl() })
  await using server = await serve(catalog, { auth: false, port: 0, mounts: [icebergRest(catalog)] })
  const rest = new IcebergRequests(`${server.url}/iceberg`)
  for (const namespace of [['prod'], ['prod', 'eu']]) await rest.post('namespaces', { namespace })
  const made = await rest.post('namespaces/prod%1Feu/tables', { name: 't/ä', schema })
  const { location } = made.body.metadata
  expect(location).toMatch(/^s3:\/\/rows\//)
  expect(made.body.config).toEqual({})
  const loaded = await rest.get('namespaces/prod%1Feu/tables/t%2F%C3%A4', {
    'x-iceberg-access-delegation': 'vended-credentials,remote-signing',
  })
  const { config } = loaded.body
  expect(config).toMatchObject({ 's3.remote-signing-enabled': 'true' })
  const endpoint = config['signer.endpoint'].replace(/^v1\//, '')
  const objectUrl = (name: string, at = location) =>
    `${(place as Place).endpoint}/${at.slice('s3://'.length)}/${name}`
  const sign = (method: string, uri: string) =>
    rest.post(endpoint, { method, uri, region: 'us-east-1', headers: { 'X-Amz-Meta-By': ['test'] } })
  for (const [method, body] of [
    ['PUT', 'some rows'],
    ['GET', undefined],
  ] as const) {
    const signed = await sign(method, objectUrl('data/a.parquet'))
    expect(signed.status).toBe(200)
    const headers = Object.entries(signed.body.headers as Record<string, string[]>).map(
      ([name, values]): [string, string] => [name, values.join(',')],
    )
    const response = await fetch(signed.body.uri, { method, headers, ...(body !== undefined && { body }) })
    expect(response.status).toBe(200)
    if (method === 'GET') expect(await response.text()).toBe('some rows')
  }
  expect((await sign('GET', objectUrl('a', `${location}x`))).body.error).toMatchObject({
    type: 'ForbiddenException',
    code: 403,
  })
  const committed = await rest.post('namespaces/prod%1Feu/tables/t%2F%C3%A4', {
    requirements: [],
    updates: snapshotUpdates(1),
  })
  expect(committed.status).toBe(200)
  expect(committed.body['metadata-location']).toContain(`${location}/metadata/00001-`)
})

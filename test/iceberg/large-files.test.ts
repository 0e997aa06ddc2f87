import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { IcebergRequests, schema, snapshotUpdates } from './rest.ts'

/* Metadata files that are large for the server that reads them. */

async function served(metadataBytes?: number, limits: ServeOptions['limits'] = {}) {
  const folder = await temporaryDirectory()
  const catalog = await openCatalog('memory:', { locationRoots: [folder] })
  const mounts = [icebergRest(catalog, { metadataBytes })]
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    log: false,
    mounts,
    limits: { eventLoopDelay: 0, ...limits },
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const rest = new IcebergRequests(`${server.url}/iceberg`)
  await rest.post('namespaces', { namespace: ['prod'] })
  const made = await rest.post('namespaces/prod/tables', {
    name: 'model',
    schema,
    location: `file://${folder}/model`,
  })
  let files = 0
  /** Registers a table whose metadata file has exactly this many bytes. */
  const register = async (size: number, change = (text: string) => text) => {
    const name = `t${files++}`
    const location = `file://${folder}/${name}`
    const metadata = { ...made.body.metadata, location, padding: [] as string[] }
    let left = size - JSON.stringify(metadata).length
    // Two quotes, and a comma but for the first one.
    for (; left > 0; left -= Math.min(left, 500_003))
      metadata.padding.push('x'.repeat(Math.min(left, 500_003) - (metadata.padding.length > 0 ? 3 : 2)))
    const bytes = change(JSON.stringify(metadata))
    await mkdir(join(folder, name, 'metadata'), { recursive: true })
    await writeFile(join(folder, name, 'metadata/00000-a.metadata.json'), bytes)
    const registered = await rest.post('namespaces/prod/register', {
      name,
      'metadata-location': `${location}/metadata/00000-a.metadata.json`,
    })
    return { name, metadata, bytes, ...registered }
  }
  const held = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(/^tabularium_body_bytes (\d+)/m.exec(text)?.[1])
  }
  return { rest, register, held }
}

const [small, piece] = [64 * 1024, 8 << 20]

it('files of all sizes are read whole, and leave no memory taken', async () => {
  const { rest, register, held } = await served()
  for (const size of [small - 1, small, small + 1, small + piece - 1, small + piece, small + piece + 1]) {
    const { status, body, name, metadata, bytes } = await register(size)
    expect([status, bytes.length]).toEqual([200, size])
    expect(body.metadata).toEqual(metadata)
    const loads = await Promise.all([1, 2, 3].map(() => rest.get(`namespaces/prod/tables/${name}`)))
    for (const load of loads) expect(load.body).toEqual(body)
  }
  expect(await held()).toBe(0)
})

it('a file above the limit is refused, and a commit does not write one', async () => {
  const { rest, register } = await served(100_000)
  expect((await register(100_000)).status).toBe(200)
  expect((await register(100_001)).body.error).toMatchObject({
    type: 'ValidationException',
    message: expect.stringMatching(
      /^The metadata file file:.*\/t1\/.* has more than 100,000 bytes, the most here \(metadataBytes\)\. Expire/,
    ),
  })
  const grow = (length: number) =>
    rest.post('namespaces/prod/tables/model', {
      updates: [{ action: 'set-properties', updates: { note: 'x'.repeat(length) } }],
    })
  expect((await grow(90_000)).status).toBe(200)
  expect((await grow(100_000)).body.error.message).toContain('has more than 100,000 bytes')
  expect((await rest.get('namespaces/prod/tables/model')).body.metadata.properties.note).toHaveLength(90_000)
})

it('files take memory that all requests share, and one that needs more than there is is refused', async () => {
  const { rest, register, held } = await served(undefined, { bodyBytes: 20 << 20, arrowBytes: 1 << 20 })
  // Two of them do not have room at once, and wait for one another.
  const both = await Promise.all([register(2 << 20), register(2 << 20)])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  const refused = await register(20 << 20)
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.body.error.message).toContain('bytes of memory')
  expect(await held()).toBe(0)
  expect((await rest.get(`namespaces/prod/tables/${both[0].name}`)).status).toBe(200)
})

it('files that no reader could take are refused, wherever they are wrong', async () => {
  const { register } = await served()
  const message = async (change: (text: string) => string) =>
    (await register(1 << 20, change)).body.error.message as string
  expect(await message((text) => text.slice(0, -1))).toMatch(
    /t0.* The file is not valid JSON: Unexpected end/,
  )
  expect(await message((text) => `${text}]`)).toContain('The file is not valid JSON')
  const nested = `${'['.repeat(101)}${']'.repeat(101)}`
  expect(await message((text) => text.replace('"properties":{', `"properties":{"a":${nested},`))).toMatch(
    /The file nests deeper than 100 levels, the most here\.$/,
  )
})

it('a table with more snapshots than are written at once is loaded, changed and loaded again', async () => {
  const { rest } = await served()
  const ids = Array.from({ length: 1_500 }, (_, i) => 2n ** 60n + BigInt(i))
  const updates = ids.flatMap((id, i) =>
    snapshotUpdates(id, { ...(i > 0 && { parent: ids[i - 1]! }), sequence: i + 1 }),
  )
  const table = 'namespaces/prod/tables/model'
  expect((await rest.post(table, { updates })).status).toBe(200)
  const loaded = await rest.get(table)
  expect(loaded.body.metadata.snapshots.map((one: Record<string, unknown>) => one['snapshot-id'])).toEqual(
    ids,
  )
  expect(loaded.headers.get('content-length')).toMatch(/^\d{6}$/)
  const refs = await rest.get(`${table}?snapshots=refs`)
  expect(refs.body.metadata.snapshots).toHaveLength(1)
  const removed = await rest.post(table, {
    updates: [{ action: 'remove-snapshots', 'snapshot-ids': ids.slice(0, 700) }],
  })
  expect(removed.body.metadata.snapshots).toHaveLength(800)
  expect((await rest.get(table)).body).toEqual({ ...removed.body, config: {} })
})

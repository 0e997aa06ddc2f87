import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import { parse, stringify } from '../../src/iceberg/json.ts'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { mostWorkOfATurn, type TurnWork } from '../support/work-of-turns.ts'
import { schema, snapshotUpdates } from './rest.ts'

/* Other requests go on beside large metadata, as no turn of the event loop has more than a small part of its work. */

// The coverage slows all code down.
limitEach(600)

const snapshots = 4_000

/**
 * Work with all snapshots at once has more than these, unless it is as small as a comparison of ids. A step has 9,000 blocks
 * of code, and text of two or three parts of 64 KiB. The file has ten times as much.
 */
const most: TurnWork = { blocks: 4 * snapshots, characters: 200_000 }

const id = (i: number) => 2n ** 60n + BigInt(i * 7919)

/** The metadata file of a table with many snapshots, all of them in its log. */
function manySnapshots(metadata: object, location: string): string {
  const time = (i: number) => Date.now() - 20 * (snapshots - i)
  const all = Array.from({ length: snapshots }, (_, i) => ({
    'snapshot-id': id(i),
    ...(i > 0 && { 'parent-snapshot-id': id(i - 1) }),
    'sequence-number': i + 1,
    'timestamp-ms': time(i),
    'manifest-list': `${location}/metadata/snap-${id(i)}-1-0192f3f4-6f7c-7c3e-9d55-5a8f3d0f9a11.avro`,
    summary: { operation: 'append', 'added-records': '1', 'total-records': String(i + 1) },
    'schema-id': 0,
  }))
  const last = id(snapshots - 1)
  return stringify({
    ...metadata,
    location,
    'last-sequence-number': snapshots,
    'last-updated-ms': time(snapshots),
    'current-snapshot-id': last,
    snapshots: all,
    'snapshot-log': all.map((one) => ({
      'snapshot-id': one['snapshot-id'],
      'timestamp-ms': one['timestamp-ms'],
    })),
    refs: { main: { type: 'branch', 'snapshot-id': last } },
  })
}

/** Two servers of one catalog. `send` leaves answers unparsed, as that is the client's work. */
async function served() {
  const folder = await temporaryDirectory()
  const catalog = await openCatalog('memory:', { locationRoots: [folder] })
  const open = () =>
    serve(catalog, {
      auth: false,
      port: 0,
      log: false,
      limits: { eventLoopDelay: 0 },
      mounts: [icebergRest(catalog)],
    })
  const [first, second] = [await open(), await open()]
  onTestFinished(async () => {
    await first.close()
    await second.close()
    await catalog.close()
  })
  const send = async (method: string, path: string, body?: unknown, { url } = first) => {
    const headers = { 'content-type': 'application/json' }
    const request = { method, headers, ...(body !== undefined && { body: stringify(body) }) }
    const response = await fetch(`${url}/iceberg/v1/${path}`, request)
    const bytes = Buffer.from(await response.arrayBuffer())
    expect([response.status, response.ok ? '' : bytes.toString()]).toEqual([response.status, ''])
    return bytes
  }
  return { folder, second, send }
}

it('no turn of the event loop has much of the work with a table of many snapshots', async () => {
  const { folder, second, send } = await served()
  await send('POST', 'namespaces', { namespace: ['prod'] })
  const create = (name: string) =>
    send('POST', 'namespaces/prod/tables', { name, schema, location: `file://${folder}/${name}` })
  const { metadata } = parse((await create('small')).toString()) as { readonly metadata: object }
  const location = `file://${folder}/large`
  await mkdir(join(folder, 'large/metadata'), { recursive: true })
  await writeFile(join(folder, 'large/metadata/0.metadata.json'), manySnapshots(metadata, location))
  const register = (name: string, folder: string) =>
    send('POST', 'namespaces/prod/register', { name, 'metadata-location': `${folder}/0.metadata.json` })
  const add = (table: string, added: number, parent?: bigint) => {
    const updates = snapshotUpdates(added, {
      ...(parent !== undefined && { parent }),
      sequence: parent === undefined ? 1 : snapshots + added,
    })
    return send('POST', `namespaces/prod/tables/${table}`, { updates })
  }
  const remove = (table: string, ids: readonly (number | bigint)[]) =>
    send('POST', `namespaces/prod/tables/${table}`, {
      updates: [{ action: 'remove-snapshots', 'snapshot-ids': ids }],
    })
  // The first request of each kind also prepares its answers.
  await add('small', 1)
  await send('GET', 'namespaces/prod/tables/small?snapshots=refs')

  const table = 'namespaces/prod/tables/large'
  const requests: Record<string, () => Promise<unknown>> = {
    register: () => register('large', `${location}/metadata`),
    load: () => send('GET', table),
    'load what branches name': () => send('GET', `${table}?snapshots=refs`),
    'load by another server': () => send('GET', table, undefined, second),
    commit: () => add('large', 1, id(snapshots - 1)),
    'a commit that needs an index': () => remove('large', [id(1), id(2)]),
    'half of the snapshots go': () =>
      remove(
        'large',
        Array.from({ length: snapshots / 2 }, (_, i) => id(i)),
      ),
  }
  const work: Record<string, TurnWork> = {}
  for (const [name, request] of Object.entries(requests)) work[name] = await mostWorkOfATurn(request)
  for (const [name, { blocks, characters }] of Object.entries(work)) {
    expect(blocks, name).toBeLessThan(most.blocks)
    expect(characters, name).toBeLessThan(most.characters)
  }
  // What is counted is there.
  expect(work.register!.blocks).toBeGreaterThan(most.blocks / 50)
  expect(work.register!.characters).toBeGreaterThan(most.characters / 50)
})

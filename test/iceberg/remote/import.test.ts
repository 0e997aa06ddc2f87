import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type ImportedEntry, importIceberg } from '../../../src/iceberg/index.ts'
import { lines, run } from '../../cli/run.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { commitTo, makeTable, makeView, servedDirectory } from '../directory.ts'
import { schema } from '../rest.ts'

/** A source with tables below a folder that the targets can reach, too. */
async function scene() {
  const folder = await freshFolder()
  const root = join(folder, 'warehouse')
  mkdirSync(root)
  const source = await servedDirectory(join(folder, 'source'), {
    tableRoot: pathToFileURL(root).href,
    locationRoots: [root],
  })
  await source.rest.post('namespaces', { namespace: ['prod'], properties: { owner: 'ada' } })
  await makeTable(source.rest, 't', { commits: 2 })
  await makeView(source.rest, 'v')
  return { folder, root, source, target: join(folder, 'target') }
}

async function openTarget(directory: string, root: string) {
  return servedDirectory(directory, { locationRoots: [root] })
}

test('tables, views and namespaces are registered as they are, and a second run follows what changed', async () => {
  const { root, source, target } = await scene()
  await source.rest.post('namespaces', { namespace: ['prod', 'eu', 'x'] })
  await source.rest.post('namespaces', { namespace: ['empty'] })
  await source.rest.post('namespaces', { namespace: ['prod', 'eu'] })
  await source.rest.post('namespaces/prod%1Feu/tables', { name: 'deep', schema })
  const command = ['import-iceberg', source.url, '--into', target, '--location-root', root]
  const dry = await run([...command, '--dry-run'])
  expect(existsSync(target)).toBe(false)
  expect({ code: dry.code, out: lines(dry) }).toEqual({
    code: 0,
    out: [{ namespaces: 3, created: 0, registered: 3, updated: 0, same: 0, failed: 0 }],
  })
  expect(lines(await run(command))).toEqual([
    { namespaces: 3, created: 3, registered: 3, updated: 0, same: 0, failed: 0 },
  ])
  expect(lines(await run(command))).toMatchObject([{ created: 0, registered: 0, same: 3 }])
  await commitTo(source.rest, 't', 3)
  expect(lines(await run(command))).toMatchObject([{ updated: 1, same: 2, failed: 0 }])
  const copy = await openTarget(target, root)
  for (const path of ['prod/tables/t', 'prod/views/v', 'prod%1Feu/tables/deep']) {
    const { body } = await copy.rest.get(`namespaces/${path}`)
    expect(body).toEqual((await source.rest.get(`namespaces/${path}`)).body)
  }
  expect((await copy.rest.get('namespaces/prod')).body.properties).toEqual({ owner: 'ada' })
  expect((await copy.rest.get('namespaces/empty')).status).toBe(200)
})

test('a table that was changed in the target is not overwritten, unless that is asked for', async () => {
  const { root, source, target } = await scene()
  const copy = await openTarget(target, root)
  await importIceberg({ url: source.url }, copy.catalog)
  await commitTo(copy.rest, 't', 3)
  await source.rest.post('namespaces/prod/tables/t', {
    updates: [{ action: 'set-properties', updates: { a: 'source' } }],
  })
  const entries: ImportedEntry[] = []
  const onEntry = (entry: ImportedEntry) => entries.push(entry)
  expect(await importIceberg({ url: source.url }, copy.catalog, { onEntry })).toMatchObject({
    same: 1,
    failed: 1,
  })
  expect(String(entries[0]!.error)).toMatch(/prod\$t was changed in the target/)
  expect(await importIceberg({ url: source.url }, copy.catalog, { overwrite: true })).toMatchObject({
    updated: 1,
  })
  expect((await copy.rest.get('namespaces/prod/tables/t')).body.metadata.properties).toMatchObject({
    a: 'source',
  })
  // Dropped and made again at the source, it is another table.
  await source.rest.send('DELETE', 'namespaces/prod/tables/t')
  await makeTable(source.rest, 't', { commits: 0 })
  entries.length = 0
  expect(await importIceberg({ url: source.url }, copy.catalog, { overwrite: true, onEntry })).toMatchObject({
    failed: 1,
  })
  expect(String(entries.find(({ outcome }) => outcome === 'failed')!.error)).toMatch(
    /is another table at the source/,
  )
})

test('the message for tables outside of the roots names the root that holds all of them', async () => {
  const { root, source, target } = await scene()
  const told = await run(['import-iceberg', source.url, '--into', target])
  expect(told.code).toBe(1)
  expect(told.err).toMatch(/failed: table prod\.t: .*is out of reach/)
  expect(told.err).toContain(`Give --location-root ${root}, here or`)
  const again = await run(['import-iceberg', source.url, '--into', target, '--location-root', root])
  expect({ code: again.code, out: lines(again) }).toMatchObject({
    code: 0,
    out: [{ registered: 2, created: 0 }],
  })
})

test('a server of ours is a target, too, with a token', async () => {
  const { root, source, target } = await scene()
  const copy = await openTarget(target, root)
  const into = copy.url.replace('/iceberg', '')
  const command = ['import-iceberg', source.url, '--into', into, '--into-token', 'secret']
  expect(lines(await run(command))).toMatchObject([{ created: 1, registered: 2, failed: 0 }])
  await commitTo(source.rest, 't', 3)
  await source.rest.post('namespaces/prod/views/v', {
    updates: [{ action: 'set-properties', updates: { a: 'b' } }],
  })
  expect(lines(await run(command))).toMatchObject([{ updated: 2, same: 0, failed: 0 }])
  for (const path of ['tables/t', 'views/v'])
    expect((await copy.rest.get(`namespaces/prod/${path}`)).body).toEqual(
      (await source.rest.get(`namespaces/prod/${path}`)).body,
    )
})

test('only the namespaces that are named are imported, with those around and below them', async () => {
  const { root, source, target } = await scene()
  for (const namespace of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'x']])
    await source.rest.post('namespaces', { namespace })
  const told = await run([
    'import-iceberg',
    source.url,
    'a.b',
    'none',
    '--into',
    target,
    '--location-root',
    root,
  ])
  expect(told.code).toBe(1)
  expect(told.err).toMatch(/failed: namespace none: Namespace does not exist/)
  expect(lines(told)).toMatchObject([{ namespaces: 2, created: 3, registered: 0, failed: 1 }])
})

const odd = ['with space', 'a.b', 'a/b', 'a%b', 'a+b', 'émoji 🦊', "quo'te", 'a?b#c', 'UPPER', '-x', '~']

test('odd names come as they are', async () => {
  const { folder, root, source } = await scene()
  const copy = await openTarget(join(folder, 'copy'), root)
  for (const name of odd) {
    const made = await source.rest.post('namespaces', { namespace: ['prod', name] })
    expect({ name, status: made.status }).toEqual({ name, status: 200 })
    const path = `namespaces/${encodeURIComponent(`prod\u001f${name}`)}`
    expect((await source.rest.post(`${path}/tables`, { name, schema })).status).toBe(200)
  }
  expect(await importIceberg({ url: source.url }, copy.catalog)).toMatchObject({
    namespaces: odd.length + 1,
    registered: odd.length + 2,
    failed: 0,
  })
  for (const name of odd)
    expect((await copy.catalog.describeTable({ id: ['prod', name, name] })).location).toMatch(/^file:/)
})

test('an import that is interrupted says how to go on, and goes on', async () => {
  const { root, source, target } = await scene()
  for (let i = 0; i < 30; i++) await makeTable(source.rest, `t${i}`, { commits: 0 })
  const stop = new AbortController()
  let asked = 0
  const between = createServer(async (request, response) => {
    if (/\/tables\/./.test(request.url!) && ++asked === 20) stop.abort(new Error('interrupted'))
    const { status, headers, body } = await fetch(new URL(request.url!, source.url))
    const type = headers.get('content-type') ?? 'application/json'
    response.writeHead(status, { 'content-type': type }).end(await new Response(body).text())
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  onTestFinished(() => void between.close().closeAllConnections())
  const { port } = between.address() as AddressInfo
  const url = `http://127.0.0.1:${port}${new URL(source.url).pathname}`
  const stopped = await run(['import-iceberg', url, '--into', target, '--location-root', root], {
    signal: stop.signal,
  })
  expect(stopped).toMatchObject({ code: 130, out: '' })
  expect(stopped.err).toMatch(/^What was imported stays\. Run it again: it skips that, and goes on\.\n/)
  const again = await run(['import-iceberg', source.url, '--into', target, '--location-root', root])
  const [report] = lines(again) as [{ registered: number; same: number }]
  expect(report).toMatchObject({ failed: 0 })
  expect(report.same).toBeGreaterThan(0)
  expect(report.registered + report.same).toBe(32)
})

test('an import can be stopped, and a wrong command line is refused', async () => {
  const { root, source, target } = await scene()
  const stop = new AbortController()
  stop.abort()
  const command = ['import-iceberg', source.url, '--into', target, '--location-root', root]
  expect(await run(command, { signal: stop.signal })).toMatchObject({ code: 130 })
  expect(await run(['import-iceberg', source.url])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--into'),
  })
  expect(await run(['import-iceberg', 'nowhere', '--into', target])).toMatchObject({
    code: 1,
    err: expect.stringContaining('nowhere is not the URL of a catalog of Iceberg REST'),
  })
})

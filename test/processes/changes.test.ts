import { expect, onTestFinished, test } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { changesSince, listed, Replayed, take } from '../catalog/handle/watch-model.ts'
import { freshFolder } from '../support/catalogs.ts'
import { Child } from './child-process.ts'

test('who watches a directory sees each commit of other processes once, also of those that were killed', async () => {
  const directory = await freshFolder()
  const catalog = await openCatalog(directory)
  onTestFinished(() => catalog.close())
  const since = await catalog.watch().token()
  await catalog.createTable({ id: ['rows'], data: [{ x: 0 }] })
  const watches = [catalog.watch({ since }), catalog.watch({ since })]
  const children = [1, 2].map((me) => new Child('test/processes/changes-child.ts', [directory, String(me)]))
  onTestFinished(() => {
    for (const child of children) child.stop()
  })
  // This process gets no notification of them.
  const seen = await Promise.all(watches.map((watch) => take(watch, 25)))
  expect(seen[0]).toEqual(seen[1])
  for (const watch of watches) await watch.return()
  await Promise.all(children.map((child) => child.wrote(6)))
  await Promise.all(children.map((child) => child.kill()))
  const all = await changesSince(catalog, since)
  expect(all.slice(0, 25)).toEqual(seen[0])
  const ids = all.map(({ transaction_id }) => transaction_id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { lines } of children) expect(ids).toEqual(expect.arrayContaining(lines))
  const replayed = new Replayed()
  for (const change of all) replayed.take(change)
  expect(replayed.shown()).toEqual(await listed(catalog))
  expect((await catalog.verify()).ok).toBe(true)
})

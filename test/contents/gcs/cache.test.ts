import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { cachedContent } from '../../../src/contents/cache/index.ts'
import { tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { openContent } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { faultyProxy } from '../faulty-proxy.ts'
import { gcsStandIn } from './stand-in.ts'

// Worker threads and their servers start.
limitEach(60)

const standIn = await gcsStandIn('rows')
const proxy = await faultyProxy(standIn.url)
afterAll(async () => {
  await proxy.close()
  standIn.close()
})

test('threads read objects themselves, and keep them on local disk for all that read them', async () => {
  const folder = await freshFolder()
  const url = `gs://rows/${randomUUID()}?endpoint=${encodeURIComponent(proxy.url)}`
  const open = async () => {
    const content = await cachedContent(await openContent(url), { folder, bytes: 64 << 20, owner: 'me' })
    return tableEngine({ content, threads: 2, threadedRows: 0, threadedAfter: 0, fragmentRows: 32_768 })
  }
  const rows = Array.from({ length: 100_000 }, (_, x) => ({ x, y: x % 7 }))
  const writer = await open()
  const { manifest } = await writer.create('t/', await toArrowTable(rows))
  await writer.close()

  const files = async () =>
    (await readdir(folder, { recursive: true })).filter((name) => /[0-9a-f]{62}$/.test(name))
  const reads = () => proxy.seen.filter((one) => one.startsWith('GET') && one.includes('.arrow'))
  const count = async () => {
    const engine = await open()
    const snapshot = await engine.open('t/', manifest)
    expect(await engine.countRows(snapshot, { predicate: 'x >= 500 AND y = 3' })).toBe(14_215)
    // The manifest, the metadata and two columns of each large fragment, and the small one as a whole.
    await expect.poll(files).toHaveLength(1 + 3 * 3 + 1)
    await engine.close()
  }
  await count()
  // One for each fragment: its columns lie near each other.
  expect(reads()).toHaveLength(4)
  await count()
  expect(reads()).toHaveLength(4)
})

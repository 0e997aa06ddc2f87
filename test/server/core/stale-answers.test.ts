import { expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { connect } from '../../../src/client/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { fetchHandler, type HttpOptions } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type CatalogOptions, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { followGlobalTime } from '../../support/global-time.ts'

/** A server over a store that does not report its state, like a database. `reads` counts its reads. */
async function served(options: Partial<HttpOptions>, more: Partial<CatalogOptions> = {}) {
  const memory = memoryStore()
  const counted = { reads: 0 }
  const store: Store = {
    features: memory.features,
    read: (body) => {
      counted.reads++
      return memory.read(body)
    },
    write: (body) => memory.write(body),
    close: async () => {},
  }
  const content = memoryContent()
  const open = async () => {
    const catalog = closedAfterwards(await openCatalog({ store, content, root: 'memory://all', ...more }))
    const handler = await fetchHandler(catalog, { auth: false, limits: { eventLoopDelay: 0 }, ...options })
    onTestFinished(() => handler.close())
    return connect('http://localhost', { fetch: handler, retries: 0 })
  }
  return { first: await open(), second: await open(), counted }
}

function stoppedTime() {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
  followGlobalTime()
  onTestFinished(() => void vi.useRealTimers())
}

const listed = async (client: ReturnType<typeof connect>, transaction?: string) =>
  (await client.listTables({ id: [], include_declared: true }, { transaction })).tables

test('unless a server is told otherwise, it reads each time', async () => {
  const { first, counted } = await served({})
  await listed(first)
  const before = counted.reads
  await listed(first)
  expect(counted.reads).toBe(before + 1)
})

test('answers are given again for as long as they may be old, and no longer', async () => {
  stoppedTime()
  const { first, second, counted } = await served({ staleMillis: 500 })
  expect([await listed(first), await listed(second)]).toEqual([[], []])
  await first.declareTable({ id: ['a'] })
  expect([await listed(first), await listed(second)]).toEqual([['a'], []])
  const before = counted.reads
  vi.advanceTimersByTime(499)
  expect([await listed(first), await listed(second)]).toEqual([['a'], []])
  expect(counted.reads).toBe(before)
  vi.advanceTimersByTime(1)
  expect(await listed(second)).toEqual(['a'])
  // An answer that was made within the time is not kept beyond it.
  await first.declareTable({ id: ['b'] })
  vi.advanceTimersByTime(400)
  expect((await second.describeTable({ id: ['b'] })).location).toBeTypeOf('string')
  await first.dropTable({ id: ['b'] })
  vi.advanceTimersByTime(100)
  await expect(second.describeTable({ id: ['b'] })).rejects.toMatchObject({ code: 'TableNotFound' })
})

test('a clock that was set, or went on while the machine slept, ends the time', async () => {
  stoppedTime()
  const { first, second } = await served({ staleMillis: 60_000 })
  const steady = performance.now()
  for (const [name, clock] of [
    ['later', Date.now() + 3_600_000],
    ['earlier', Date.now() - 3_600_000],
  ] as const) {
    await listed(second)
    await first.declareTable({ id: [name] })
    expect(await listed(second)).not.toContain(name)
    vi.setSystemTime(clock)
    expect(performance.now()).toBe(steady)
    expect(await listed(second)).toContain(name)
  }
})

test('transactions read nothing old, and their commit shows at once', async () => {
  stoppedTime()
  const { first, second } = await served({ staleMillis: 60_000 })
  await listed(first)
  await second.declareTable({ id: ['a'] })
  expect(await listed(first)).toEqual([])
  const { transaction_id: transaction } = await first.beginTransaction({})
  expect(await listed(first, transaction)).toEqual(['a'])
  await first.declareTable({ id: ['b'] }, { transaction })
  await first.commitTransaction({ id: [transaction] })
  expect(await listed(first)).toEqual(['a', 'b'])
})

test('a read that began before a change of the server is not kept beyond it', async () => {
  stoppedTime()
  const { first } = await served({ staleMillis: 60_000 })
  const reading = listed(first)
  await first.declareTable({ id: ['a'] })
  await reading
  expect(await listed(first)).toEqual(['a'])
})

test('what a hook decides is asked each time, and times that are none are refused', async () => {
  let asked = 0
  const { first } = await served({ staleMillis: 60_000 }, { authorize: () => void asked++ })
  await listed(first)
  await listed(first)
  expect(asked).toBe(2)
  const catalog = closedAfterwards(await openCatalog('memory:'))
  for (const staleMillis of [-1, Number.NaN, 60_001]) {
    await expect(fetchHandler(catalog, { auth: false, staleMillis })).rejects.toMatchObject({
      code: 'InvalidInput',
    })
  }
})

import { describe, expect, onTestFinished, test } from 'vitest'
import { keyedQueue } from '../../../src/base/scheduling/keyed-queue.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { serve } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import {
  type CatalogError,
  type LocalCatalog,
  openCatalog,
  type Store,
} from '../../../src/tabularium/index.ts'
import { gate } from '../../support/gate.ts'

const id = ['t']
const path = (n: number) => `_versions/${n}`

/** Catalogs of so many processes on one store, whose turns are those of the first argument. */
async function several(inTurn: NonNullable<Store['inTurn']>, count = 2): Promise<LocalCatalog[]> {
  const shared = memoryStore()
  const content = memoryContent()
  const open = () => {
    const store: Store = {
      features: shared.features,
      read: (body) => shared.read(body),
      write: (body) => shared.write(body),
      inTurn,
      isTurnTaken: async () => false,
      close: async () => {},
    }
    return openCatalog({ store, content, root: 'memory:///' })
  }
  const catalogs = await Promise.all(Array.from({ length: count }, open))
  onTestFinished(async () => {
    for (const catalog of catalogs) await catalog.close()
  })
  await catalogs[0]!.declareTable({ id })
  return catalogs
}

const record = (catalog: LocalCatalog, version: number, signal?: AbortSignal) =>
  catalog.createTableVersion({ id, version, manifest_path: path(version) }, { signal })

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: CatalogError) => error,
  )

/** The requests that a server works on, besides the one that asks. */
async function inFlight({ url }: { readonly url: string }): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tabularium_requests_in_flight (\d+)/m.exec(text)![1])
}

/** Takes a turn until a promise resolves, after all turns before it. */
function hold(queue: ReturnType<typeof keyedQueue>, name: string, until: Promise<void>) {
  return new Promise<{ readonly over: Promise<void> }>((resolve) => {
    const over: Promise<void> = queue(name, () => {
      resolve({ over })
      return until
    })
  })
}

/** Turns as a store of several processes has them, and the names under which they were taken. */
function turns() {
  const queue = keyedQueue()
  const taken: string[] = []
  const inTurn: NonNullable<Store['inTurn']> = (name, work) =>
    queue(String(name), () => {
      taken.push(String(name))
      return work()
    })
  return { inTurn, taken, queue }
}

describe('a refused version', () => {
  test('is answered with the next one, where it is taken and where it leaves a gap', async () => {
    const [catalog] = (await several(turns().inTurn, 1)) as [LocalCatalog]
    await record(catalog, 7)
    for (const version of [7, 1, 9]) {
      const manifest_path = 'another'
      const refusal = await refusalOf(catalog.createTableVersion({ id, version, manifest_path }))
      expect(refusal).toMatchObject({ code: 'ConcurrentModification', next_version: 8 })
    }
  })

  test('is answered with the next one over HTTP', async () => {
    const [catalog] = (await several(turns().inTurn, 1)) as [LocalCatalog]
    const server = await serve(catalog, { auth: false, port: 0 })
    onTestFinished(() => server.close())
    const client = await openCatalog(server.url as `http://${string}`)
    onTestFinished(() => client.close())
    await record(catalog, 7)
    expect(await refusalOf(client.createTableVersion({ id, version: 9, manifest_path: 'x' }))).toMatchObject({
      code: 'ConcurrentModification',
      next_version: 8,
    })
  })

  test('takes a turn until its writer has returned, before another process has the next one', async () => {
    const { inTurn, taken } = turns()
    const [one, other] = (await several(inTurn)) as [LocalCatalog, LocalCatalog]
    await record(one, 1)
    // Each process meets the other one.
    for (const catalog of [one, other]) await refusalOf(record(catalog, 5))
    expect(taken).toEqual([])
    const late = refusalOf(record(one, 5)).then((error) => record(one, error!.next_version!))
    const rival = refusalOf(record(other, 5)).then((error) => record(other, error!.next_version!))
    expect((await late).version).toMatchObject({ version: 2 })
    expect((await rival).version).toMatchObject({ version: 3 })
    expect(taken).toHaveLength(2)
  })
})

describe('a writer in the row', () => {
  test('leaves it when its signal aborts, and the others go on', async () => {
    const { inTurn, queue, taken } = turns()
    const [one] = (await several(inTurn, 1)) as [LocalCatalog]
    await record(one, 1)
    await refusalOf(record(one, 5))
    await refusalOf(record(one, 5))
    const held = gate()
    const holding = await hold(queue, taken[0]!, held.opened)
    const leaving = new AbortController()
    const left = refusalOf(record(one, 2, leaving.signal))
    const stays = refusalOf(one.createTableVersion({ id, version: 2, manifest_path: 'stays' }))
    // Both wait for the turn by then.
    await new Promise(setImmediate)
    leaving.abort(new Error('gone'))
    expect(await left).toMatchObject({ message: 'gone' })
    held.open()
    await holding.over
    expect(await stays).toBeUndefined()
    const { versions } = await one.listTableVersions({ id })
    expect(versions.map(({ manifest_path }) => manifest_path).sort()).toEqual([path(1), 'stays'].sort())
  })

  test('leaves it when its connection ends', async () => {
    const { inTurn, queue, taken } = turns()
    const [one] = (await several(inTurn, 1)) as [LocalCatalog]
    const server = await serve(one, { auth: false, port: 0 })
    onTestFinished(() => server.close())
    await record(one, 1)
    await refusalOf(record(one, 5))
    await refusalOf(record(one, 5))
    const held = gate()
    const holding = await hold(queue, taken[0]!, held.opened)
    const asked = taken.length
    const ask = (manifest_path: string, signal?: AbortSignal) =>
      fetch(`${server.url}/v1/table/t/version/create`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ version: 2, manifest_path }),
        ...(signal && { signal }),
      })
    const gone = new AbortController()
    const left = refusalOf(ask('left', gone.signal))
    await expect.poll(() => inFlight(server)).toBe(1)
    gone.abort()
    expect(await left).toBeDefined()
    await expect.poll(() => inFlight(server)).toBe(0)
    held.open()
    await holding.over
    expect((await ask('stays')).status).toBe(200)
    expect(taken.length).toBeGreaterThan(asked)
    const { versions } = await one.listTableVersions({ id })
    expect(versions.map(({ manifest_path }) => manifest_path)).not.toContain('left')
  })

  test('does its work where the store gives no turn', async () => {
    const [one] = (await several(async () => {
      throw new Error('no turns here')
    }, 1)) as [LocalCatalog]
    await record(one, 1)
    await refusalOf(record(one, 5))
    expect((await record(one, 2)).version).toMatchObject({ version: 2 })
    expect(await refusalOf(record(one, 5))).toMatchObject({ next_version: 3 })
  })
})

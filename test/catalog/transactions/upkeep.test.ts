import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { keys, type TaskRecord } from '../../../src/base/store/records.ts'
import type { Range, Reader, Store, Value, Writer } from '../../../src/base/store/store.ts'
import { Heartbeat } from '../../../src/catalog/transactions/heartbeat.ts'
import { runLeased } from '../../../src/catalog/transactions/leased.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { stoppedClock } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { followGlobalTime } from '../../support/global-time.ts'
import { sharedStores } from '../../support/shared-stores.ts'
import { limitEach } from '../../support/time-limit.ts'

// It clears thousands of records while callers go on.
limitEach(60)

afterEach(() => {
  vi.useRealTimers()
})

describe('a task that one process does at a time', () => {
  /** Processes that share a store and a clock. */
  function processes(count: number) {
    const store = memoryStore()
    const clock = { now: 1_000_000 }
    const now = () => clock.now
    const all = Array.from({ length: count }, () => ({ store, now, heartbeat: new Heartbeat(store, now) }))
    return { store, clock, all }
  }

  it('is left alone by others, until it is done or has failed', async () => {
    const [one, other] = processes(2).all
    const { open, opened } = gate<string>()
    const first = runLeased(one!, ['a', 'b'], () => opened)
    expect(await runLeased(other!, ['a', 'b'], async () => 'second')).toBeUndefined()
    expect(await runLeased(other!, ['a'], async () => 'another')).toEqual({ result: 'another' })
    open('first')
    expect(await first).toEqual({ result: 'first' })
    await expect(runLeased(one!, ['a', 'b'], () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await runLeased(other!, ['a', 'b'], async () => 'third')).toEqual({ result: 'third' })
  })

  it('is taken over when the lease of its process has ended, which takes nothing back when it wakes up', async () => {
    const { clock, all } = processes(3)
    const [one, other, third] = all
    const { open, opened } = gate()
    const first = runLeased(one!, ['a'], () => opened)
    await Promise.resolve()
    clock.now += 60_001
    const next = gate()
    const second = runLeased(other!, ['a'], () => next.opened)
    await Promise.resolve()
    open()
    expect(await first).toBeDefined()
    expect(await runLeased(third!, ['a'], async () => 'third')).toBeUndefined()
    next.open()
    expect(await second).toBeDefined()
    expect(await runLeased(third!, ['a'], async () => 'third')).toEqual({ result: 'third' })
  })

  it('keeps its lease for as long as it lasts, and hears when it lost it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    followGlobalTime()
    const { clock, all } = processes(2)
    const [one, other] = all
    let signal: AbortSignal | undefined
    const { open, opened } = gate()
    const first = runLeased(one!, ['a'], (given) => {
      signal = given
      return opened
    })
    for (let n = 0; n < 200; n++) {
      clock.now += 1_000
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(await runLeased(other!, ['a'], async () => {})).toBeUndefined()
    clock.now += 60_001
    expect(await runLeased(other!, ['a'], async () => {})).toBeDefined()
    expect(signal?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(signal?.aborted).toBe(true)
    open()
    await first
  })
})

for (const { place, missing, begin } of sharedStores) {
  describe.skipIf(missing)(`clearing transaction records of ${place}`, () => {
    async function started() {
      const openStore = await begin()
      const store = await openStore()
      const now = stoppedClock()
      const open = async (transactionCount = 100, through = (own: Store) => own) =>
        openCatalog({
          store: through(await openStore()),
          content: memoryContent(),
          root: 'memory://here',
          now,
          transactionCount,
          transactionAge: 60_000,
        })
      let made = 0
      const change = async (catalog: LocalCatalog, count: number) => {
        const names = Array.from({ length: count }, () => `n${made++}`)
        const done = await Promise.all(names.map((name) => catalog.createNamespace({ id: [name] })))
        return done.map(({ transaction_id }) => transaction_id!)
      }
      const records = () =>
        store.read((reader) => Array.from(reader.range({ prefix: keys.transactions }), ({ key }) => key[1]))
      onTestFinished(() => store.close())
      return { store, now, open, change, records }
    }

    it('is done by one process, and by another one when that one is dead', async () => {
      const { store, now, open, change, records } = await started()
      const key = keys.task(['upkeep'])
      const dead: TaskRecord = { v: 1, holder: 'a process that was killed', until: now() + 90_000 }
      await store.write((writer) => writer.put(key, dead))
      const one = await open()
      const old = await change(one, 20)
      now.move(60_001)
      await change(one, 1)
      // It waits for the upkeep.
      await one.close()
      expect(await records()).toHaveLength(21)
      now.move(30_000)
      const other = await open()
      await change(other, 1)
      await other.close()
      const left = await records()
      expect(left).toHaveLength(2)
      expect(old.filter((transaction) => left.includes(transaction))).toEqual([])
      expect(await store.read((reader) => reader.get(key))).toBeUndefined()
    })

    it('goes on over many records by small steps, and never clears those of work under way', async () => {
      const { open, change, records } = await started()
      const one = await open()
      const { transaction_id } = await one.beginTransaction({})
      const insert = { transaction: transaction_id }
      await one.createNamespace({ id: ['inside'] }, insert)
      await change(one, 300)
      const other = await open()
      await change(other, 300)
      await other.close()
      // While one process is at it, others leave it to a later change.
      await change(one, 1)
      await expect.poll(async () => (await records()).length).toBeLessThan(130)
      expect(await records()).toContain(transaction_id)
      expect(await one.commitTransaction({ id: [transaction_id] })).toMatchObject({ status: 'Succeeded' })
      await one.close()
    })

    it('goes on for what others left to it, though no further change comes', async () => {
      const { store, open, change, records } = await started()
      const begun = gate()
      const stuck = gate()
      const one = await open(100, (own) => ({
        features: own.features,
        // What comes after the clearing of transactions takes long.
        read: async (body) => {
          let isFeed = false
          const result = await own.read((reader) =>
            body({
              get: (key) => reader.get(key),
              range: (range) => {
                isFeed ||= range.prefix?.[0] === keys.feed[0]
                return reader.range(range)
              },
            }),
          )
          if (isFeed) {
            begun.open()
            await stuck.opened
          }
          return result
        },
        write: (body) => own.write(body),
        close: () => own.close(),
      }))
      try {
        await change(one, 1)
        await begun.opened
        const other = await open()
        await change(other, 300)
        // It leaves the clearing to the first one, which has it.
        await other.close()
        expect(await records()).toHaveLength(301)
      } finally {
        stuck.open()
      }
      await expect.poll(async () => (await records()).length).toBe(100)
      await expect.poll(() => store.read((reader) => reader.get(keys.task(['upkeep'])))).toBeUndefined()
      await one.close()
    })

    it('goes on until nothing is left, though no further change comes', async () => {
      const { store, now, open, change, records } = await started()
      const ids = Array.from({ length: 6_000 }, (_, n) => `0000${String(n).padStart(22, '0')}`)
      await store.write((writer) => {
        const record = {
          v: 1,
          status: 'Succeeded',
          operation: 'CreateNamespace',
          subject: ['n'],
          properties: {},
        }
        const times = { created_at: now(), finished_at: now() }
        for (const id of ids) writer.put(keys.transaction(id), { ...record, ...times })
      })
      now.move(60_001)
      const one = await open()
      const [last] = await change(one, 1)
      await expect.poll(records).toEqual([last])
      await one.close()
    })

    it('keeps up with callers who never pause', async () => {
      const { open, records } = await started()
      const one = await open(1_000)
      const counts: number[] = []
      const caller = async (_: unknown, me: number) => {
        for (let n = 0; n < 300; n++) {
          await one.createNamespace({ id: [`n${me}-${n}`] })
          if (me === 0) counts.push((await records()).length)
        }
      }
      await Promise.all(Array.from({ length: 16 }, caller))
      await one.close()
      expect(Math.max(...counts)).toBeGreaterThan(1_000)
      expect(Math.max(...counts)).toBeLessThanOrEqual(2_500)
    })
  })
}

it('a loop of changes that lets nothing else run leaves no more records than wanted', async () => {
  const store = memoryStore()
  const options = { content: memoryContent(), root: 'memory://here', transactionCount: 100 }
  const catalog = await openCatalog({ store, ...options })
  for (let n = 0; n < 1_000; n++) await catalog.createNamespace({ id: [`n${n}`] })
  const left = await store.read((reader) => [...reader.range({ prefix: keys.transactions })].length)
  await catalog.close()
  expect(left).toBeLessThanOrEqual(250)
})

it('upkeep reads next to nothing while no record is old', async () => {
  const store = memoryStore()
  const read = { ranges: 0, records: 0 }
  const counting = (reader: Reader): Reader => ({
    get: (key) => reader.get(key),
    *range<V extends Value>(range: Range) {
      const [part] = range.prefix ?? []
      const isOurs = (part === keys.transactions[0] || part === keys.feed[0]) && !range.keysOnly
      if (isOurs) read.ranges++
      for (const entry of reader.range<V>(range)) {
        if (isOurs) read.records++
        yield entry
      }
    },
  })
  const watched: Store = Object.assign(Object.create(store), {
    features: store.features,
    read: (body: (reader: Reader) => unknown) => store.read((reader) => body(counting(reader))),
    write: (body: (writer: Writer) => unknown) => store.write(body),
    state: undefined,
    close: () => store.close(),
  })
  const catalog = await openCatalog({
    store: watched,
    content: memoryContent(),
    root: 'memory://rows',
    transactionCount: 1_000,
  })
  for (let n = 0; n < 400; n++) await catalog.createNamespace({ id: [`n${n}`] })
  await catalog.close()
  expect(read.ranges).toBeGreaterThan(1)
  expect(read.records).toBeLessThanOrEqual(2 * read.ranges)
})

describe('optimizing in the background', () => {
  it('is done by one process for a table, and by another one when that one is dead', async () => {
    const store = memoryStore()
    const content = memoryContent()
    const now = stoppedClock()
    const id = ['t']
    const begun = gate()
    const stuck = gate()
    let asked = 0
    const never: Store = {
      features: store.features,
      read: (body) => store.read(body),
      write: (body) => store.write(body),
      close: async () => {},
    }
    const noticing: Store = {
      ...never,
      write: (body) =>
        store.write((writer) =>
          body({
            ...writer,
            get: (key) => {
              if (key[0] === 'k' && key[1] === 'optimize') asked++
              return writer.get(key)
            },
            range: (range) => writer.range(range),
            put: (key, value) => writer.put(key, value),
            remove: (key) => writer.remove(key),
          }),
        ),
    }
    const options = { root: 'memory://here', now, cacheBytes: 0, optimize: { every: 4 } }
    // Reading the first fragment waits, as in a process that stands still.
    const one = await openCatalog({
      ...options,
      store: never,
      content: contentWith(content, {
        get: async (path, range) => {
          if (!path.includes('/_versions/')) {
            begun.open()
            await stuck.opened
          }
          return content.get(path, range)
        },
      }),
    })
    const other = await openCatalog({ ...options, store: noticing, content })
    // Inserts merge smaller fragments themselves.
    const text = 'x'.repeat(300_000)
    const insert = async (catalog: LocalCatalog, count: number) => {
      for (let n = 0; n < count; n++) await catalog.insertIntoTable({ id, data: [{ n, text }] })
    }
    const fragments = async () =>
      (await other.describeTable({ id, load_detailed_metadata: true })).stats!.num_fragments
    await one.createTable({ id, data: [{ n: 0, text }] })
    await insert(one, 3)
    await begun.opened
    await insert(other, 4)
    await expect.poll(() => asked).toBe(1)
    await insert(other, 3)
    expect(await fragments()).toBe(11)
    now.move(60_001)
    await insert(other, 1)
    await expect.poll(fragments).toBeLessThan(11)
    stuck.open()
    await one.close()
    await other.close()
    expect(await store.read((reader) => [...reader.range({ prefix: keys.tasks })])).toEqual([])
  })
})

describe('removing the content of a dropped table', () => {
  it('is left to its process for as long as that lives, and then finished by another one', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    followGlobalTime()
    const store = memoryStore()
    const content = memoryContent()
    const now = stoppedClock()
    const id = ['t']
    const forever = new Promise<never>(() => {})
    const begun = gate()
    let isDead = false
    const lasting: Store = {
      features: store.features,
      read: (body) => store.read(body),
      write: (body) => store.write(body),
      close: async () => {},
    }
    const mortal: Store = {
      ...lasting,
      read: async (body) => (isDead ? forever : store.read(body)),
      write: async (body) => (isDead ? forever : store.write(body)),
    }
    const options = { root: 'memory://here', now, transactionCount: 100 }
    const one = await openCatalog({
      ...options,
      store: mortal,
      content: contentWith(content, {
        remove: () => {
          begun.open()
          return forever
        },
      }),
    })
    /** What is left once another process has done its upkeep. */
    const left = async () => {
      const other = await openCatalog({ ...options, store: lasting, content })
      await other.createNamespace({ id: [`n${now()}`] })
      await other.close()
      const marks = await store.read((reader) => [...reader.range({ prefix: keys.locations })].length)
      return { marks, objects: (await pathsOf(content)).length }
    }
    await one.createTable({ id, data: [{ n: 0 }] })
    one.dropTable({ id }).catch(() => {})
    await begun.opened
    const whole = await left()
    expect(whole).toEqual({ marks: 1, objects: expect.any(Number) })
    expect(whole.objects).toBeGreaterThan(0)
    for (let n = 0; n < 100; n++) {
      now.move(1_000)
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(await left()).toEqual(whole)
    isDead = true
    now.move(60_001)
    expect(await left()).toEqual({ marks: 0, objects: 0 })
  })
})

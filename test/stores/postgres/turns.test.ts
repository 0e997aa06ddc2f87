import { describe, expect, onTestFinished, test } from 'vitest'
import { runtime } from '../../../src/base/time.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { Clock } from '../../../src/stores/postgres/clock.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { PostgresStore } from '../../../src/stores/postgres/store.ts'
import { type LocalCatalog, openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { contentWith } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { type Database, missingPostgres, sharedServer } from '../../support/postgres.ts'
import { limitEach } from '../../support/time-limit.ts'

// Sixty-four writers share a table.
limitEach(60)

const schemaOf = (url: string) => new URL(url).searchParams.get('schema')!

async function commitsOf(server: Database, url: string): Promise<number> {
  const [row] = await server.query(`SELECT count(*)::integer AS n FROM ${schemaOf(url)}.commits`)
  return row!.n as number
}

/** So many stores at one place, as so many processes have them. */
async function several(url: string, count: number): Promise<Store[]> {
  const stores = await Promise.all(Array.from({ length: count }, () => openPostgresStore(url)))
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  return stores
}

/** Adds the number of records of a range as one more: nobody may do so on an old count. */
const append = (store: Store) =>
  store.write((tx) => {
    let length = 0
    for (const _ of tx.range({ prefix: ['list'] })) length++
    tx.put(['list', length], length)
    return length
  })

const lengthOf = (store: Store) => store.read((tx) => Array.from(tx.range({ prefix: ['list'] })).length)

describe.skipIf(missingPostgres)('writers of several stores', () => {
  test.each([
    [
      'one record',
      (store: Store, _writer: number) => store.write((tx) => tx.put(['n'], (tx.get<number>(['n']) ?? 0) + 1)),
    ],
    [
      'one range',
      (store: Store, writer: number) =>
        store.write((tx) => {
          for (const _ of tx.range({ prefix: ['w'], limit: 10 })) break
          tx.put(['w', writer], (tx.get<number>(['w', writer]) ?? 0) + 1)
        }),
    ],
  ])('take turns at %s, and each gets its share', async (_, write) => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const stores = await several(url, 4)
    const done = new Array<number>(64).fill(0)
    const before = await commitsOf(server, url)
    let left = 1_600
    await Promise.all(
      done.map(async (_, writer) => {
        while (left-- > 0) {
          await write(stores[writer % 4]!, writer)
          done[writer]!++
        }
      }),
    )
    expect(Math.min(...done)).toBeGreaterThanOrEqual(Math.max(...done) / 4)
    // Those who wait share a commit.
    expect((await commitsOf(server, url)) - before).toBeLessThan(1_600 / 3)
  })

  test.each([
    [
      'one namespace',
      1_600,
      (catalog: LocalCatalog, name: string) => catalog.declareTable({ id: ['prod', name] }),
    ],
    [
      'one table',
      640,
      (catalog: LocalCatalog, name: string) => catalog.insertIntoTable({ id: ['t'], data: [{ name }] }),
    ],
  ])('of whole catalogs share %s, none fails, and each gets its share', async (_, total, change) => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const content = memoryContent()
    const catalogs = await Promise.all(
      (await several(url, 4)).map((store) => openCatalog({ store, content, root: 'memory://all' })),
    )
    await catalogs[0]!.createNamespace({ id: ['prod'] })
    await catalogs[0]!.createTable({ id: ['t'], data: [{ name: '' }] })
    const done = new Array<number>(64).fill(0)
    const before = await commitsOf(server, url)
    let left = total
    await Promise.all(
      done.map(async (_, writer) => {
        while (left-- > 0) {
          await change(catalogs[writer % 4]!, `${writer}-${done[writer]}`)
          done[writer]!++
        }
      }),
    )
    expect(Math.min(...done)).toBeGreaterThanOrEqual(Math.max(...done) / 4)
    // Those who wait share a commit.
    expect((await commitsOf(server, url)) - before).toBeLessThan(total / 2)
  })

  test('wait for one that is slow, so that it gets its share of a table', async () => {
    const content = memoryContent()
    const slowContent = contentWith(content, {
      put: async (...given) => {
        // As slow as a service far away.
        await new Promise((resolve) => setTimeout(resolve, 50))
        return content.put(...given)
      },
    })
    const stores = await several(await (await sharedServer()).freshUrl(), 2)
    const [quick, slow] = await Promise.all(
      [content, slowContent].map((content, i) =>
        openCatalog({ store: stores[i]!, content, root: 'memory://all' }),
      ),
    )
    await quick!.createTable({ id: ['t'], data: [{ n: -1 }] })
    const most = 800
    let ofQuick = 0
    let ended = false
    const insert = (catalog: LocalCatalog, n: number) => catalog.insertIntoTable({ id: ['t'], data: [{ n }] })
    const others = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!ended && ofQuick < most) await insert(quick!, ofQuick++)
      }),
    )
    for (let n = 0; n < 10; n++) await insert(slow!, n)
    ended = true
    await others
    expect(ofQuick).toBeLessThan(most)
  })

  test('never build on an old range', async () => {
    const stores = await several(await (await sharedServer()).freshUrl(), 3)
    const lengths = await Promise.all(Array.from({ length: 90 }, (_, i) => append(stores[i % 3]!)))
    expect(lengths.sort((a, b) => a - b)).toEqual(Array.from({ length: 90 }, (_, i) => i))
    expect(await lengthOf(stores[0]!)).toBe(90)
  })

  test('would, if the database compared no ranges', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const [{ text }] = (await server.query(
      `SELECT pg_get_functiondef('${schemaOf(url)}.commit_records'::regproc) AS text`,
    )) as [{ text: string }]
    const broken = text.replace('CONTINUE WHEN piece.digest =', 'CONTINUE WHEN true OR piece.digest =')
    expect(broken).not.toBe(text)
    await server.query(broken)
    const stores = await several(url, 3)
    for (let i = 0; i < 30; i++) await append(stores[i % 3]!)
    expect(await lengthOf(stores[0]!)).toBeLessThan(30)
  })

  test('settle without turns, too', async () => {
    const address = await readAddress(await (await sharedServer()).freshUrl())
    const stores = await Promise.all([1, 2].map(() => PostgresStore.open(address, false)))
    const lengths = await Promise.all(Array.from({ length: 40 }, (_, i) => append(stores[i % 2]!)))
    expect(lengths.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i))
    for (const store of stores) await store.close()
  })

  test('may catch whatever their bodies meet', async () => {
    const url = await (await sharedServer()).freshUrl()
    const [first] = await several(url, 1)
    await first!.write((tx) => {
      tx.put(['to'], 'there')
      tx.put(['at', 'there'], 7)
      for (let i = 0; i < 300; i++) tx.put(['r', i], 1)
    })
    const careless = <T>(read: () => T) => {
      try {
        return read()
      } catch {
        return undefined
      }
    }
    const [cold] = await several(url, 1)
    const body = (tx: Parameters<Parameters<Store['write']>[0]>[0]) => {
      // A key that a guess makes is none at all.
      const at = careless(() => tx.get<number>(['at', tx.get<string>(['to']) as string]))
      let sum = 0
      careless(() => {
        for (const { value } of tx.range<number>({ prefix: ['r'] })) sum += value
      })
      return [at, sum]
    }
    expect(await cold!.read((tx) => body(tx as never))).toEqual([7, 300])
    const [colder] = await several(url, 1)
    expect(
      await colder!.write((tx) => {
        const found = body(tx)
        tx.put(['found'], found)
        return found
      }),
    ).toEqual([7, 300])
    expect(await cold!.read((tx) => tx.get(['found']))).toEqual([7, 300])
  })

  test('take turns at what they name, in order and one at a time', async () => {
    const server = await sharedServer()
    const stores = await several(await server.freshUrl(), 3)
    const order: string[] = []
    const begin = gate()
    let atWork = 0
    const work = (name: string) => async () => {
      expect(++atWork).toBe(1)
      await begin.opened
      // Nobody may come in meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 20))
      atWork--
      order.push(name)
      return name
    }
    const asked: Promise<string>[] = []
    for (const [i, store] of [...stores, ...stores].entries()) {
      asked.push(store.inTurn!('one', work(String(i))))
      // The order is that in which the database was asked: the way there may take longer for some.
      await expect
        .poll(() => server.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory'"))
        .toHaveLength(asked.length)
    }
    begin.open()
    expect(await Promise.all(asked)).toEqual(['0', '1', '2', '3', '4', '5'])
    expect(order).toEqual(['0', '1', '2', '3', '4', '5'])
    const taken: boolean[] = []
    await stores[0]!.inTurn!('one', async () => {
      for (const name of ['one', 'another']) taken.push(await stores[1]!.isTurnTaken!(name))
    })
    await expect.poll(() => stores[1]!.isTurnTaken!('one')).toBe(false)
    expect(taken).toEqual([true, false])
    const refused = stores[0]!.inTurn!('one', async () => {
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    // Another name is another turn, within the turn of the first one.
    const inside = () => stores[1]!.inTurn!('other', async () => 'inside')
    expect(await stores[0]!.inTurn!('one', inside)).toBe('inside')
  })

  test('lose their turn with the connection, and never their work', async () => {
    const server = await sharedServer()
    const stores = await several(await server.freshUrl(), 2)
    let finish = () => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const first = stores[0]!.inTurn!('one', async () => {
      await finished
      return stores[0]!.write((tx) => {
        tx.put(['done'], 1)
        return 'first'
      })
    })
    const held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    await expect.poll(() => server.query(held)).toHaveLength(1)
    const second = stores[1]!.inTurn!('one', async () => 'second')
    await expect
      .poll(() => server.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
      .toHaveLength(1)
    await server.query(`SELECT pg_terminate_backend(pid) FROM (${held}) AS holder`)
    expect(await second).toBe('second')
    finish()
    expect(await first).toBe('first')
    expect(await stores[1]!.read((tx) => tx.get(['done']))).toBe(1)
  })

  test('go by the clock of the database', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const hour = 3_600_000
    const right = runtime.dateNow
    runtime.dateNow = () => Date.now() + hour
    onTestFinished(() => void Object.assign(runtime, { dateNow: right }))
    const [store] = await several(url, 1)
    const [row] = await server.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')
    expect(Math.abs(store!.now!() - (row!.now as number))).toBeLessThan(hour / 4)
  })
})

test('a clock believes quick answers, and others only after a while', () => {
  let steady = 0
  const clock = new Clock(() => steady)
  const learn = (time: number, sent: number, received: number) => {
    steady = received
    clock.learn(time, sent)
  }
  learn(1_000_010, 0, 20)
  expect(clock.now()).toBe(1_000_020)
  learn(1_000_100, 20, 4_020)
  expect(clock.now()).toBe(1_004_020)
  learn(1_004_126, 4_020, 4_022)
  expect(clock.now()).toBe(1_004_127)
  // The steady clock of the machine was off by so much that the quick answer of old counts no more.
  learn(9_000_000, 90_000_000, 90_000_100)
  expect(clock.now()).toBe(9_000_050)
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FakeCatalog, type FakeOptions, fakeCatalog } from '../../../src/testing/index.ts'
import { outcome } from './ways.ts'

const seed = {
  prod: {
    flights: [
      { origin: 'SFO', delay: 75 },
      { origin: 'OAK', delay: 12 },
    ],
    inbox: [],
  },
}
const flights = ['prod', 'flights']

const table = fc.constantFrom(flights, ['prod', 'inbox'], ['prod', 'new'], ['new'])
const step = fc.oneof(
  fc.record({
    name: fc.constant('createTable'),
    request: fc.record({ id: table, data: fc.constant([{ x: 1 }]) }),
  }),
  fc.record({
    name: fc.constant('insertIntoTable'),
    request: fc.record({ id: table, data: fc.constant([{ origin: 'JFK', delay: 1 }]) }),
  }),
  fc.record({
    name: fc.constant('deleteFromTable'),
    request: fc.record({ id: table, predicate: fc.constantFrom('delay > 60', 'x = 1') }),
  }),
  fc.record({ name: fc.constant('dropTable'), request: fc.record({ id: table }) }),
  fc.record({ name: fc.constant('deregisterTable'), request: fc.record({ id: table }) }),
  fc.record({ name: fc.constant('describeTable'), request: fc.record({ id: table }) }),
  fc.record({ name: fc.constant('listTableVersions'), request: fc.record({ id: table }) }),
  fc.record({ name: fc.constant('countTableRows'), request: fc.record({ id: table }) }),
  fc.record({
    name: fc.constant('listTables'),
    request: fc.record({ id: fc.constant([]), limit: fc.constant(1) }),
  }),
  fc.record({ name: fc.constant('advance'), request: fc.nat(100_000) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Everything that a caller sees during the steps, some of which are concurrent. */
async function transcript(fake: FakeCatalog, steps: readonly (readonly Step[])[]): Promise<string> {
  const observed: unknown[] = []
  const take = async ({ name, request }: Step) => {
    if (name === 'advance') return fake.clock.advance(request as number)
    return fake[name as 'listTables'](request as never).catch(({ code, message }) => ({ code, message }))
  }
  for (const together of steps) observed.push(await Promise.all(together.map(take)))
  observed.push(fake.calls.of().map(({ error: _, ...call }) => call))
  observed.push(await fake.vacuum({ graceMillis: 0 }), await outcome(fake.listAllTables({})))
  return JSON.stringify(observed)
}

describe('the answers of a fake', () => {
  it('are the same in every run: of two fakes, of forks, and after a reset or restore', async () => {
    const options: FakeOptions = {
      seed,
      faults: [
        { probability: 0.2, fail: 'Throttling', when: 'after' },
        { running: { clock: 5 }, nth: 3 },
      ],
    }
    const steps = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 })
    const origin = await fakeCatalog(options)
    const reused = origin.fork()
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const expected = await transcript(await fakeCatalog(options), steps)
        expect(await transcript(origin.fork(), steps)).toBe(expected)
        expect(await transcript(reused, steps)).toBe(expected)
        await reused.faults.clear()
        reused.reset()
      }),
      { numRuns: 15 },
    )
  })

  it('tell ids, times, locations and page tokens that can be written down', async () => {
    const fake = await fakeCatalog({ seed, id: 'mine', now: '2030-01-02T03:04:05Z' })
    const { location } = await fake.describeTable({ id: ['prod', 'inbox'] })
    expect(location).toBe('memory://mine/tables/00000000000000000000000007')
    const { transaction_id } = await fake.dropTable({ id: ['prod', 'inbox'] })
    expect(transaction_id).toBe('00000000000000000000000009')
    const { properties } = await fake.describeTransaction({ id: [transaction_id!] })
    expect(properties!.created_at).toBe('2030-01-02T03:04:05.000Z')
    const { versions } = await fake.listTableVersions({ id: flights })
    expect(versions[0]).toMatchInlineSnapshot(`
      {
        "e_tag": "196d4c11cea1e50496c287b368b74bb0",
        "manifest_path": "_versions/0000000001-0o5vwtx1k-d101c5dbe932dc5a.json",
        "manifest_size": 649,
        "metadata": {},
        "timestamp_millis": 1893553445000,
        "version": 1,
      }
    `)
  })
})

describe('the clock', () => {
  it('stands still until it is moved, and is what the catalog goes by', async () => {
    const fake = await fakeCatalog({ seed })
    expect(fake.clock.now()).toBe(Date.UTC(2026, 0, 1))
    fake.clock.advance(1_500)
    await fake.insertIntoTable({ id: flights, data: [{ origin: 'JFK', delay: 1 }] })
    fake.clock.set('2040-01-01')
    await fake.insertIntoTable({ id: flights, data: [{ origin: 'JFK', delay: 1 }] })
    fake.clock.set(new Date(5))
    await fake.insertIntoTable({ id: flights, data: [{ origin: 'JFK', delay: 1 }] })
    const { versions } = await fake.listTableVersions({ id: flights })
    const first = Date.UTC(2026, 0, 1)
    expect(versions.map((version) => version.timestamp_millis)).toEqual([
      first,
      first + 1_500,
      Date.UTC(2040, 0, 1),
      // No version is earlier than the one before it.
      Date.UTC(2040, 0, 1),
    ])
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 'soon'])('takes no %s', async (time) => {
    const fake = await fakeCatalog()
    expect(() => fake.clock.set(time)).toThrow(/is no time/)
    if (typeof time === 'number') expect(() => fake.clock.advance(time)).toThrow(/milliseconds from 0/)
    else expect(() => fake.clock.advance(time as never)).toThrow('not "soon"')
    await expect(fakeCatalog({ now: time })).rejects.toThrow(/is no time/)
  })

  it('is what predicates go by', async () => {
    const fake = await fakeCatalog({ seed: { t: [{ at: new Date('2026-01-02') }] } })
    const past = async () => (await fake.countTableRows({ id: ['t'], predicate: 'at < now()' })).count
    expect(await past()).toBe(0)
    fake.clock.set('2026-01-03')
    expect([await past(), await fake.fork().countTableRows({ id: ['t'], predicate: 'at < now()' })]).toEqual([
      1,
      { count: 1 },
    ])
  })

  it('decides what vacuum may take', async () => {
    const fake = await fakeCatalog({ seed })
    const options = { graceMillis: 3_600_000 }
    await fake.insertIntoTable({ id: flights, mode: 'Overwrite', data: [{ delay: 1 }] })
    const { version } = await fake.describeTable({ id: flights, load_detailed_metadata: true })
    const ranges = [{ start_version: 0, end_version: version! }]
    for (const tag of Object.keys((await fake.listTableTags({ id: flights })).tags))
      await fake.deleteTableTag({ id: flights, tag })
    await fake.batchDeleteTableVersions({ id: flights, ranges })
    expect((await fake.vacuum(options)).removed).toBe(0)
    fake.clock.advance(3_600_001)
    expect((await fake.vacuum(options)).removed).toBeGreaterThan(0)
  })
})

describe('a fork', () => {
  it('goes its own way: content, clock, calls, faults', async () => {
    const fake = await fakeCatalog({ seed })
    const fault = fake.faults.add({ operation: 'dropTable', nth: 2, fail: 'Throttling' })
    await fake.dropTable({ id: ['prod', 'inbox'] })
    const [one, two] = [fake.fork(), fake.fork()]
    expect([one.calls.length, fake.calls.length]).toEqual([0, 1])
    one.clock.advance(1_000)
    expect(two.clock.now()).toBe(fake.clock.now())
    await one.dropTable({ id: flights })
    expect(await outcome(two.tableExists({ id: flights }))).not.toBe('TableNotFound')
    // The fork counts on its own: the next call would be the second of the origin, and is the second of this fork.
    expect(await outcome(one.dropTable({ id: flights }))).toBe('Throttling')
    expect([fault.seen, one.faults.all[0]!.seen]).toEqual([1, 2])
    await one.faults.clear()
    expect([fake.faults.all.length, two.faults.all.length]).toEqual([1, 1])
    await one.close()
    expect(await fake.countTableRows({ id: flights })).toEqual({ count: 2 })
  })

  it('reads rows that are its own, also where names of objects are the same', async () => {
    const fake = await fakeCatalog({ seed })
    const forks = [1, 2, 3].map((n) => ({ n, fork: fake.fork() }))
    for (const { n, fork } of forks) {
      await fork.createTable({ id: ['t'], data: Array.from({ length: n }, (_, x) => ({ x: x * n })) })
    }
    for (const { n, fork } of forks)
      expect(await fork.countTableRows({ id: ['t'], predicate: `x = ${n * (n - 1)}` })).toEqual({ count: 1 })
    const before = fake.snapshot()
    for (const n of [1, 2, 3]) {
      await fake.createTable({ id: ['t'], data: Array.from({ length: n }, (_, x) => ({ x: x * n })) })
      expect(await fake.countTableRows({ id: ['t'], predicate: `x = ${n * (n - 1)}` })).toEqual({ count: 1 })
      fake.restore(before)
    }
  })
})

describe('snapshot and restore', () => {
  it('are of content, clock and ids; calls and faults stay', async () => {
    const fake = await fakeCatalog({ seed })
    const before = fake.snapshot()
    fake.faults.add({ fail: 'Throttling', operation: 'dropTable' })
    const first = await fake.declareTable({ id: ['t'] })
    fake.clock.advance(10)
    fake.restore(before)
    expect(fake.clock.now()).toBe(before.time)
    expect(await fake.declareTable({ id: ['t'] })).toEqual(first)
    expect([fake.calls.length, fake.faults.all.length]).toEqual([2, 1])
    fake.reset()
    expect([fake.calls.length, fake.faults.all.length]).toEqual([0, 0])
    expect(await outcome(fake.tableExists({ id: ['t'] }))).toBe('TableNotFound')
    expect(fake.calls.last!.n).toBe(1)
  })
})

describe('the record of calls', () => {
  it('tells each call and how it ended, in order', async () => {
    const fake = await fakeCatalog({ seed })
    const request = { id: flights }
    await fake.countTableRows(request)
    await outcome(fake.dropTable({ id: ['x'] }))
    await outcome(fake.dropTable({ id: 5 } as never))
    expect(fake.calls.of().map(({ n, operation, outcome }) => [n, operation, outcome])).toEqual([
      [1, 'countTableRows', 'succeeded'],
      [2, 'dropTable', 'failed'],
      [3, 'dropTable', 'failed'],
    ])
    expect(() => fake.calls.of('dropTabel' as never)).toThrow('"dropTabel". Did you mean dropTable?')
    const [count] = fake.calls.of('countTableRows')
    expect(count!.request).toBe(request)
    expect(count!.response!.count).toBe(2)
    expect(fake.calls.of('dropTable').map(({ error }) => (error as { code: string }).code)).toEqual([
      'TableNotFound',
      'InvalidInput',
    ])
    expect([...fake.calls]).toEqual(fake.calls.of())
    fake.calls.clear()
    expect([fake.calls.length, fake.calls.dropped, fake.calls.last]).toEqual([0, 0, undefined])
    await fake.countTableRows(request)
    expect(fake.calls.last!.n).toBe(4)
  })

  it('keeps the latest, and says how many it let go', async () => {
    const fake = await fakeCatalog({ keepCalls: 3 })
    for (let i = 0; i < 2_500; i++) await fake.namespaceExists({ id: [] })
    expect(fake.calls.of().map(({ n }) => n)).toEqual([2_498, 2_499, 2_500])
    expect([fake.calls.length, fake.calls.dropped]).toEqual([3, 2_497])
  })

  it('lets go of rows rather than fill the memory', async () => {
    const fake = await fakeCatalog()
    const data = new Uint8Array(40 * 1024 * 1024)
    for (let i = 0; i < 3; i++) await outcome(fake.createTable({ id: ['t'], data }))
    expect([fake.calls.length, fake.calls.dropped]).toEqual([1, 2])
  })
})

it.each([
  [{ id: 'a/b' }, /option id is "a\/b"\. Give 1 to 64/],
  [{ keepCalls: 0 }, /option keepCalls is 0\. Give a whole number/],
  [{ randomSeed: 0.5 }, /option randomSeed is 0.5\. Give a whole number/],
  [{ contentCache: { folder: '/tmp' } } as FakeOptions, /contentCache/],
])('refuses options that cannot be: %j', async (options, message) => {
  await expect(fakeCatalog(options)).rejects.toThrow(message)
})

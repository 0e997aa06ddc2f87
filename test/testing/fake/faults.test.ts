import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type ErrorCode, errorNumbers } from '../../../src/base/errors.ts'
import { connect } from '../../../src/client/index.ts'
import { type Fault, fakeCatalog, fakeServer } from '../../../src/testing/index.ts'
import { eachWay, outcome, until } from './ways.ts'

const seed = {
  prod: { flights: [{ delay: 75 }, { delay: 12 }], inbox: [] },
  dev: { flights: [{ delay: 1 }] },
}
const flights = ['prod', 'flights']

eachWay((open) => {
  it('fails a call with any code, and nothing has happened', async () => {
    const { fake, catalog } = await open({ seed })
    for (const code of Object.keys(errorNumbers) as ErrorCode[]) {
      fake.faults.add({ operation: 'dropTable', fail: code, times: 1 })
      expect(await outcome(catalog.dropTable({ id: flights }))).toBe(code)
    }
    expect(await catalog.countTableRows({ id: flights })).toMatchObject({ count: 2 })
    expect(await catalog.dropTable({ id: flights })).toMatchObject({ id: flights })
  })

  it('fails a call after its commit: the change is there, and the caller is not told', async () => {
    const { fake, catalog } = await open({ seed })
    fake.faults.add({ operation: 'dropTable', fail: 'ServiceUnavailable', when: 'after' })
    expect(await outcome(catalog.dropTable({ id: flights }))).toBe('ServiceUnavailable')
    expect(await outcome(catalog.tableExists({ id: flights }))).toBe('TableNotFound')
    // A call that fails by itself has no response that a fault could lose.
    const again = fake.faults.add({ operation: 'dropTable', fail: 'Throttling', when: 'after', times: 1 })
    await fake.faults.all[0]!.remove()
    expect(await outcome(catalog.dropTable({ id: flights }))).toBe('TableNotFound')
    expect([again.seen, again.fired]).toEqual([1, 0])
    expect(await outcome(catalog.dropTable({ id: ['dev', 'flights'] }))).toBe('Throttling')
  })

  it('chooses by operation, table, namespace and what batches and renames name', async () => {
    const { fake, catalog } = await open({ seed })
    const hit = async (fault: Fault, call: Promise<unknown>) => {
      const found = await outcome(call)
      const [active] = fake.faults.all
      await fake.faults.clear()
      expect(fault.fail).toBe('Throttling')
      return found === 'Throttling' && active!.fired === 1
    }
    const asked = (given: Fault, call: () => Promise<unknown>) => {
      const fault: Fault = { ...given, fail: 'Throttling' }
      fake.faults.add(fault)
      return hit(fault, call())
    }
    const count = (id: string[]) => () => catalog.countTableRows({ id })
    expect(await asked({ operation: 'countTableRows' }, count(flights))).toBe(true)
    expect(await asked({ operation: ['dropTable', 'describeTable'] }, count(flights))).toBe(false)
    expect(await asked({ operation: ['dropTable', 'countTableRows'] }, count(flights))).toBe(true)
    expect(await asked({ table: flights }, count(flights))).toBe(true)
    expect(await asked({ table: flights }, count(['dev', 'flights']))).toBe(false)
    expect(await asked({ table: ['prod'] }, count(flights))).toBe(false)
    expect(await asked({ namespace: ['prod'] }, count(flights))).toBe(true)
    expect(await asked({ namespace: ['dev'] }, count(flights))).toBe(false)
    expect(await asked({ namespace: [] }, count(flights))).toBe(true)
    expect(await asked({ match: ({ request }) => request.predicate !== undefined }, count(flights))).toBe(
      false,
    )
    const commit = () => catalog.batchCommitTables({ operations: [{ declare_table: { id: ['prod', 'a'] } }] })
    expect(await asked({ table: ['prod', 'a'] }, commit)).toBe(true)
    expect(await asked({ table: ['prod', 'b'] }, commit)).toBe(false)
    const move = () =>
      catalog.renameTable({ id: ['prod', 'inbox'], new_table_name: 'box', new_namespace_id: ['dev'] })
    expect(await asked({ table: ['dev', 'box'] }, move)).toBe(true)
    expect(await asked({ table: ['prod', 'box'] }, move)).toBe(false)
  })

  it.each([
    [{ nth: 3 }, '..x....'],
    [{ times: 2 }, 'xx.....'],
    [{ nth: 3, times: 2 }, '..xx...'],
    [{}, 'xxxxxxx'],
    [{ probability: 0 }, '.......'],
    [{ probability: 1, times: 1 }, 'x......'],
  ])('chooses by number: %j', async (given, expected) => {
    const { fake, catalog } = await open({ seed })
    const fault = fake.faults.add({ operation: 'tableExists', fail: 'Throttling', ...given })
    let seen = ''
    for (let i = 0; i < expected.length; i++)
      seen += (await outcome(catalog.tableExists({ id: flights }))) === 'Throttling' ? 'x' : '.'
    expect(seen).toBe(expected)
    expect([fault.seen, fault.fired]).toEqual([7, expected.replaceAll('.', '').length])
    expect(fake.faults.unused()).toEqual(fault.fired === 0 ? [fault.fault] : [])
  })

  it('delays until the clock has moved on, or the fault is released or removed', async () => {
    const { fake, catalog } = await open({ seed })
    const count = () => catalog.countTableRows({ id: flights }).then(({ count }) => count)
    const fault = fake.faults.add({ operation: 'countTableRows', delay: { clock: 5_000 } })
    const first = count()
    await until(() => fake.calls.length === 1)
    fake.clock.advance(4_999)
    expect(fake.calls.last!.outcome).toBe('pending')
    fake.clock.advance(1)
    expect(await first).toBe(2)
    expect(fake.calls.last!.endedAt! - fake.calls.last!.startedAt).toBe(5_000)
    const second = count()
    await until(() => fake.calls.length === 2)
    await fault.release()
    expect(await second).toBe(2)
    const third = count()
    await until(() => fake.calls.length === 3)
    await fault.remove()
    expect([await third, await count()]).toEqual([2, 2])
    fake.faults.add({ delay: 1, times: 1 })
    expect(await count()).toBe(2)
  })

  it('lets go of delayed calls when it closes', async () => {
    const { fake, catalog } = await open({ seed })
    fake.faults.add({ operation: 'countTableRows', delay: 'released' })
    const waiting = outcome(catalog.countTableRows({ id: flights }))
    await until(() => fake.calls.length === 1)
    await fake.close()
    expect(await waiting).toMatchObject({ count: 2 })
  })

  it('answers reads from what there was when the fault was added', async () => {
    const { fake, catalog } = await open({ seed })
    const stale = fake.faults.add({ stale: 'state' })
    await catalog.createTable({ id: ['prod', 'new'], data: [{ x: 1 }] })
    await catalog.deleteFromTable({ id: flights, predicate: 'delay > 60' })
    fake.clock.advance(60_000)
    expect((await catalog.listTables({ id: ['prod'] })).tables).toEqual(
      ['flights', 'inbox'].map((n) => `prod$${n}`),
    )
    expect(await catalog.countTableRows({ id: flights })).toMatchObject({ count: 2 })
    expect(await outcome(catalog.describeTable({ id: ['prod', 'new'] }))).toBe('TableNotFound')
    await stale.remove()
    expect(await catalog.countTableRows({ id: flights })).toMatchObject({ count: 1 })
    expect(await catalog.countTableRows({ id: ['prod', 'new'] })).toMatchObject({ count: 1 })
  })

  it('counts only reads with a page token for a stale one, as the pages say', async () => {
    const { fake, catalog } = await open({ seed })
    const fault = fake.faults.add({ operation: 'listTables', stale: 'token', nth: 2 })
    const page = (page_token?: string | null) => catalog.listTables({ id: [], limit: 1, page_token })
    const { page_token } = await page()
    await page()
    expect(fault.seen).toBe(0)
    expect((await page(page_token)).tables).toEqual(['prod$flights'])
    expect(fault.seen).toBe(1)
    expect(await outcome(page(page_token))).toBe('InvalidInput')
    expect([fault.seen, fault.fired]).toEqual([2, 1])
    const docs = await readFile(new URL('../../../docs/testing.md', import.meta.url), 'utf8')
    expect(docs).toMatch(/`nth`.*counts only calls .*reads with a page token/)
  })

  it('refuses a page token that has gone stale, and the first page never', async () => {
    const { fake, catalog } = await open({ seed })
    const fault = fake.faults.add({ operation: 'listTables', stale: 'token', times: 1 })
    const { page_token } = await catalog.listTables({ id: [], limit: 1 })
    expect(fault.seen).toBe(0)
    expect(await outcome(catalog.listTables({ id: [], limit: 1, page_token }))).toBe('InvalidInput')
    expect((await catalog.listTables({ id: [], limit: 1, page_token })).tables).toEqual(['prod$flights'])
  })
})

describe('delays', () => {
  it('end with the signal of their call', async () => {
    const fake = await fakeCatalog({ seed })
    fake.faults.add({ operation: 'dropTable', delay: 'released' })
    const stop = new AbortController()
    const call = outcome(fake.dropTable({ id: flights }, { signal: stop.signal }))
    stop.abort(new Error('enough'))
    expect(await call).toBe('Error: enough')
    expect(await outcome(fake.dropTable({ id: flights }, { signal: stop.signal }))).toBe('Error: enough')
    expect((await fake.listTables({ id: ['prod'] })).tables).toContain('prod$flights')
    expect(fake.calls.of('dropTable').map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
  })

  it('add up, and with what fails after them', async () => {
    const fake = await fakeCatalog({ seed })
    fake.faults.add({ delay: { clock: 10 } })
    fake.faults.add({ delay: { clock: 10 }, fail: 'Throttling', nth: 1 })
    const never = fake.faults.add({ fail: 'Internal' })
    const call = outcome(fake.namespaceExists({ id: [] }))
    for (let i = 0; i < 20; i++) {
      expect(fake.calls.last!.outcome).toBe('pending')
      fake.clock.advance(1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await call).toBe('Throttling')
    expect([fake.calls.last!.faults, never.seen]).toEqual([['fault-1', 'fault-2'], 0])
  })
})

describe('a fault', () => {
  it('may be an error of one’s own', async () => {
    const fake = await fakeCatalog()
    const own = new Error('socket hang up')
    fake.faults.add({ fail: own })
    await expect(fake.listAllTables({})).rejects.toBe(own)
  })

  it('with a probability takes the same calls in every run, and others with another seed', async () => {
    const draw = async (randomSeed: number) => {
      const fake = await fakeCatalog({ randomSeed, faults: [{ probability: 0.3, fail: 'Throttling' }] })
      const taken: boolean[] = []
      for (let i = 0; i < 1_000; i++)
        taken.push((await outcome(fake.namespaceExists({ id: [] }))) === 'Throttling')
      return taken
    }
    const first = await draw(1)
    expect(await draw(1)).toEqual(first)
    expect(await draw(2)).not.toEqual(first)
    const share = first.filter((taken) => taken).length
    expect(share).toBeGreaterThan(240)
    expect(share).toBeLessThan(360)
  })

  it.each([
    [{}, /give at least one of delay, fail, running, stale/],
    [
      { opration: 'createTable', fail: 'Throttling' },
      /opration is not a field of a fault\. Did you mean operation\? Its fields are match, operation,/,
    ],
    [
      { operation: 'createTables', fail: 'Throttling' },
      /operation must be .* for "createTables" perhaps createTable\.$/,
    ],
    [{ operation: ['dropTable', 'dropTabel'], delay: 1 }, /for "dropTabel" perhaps dropTable\.$/],
    [{ operation: 'x'.repeat(10_000), delay: 1 }, /operation must be .* or a list of them\.$/],
    [{ operation: 5, delay: 1 }, /operation must be .* or a list of them\.$/],
    [{ fail: 'Trottling' }, /fail must be an error code, .* for "Trottling" perhaps Throttling\.$/],
    [{ fail: 'no code at all' }, /fail must be an error code, such as ServiceUnavailable/],
    [{ fail: 'Throttling', nth: 0 }, /nth must be a whole number from 1/],
    [{ fail: 'Throttling', table: 'prod$flights' }, /table must be a list of names/],
    [{ fail: 'Throttling', probability: 2 }, /probability must be a number from 0 to 1/],
    [{ delay: -1 }, /delay must be from 0/],
    [{ delay: 86_400_001 }, /delay must be at most/],
    [{ running: true, stale: 'state' }, /make two faults/],
    [
      { operation: 'countTableRows', running: true },
      /running .* change something, and countTableRows does not/,
    ],
    [{ operation: ['dropTable'], stale: 'state' }, /stale .* that read, and dropTable changes/],
    [{ running: true, when: 'after' }, /when goes with delay or fail/],
    [{ delay: 1, message: 'x' }, /message and retryAfter go with the code of fail/],
    [undefined, /give at least one/],
  ])('that is none is refused: %j', async (given, message) => {
    const fake = await fakeCatalog()
    expect(() => fake.faults.add(given as Fault)).toThrow(message)
    await expect(fakeCatalog({ faults: [given as Fault] })).rejects.toThrow(message)
    expect(fake.faults.all).toEqual([])
  })

  it('is one of a thousand at most', async () => {
    const fake = await fakeCatalog()
    for (let i = 0; i < 1_000; i++) fake.faults.add({ operation: 'dropTable', delay: 0 })
    expect(() => fake.faults.add({ delay: 0 })).toThrow(/1000 faults already/)
    await fake.faults.clear()
    expect(fake.faults.add({ delay: 0 }).id).toBe('fault-1001')
  })
})

describe('503 over HTTP', () => {
  it('asks to wait as long as the fault says, else not at all, and clients try reads again', async () => {
    await using server = await fakeServer({ seed })
    const count = () =>
      fetch(`${server.url}/v1/table/prod$flights/count_rows`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
    server.faults.add({ fail: 'ServiceUnavailable', retryAfter: 7, times: 1 })
    server.faults.add({ fail: 'Throttling', times: 1 })
    const waits = [await count(), await count(), await count()]
    expect(waits.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '7'],
      [503, '0'],
      [200, null],
    ])
    server.faults.add({ fail: 'ServiceUnavailable', times: 2 })
    await using catalog = connect(server.url)
    server.calls.clear()
    expect(await catalog.countTableRows({ id: flights })).toMatchObject({ count: 2 })
    expect(server.calls.of('countTableRows').map(({ outcome }) => outcome)).toEqual([
      'failed',
      'failed',
      'succeeded',
    ])
  })
})

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { limitEach } from '../support/time-limit.ts'
import { type Ran, run, start } from './run.ts'
import { overHttpServer } from './server.ts'

// What is older than five seconds is asked for in another way.
limitEach(60)

/** Watches until stopped. `seen` are the lines so far. */
function watching(args: readonly string[]) {
  const stop = new AbortController()
  const seen: string[] = []
  const done = run(['watch', ...args, '--interval', '0.1'], {
    signal: stop.signal,
    onOutput: (text) => seen.push(...text.split('\n').filter((line) => line !== '')),
  })
  const ended = async (): Promise<Ran> => {
    stop.abort(new Error('interrupted'))
    return done
  }
  onTestFinished(async () => void (await ended()))
  return { seen, ended, done }
}

const statusesIn = (seen: readonly string[]) =>
  seen.map((line) => JSON.parse(line)).map(({ operation, status }) => `${operation} ${status}`)

/** The printed statuses, except running changes of rows, which a poll may miss. */
const outcomes = (seen: readonly string[]) =>
  statusesIn(seen)
    .filter((line) => !/^DeleteFromTable (Queued|Running)$/.test(line))
    .toSorted()

describe.each([
  [
    'a directory',
    async () => {
      const location = join(await freshFolder(), 'catalog')
      return { location, catalog: await openCatalog(location) }
    },
  ],
  [
    'a server',
    async () => {
      const location = await overHttpServer()
      return { location, catalog: connect(location) }
    },
  ],
])('watch on %s', (_, open) => {
  it('prints what is under way, and then each change once', async () => {
    const { location, catalog } = await open()
    await using _ = catalog
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    const { transaction_id: first } = await catalog.beginTransaction({})
    const { seen, ended } = watching([location])
    await expect.poll(() => statusesIn(seen)).toEqual(['Transaction Running'])
    await catalog.declareTable({ id: ['u'] })
    await catalog.deleteFromTable({ id: ['t'], predicate: 'none = 1' }).catch(() => {})
    await catalog.rollbackTransaction({ id: [first] })
    await expect
      .poll(() => outcomes(seen))
      .toEqual([
        'DeclareTable Succeeded',
        'DeleteFromTable Failed',
        'Transaction Canceled',
        'Transaction Running',
      ])
    // Nothing more may be printed by several looks.
    await sleep(350)
    expect(new Set(seen).size).toBe(seen.length)
    expect(outcomes(seen)).toHaveLength(4)
    const failed = seen.map((line) => JSON.parse(line)).find(({ status }) => status === 'Failed')
    expect(failed).toMatchObject({
      subject: ['t'],
      failure_code: 'InvalidInput',
      failure: expect.any(String),
    })
    expect(await ended()).toMatchObject({ code: 0, err: '' })
  })

  it('of one table, or of a namespace', async () => {
    const { location, catalog } = await open()
    await using _ = catalog
    await catalog.createNamespace({ id: ['prod'] })
    const [table, namespace] = [watching([location, 'prod.t']), watching([location, 'prod'])]
    const change = async () => {
      for (const id of [['t'], ['prod', 'u'], ['prod', 't']]) {
        await catalog.declareTable({ id })
        await catalog.dropTable({ id })
      }
      return Math.min(table.seen.length, namespace.seen.length)
    }
    await expect.poll(change).toBeGreaterThan(2)
    const subjects = (seen: readonly string[]) => [
      ...new Set(seen.map((line) => JSON.parse(line).subject.join())),
    ]
    expect(subjects(table.seen)).toEqual(['prod,t'])
    expect(subjects(namespace.seen).toSorted()).toEqual(['prod,t', 'prod,u'])
  })
})

it('watch prints a line for people, which the data cannot steer', async () => {
  const location = await freshFolder()
  await using catalog = await openCatalog(location)
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  const { seen } = watching([location, '--no-json'])
  const fail = async () => {
    await catalog.deleteFromTable({ id: ['t'], predicate: '"\u001b[2J" = 1' }).catch(() => {})
    return seen.find((line) => line.includes('Failed'))
  }
  await expect
    .poll(fail)
    .toMatch(/^20\S+Z {2}Failed {5}\w{26} {2}DeleteFromTable {2}t {2}in \d+\.\d s {2}InvalidInput: /)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  expect(seen.join('')).not.toMatch(/\u001b/)
})

it('watch learns how old ones end', async () => {
  const location = await freshFolder()
  await using catalog = await openCatalog(location)
  const { transaction_id: old } = await catalog.beginTransaction({ idle_timeout_seconds: 60 })
  const { seen, ended } = watching([location])
  await expect.poll(() => statusesIn(seen)).toEqual(['Transaction Running'])
  // Another one that began more than five seconds later, so that the old one is polled by its id.
  await sleep(5_200)
  await catalog.declareTable({ id: ['u'] })
  await expect.poll(() => statusesIn(seen)).toContain('DeclareTable Succeeded')
  await catalog.commitTransaction({ id: [old] })
  await expect.poll(() => statusesIn(seen)).toContain('Transaction Succeeded')
  expect((await ended()).err).toBe('')
})

it('watch goes on when the server is back', async () => {
  await using catalog = await openCatalog('memory:')
  const port = await freePort()
  const first = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port })
  const { seen, ended } = watching([first.url])
  let count = 0
  const declare = async () => {
    await catalog.declareTable({ id: [`t${count++}`] })
    return seen.length
  }
  await expect.poll(declare).toBeGreaterThan(0)
  await first.close()
  await catalog.declareTable({ id: ['meanwhile'] })
  // It asks in vain meanwhile.
  await sleep(1_000)
  await using _second = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port })
  await expect.poll(() => seen.join()).toContain('"meanwhile"')
  expect((await ended()).code).toBe(0)
})

it('watch ends with the error where there is no server', async () => {
  const { code, err } = await watching(['http://127.0.0.1:1']).done
  expect([code, err]).toEqual([1, expect.stringContaining('ServiceUnavailable')])
})

it('watch takes no other intervals than it can keep', async () => {
  for (const interval of ['0', '-1', '4000', 'NaN']) {
    expect((await run(['watch', './none', '--interval', interval])).code).toBe(2)
  }
})

it('watch, as a process, ends by an interrupt without an error', async () => {
  const location = await freshFolder()
  await run(['declare', location, 't'])
  const child = start(['watch', location, '--interval', '0.1'])
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const line = new Promise((resolve) => child.stdout.once('data', resolve))
  const declared: Promise<Ran>[] = []
  const again = setInterval(() => declared.push(run(['declare', location, `t${Date.now()}`])), 200)
  await line
  clearInterval(again)
  // The folder goes with the test.
  await Promise.all(declared)
  child.kill('SIGINT')
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect([code, errors]).toEqual([0, ''])
})

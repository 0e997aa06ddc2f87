import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type Catalog, connect } from '../../src/client/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { missingPostgres } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'

// Servers are killed and started again many times.
limitEach(240)

/*
 * Servers are killed at any moment, and clients send changes with idempotency keys until they are answered. Each change
 * is then there once, whichever server it came to and however often.
 */

const kills = 6 * Number(process.env.HISTORY_RUNS ?? 1)
const workers = Array.from({ length: 6 }, (_, worker) => worker)
const columns = {
  fields: ['worker', 'n'].map((name) => ({ name, type: { type: 'int32' }, nullable: false })),
}

/** What the workers were answered. */
class Told {
  readonly rows: string[] = []
  readonly names: string[] = []
  requests = 0
  answers = 0
  hasEnded = false
}

/** Makes changes one after the other, each under a key of its own. */
async function work(catalog: Catalog, worker: number, told: Told): Promise<void> {
  for (let n = 0; !told.hasEnded; n++) {
    const idempotencyKey = `${worker}-${n}`
    if (n % 3 === 2) {
      // A second time it would be refused.
      await catalog.createNamespace({ id: ['n', idempotencyKey] }, { idempotencyKey })
      told.names.push(idempotencyKey)
    } else {
      const id = n % 2 === 0 ? ['shared'] : [`own${worker}`]
      const data = [{ worker, n }]
      await catalog.insertIntoTable({ id, data, schema: columns }, { idempotencyKey })
      told.rows.push(`${id} ${worker} ${n}`)
    }
    told.answers++
  }
}

interface Servers {
  readonly urls: readonly string[]
  /** Kills one of them at once, and starts it again. */
  restart(at: number): Promise<void>
  stop(): void
}

async function started(location: string, count: number): Promise<Servers> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const start = async (port: number) => {
    const options = ['--port', String(port), '--no-auth', '--log', 'error']
    const child = new Child('src/cli/index.ts', ['serve', location, ...options])
    await child.answer()
    return child
  }
  const children = await Promise.all(ports.map(start))
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    restart: async (at) => {
      await children[at]!.kill()
      children[at] = await start(ports[at]!)
    },
    stop: () => {
      for (const child of children) child.stop()
    },
  }
}

async function run(location: string, count: number): Promise<void> {
  const servers = await started(location, count)
  const random = Math.random
  const spy = vi.spyOn(Math, 'random').mockImplementation(() => random() / 10)
  const told = new Told()
  // Each attempt goes to any of them.
  const toAny = (request: Request) => {
    told.requests++
    const url = request.url.replace('http://any.test', servers.urls[Math.floor(random() * count)]!)
    return fetch(new Request(url, request))
  }
  const catalog = connect('http://any.test', { retries: 1_000, timeout: 55_000, fetch: toAny })
  try {
    await catalog.createNamespace({ id: ['n'] })
    for (const id of ['shared', ...workers.map((worker) => `own${worker}`)])
      await catalog.createTable({ id: [id], data: [], schema: columns })
    told.requests = 0
    const working = Promise.all(workers.map((worker) => work(catalog, worker, told)))
    for (let kill = 0; kill < kills; kill++) {
      const { answers } = told
      while (told.answers < answers + 12) await Promise.race([sleep(10), working])
      await sleep(random() * 200)
      await servers.restart(kill % count)
    }
    told.hasEnded = true
    await working
  } finally {
    spy.mockRestore()
    servers.stop()
  }
  await using here = await openCatalog(location)
  const rows: string[] = []
  for (const id of ['shared', ...workers.map((worker) => `own${worker}`)]) {
    for await (const { worker, n } of here.rows({ id: [id], filter: 'n >= 0' }))
      rows.push(`${id} ${worker} ${n}`)
  }
  expect(rows.sort()).toEqual(told.rows.sort())
  expect((await here.listNamespaces({ id: ['n'] })).namespaces.sort()).toEqual(told.names.sort())
  const { findings } = await here.verify()
  expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([])
  // Some were sent again, or nothing was tried.
  expect(told.requests).toBeGreaterThan(told.answers)
}

test(`changes with a key are made once while their server is killed ${kills} times`, async () => {
  await run(await freshFolder(), 1)
})

describe.skipIf(missingPostgres)('over one database', () => {
  test(`changes with a key are made once while two servers are killed ${kills} times`, async () => {
    const place = await databasePlace()
    try {
      await run(place.location, 2)
    } finally {
      await place.dispose()
    }
  })
})

import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { freePort } from '../support/free-port.ts'
import { Haproxy, missingHaproxy } from '../support/haproxy.ts'
import { missingPostgres } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'

// Two servers restart several times behind a load balancer.
limitEach(180)

/*
 * Two processes serve one catalog behind HAProxy, with the configuration of examples/deploy. Each is restarted while clients
 * work. Neither clients nor HAProxy retry.
 */

const file = readFileSync(new URL('../../examples/deploy/haproxy.cfg', import.meta.url), 'utf8')
const token = 'a-token-of-all-servers'
const callers = 4

/** The configuration, for local servers, and without retries, which would hide losses. */
function configuration(front: number, servers: Readonly<Record<string, number>>): string {
  let text = file
  const replace = (from: RegExp, to: string) => {
    expect(text).toMatch(from)
    text = text.replace(from, to)
  }
  replace(/^defaults$/m, 'defaults\n  retries 0')
  replace(/127\.0\.0\.1:8080/, `127.0.0.1:${front}`)
  for (const [name, port] of Object.entries(servers))
    replace(new RegExp(`(server ${name}) .*`), `$1 127.0.0.1:${port}`)
  return text
}

async function serving(location: string, port: number): Promise<Child> {
  const options = ['--port', String(port), '--token', token, '--log', 'error', '--drain', '10s']
  const child = new Child('src/cli/index.ts', ['serve', location, ...options])
  await child.answer()
  return child
}

/** Clients that send requests without pauses, and collect failures. */
function working(url: `http://${string}`) {
  const catalog = connect(url, { token, retries: 0 })
  const failures: string[] = []
  const done = { count: 0 }
  let isOver = false
  const attempt = async (name: string, work: () => Promise<unknown>) => {
    await work().then(
      () => done.count++,
      (error) => failures.push(`${name}: ${error.code} ${error.message}`),
    )
  }
  const work = async (caller: number) => {
    for (let n = 0; !isOver; n++) {
      const id = [`t${caller}-${n}`]
      await attempt('declare', () => catalog.declareTable({ id }))
      await attempt('describe', () => catalog.describeTable({ id }))
      await attempt('transaction', () =>
        catalog.transaction(async (tx) => {
          await tx.describeTable({ id })
          await tx.declareTable({ id: [`${id}-x`] })
        }),
      )
      await attempt('drop', () => catalog.dropTable({ id }))
    }
  }
  const ended = Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  return {
    failures,
    done,
    end: () => {
      isOver = true
      return ended
    },
  }
}

describe.skipIf(missingPostgres ?? missingHaproxy)('two servers behind HAProxy', () => {
  test('are restarted one after the other, and no request is lost', async () => {
    const place = await databasePlace()
    const ports = { one: await freePort(), two: await freePort() }
    const servers = {
      one: await serving(place.location, ports.one),
      two: await serving(place.location, ports.two),
    }
    const front = await freePort()
    const haproxy = await Haproxy.start(configuration(front, ports))
    onTestFinished(async () => {
      await haproxy.stop()
      for (const server of Object.values(servers)) server.stop()
      await place.dispose()
    })
    const isUp = (name: string) => expect.poll(() => haproxy.statusOf(name)).toBe('UP')
    for (const name of ['one', 'two']) await isUp(name)
    const clients = working(`http://127.0.0.1:${front}`)
    for (const name of ['one', 'two'] as const) {
      const before = clients.done.count
      await expect.poll(() => clients.done.count).toBeGreaterThan(before + 10 * callers)
      servers[name].interrupt()
      await servers[name].ended()
      expect(await haproxy.statusOf(name)).toBe('DOWN')
      servers[name] = await serving(place.location, ports[name])
      await isUp(name)
    }
    const before = clients.done.count
    await expect.poll(() => clients.done.count).toBeGreaterThan(before + 10 * callers)
    await clients.end()
    expect(clients.failures).toEqual([])
  })
})

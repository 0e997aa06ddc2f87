import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { freePort } from '../support/free-port.ts'
import { missingPostgres } from '../support/postgres.ts'
import { certificate, missingProxies, proxyNames, RunningProxy } from '../support/proxies.ts'
import { limitEach } from '../support/time-limit.ts'
import { tlsFetch } from '../support/tls-fetch.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'

// Two servers restart several times behind a load balancer.
limitEach(180)

/*
 * Two processes serve one catalog behind each proxy, with the files of examples/deploy. Each is restarted while clients
 * work. Neither clients nor proxies retry.
 */

const token = 'a-token-of-all-servers'
const callers = 4

/** HAProxy repeats a connection that failed, which would hide losses. */
const replaced = { haproxy: { 'mode http': 'mode http\n  retries 0' }, caddy: {}, nginx: {} }

async function serving(location: string, port: number): Promise<Child> {
  const options = ['--port', String(port), '--token', token, '--log', 'error', '--drain', '10s']
  const child = new Child('src/cli/index.ts', ['serve', location, ...options])
  await child.answer()
  return child
}

/** Clients that send requests without pauses, and collect failures. */
function working(url: `https://${string}`, fetch: ReturnType<typeof tlsFetch>) {
  const catalog = connect(url, { token, retries: 0, fetch })
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

/** How many requests of a kind that `working` does not send a server has answered. */
async function seenBy(port: number): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text()
  return Number(/^tabularium_requests_total\{operation="listTables".*\} (\d+)/m.exec(text)?.[1] ?? 0)
}

describe.skipIf(missingPostgres ?? missingProxies)('two servers', () => {
  test.each(proxyNames)(
    'behind %s are restarted one after the other, and no request is lost',
    async (name) => {
      const place = await databasePlace()
      const ports = [await freePort(), await freePort()] as const
      const servers = [await serving(place.location, ports[0]), await serving(place.location, ports[1])]
      const addresses = [`127.0.0.1:${ports[0]}`, `127.0.0.1:${ports[1]}`] as const
      const proxy = await RunningProxy.start(name, { servers: addresses, replaced: replaced[name] })
      onTestFinished(async () => {
        await proxy[Symbol.asyncDispose]()
        for (const server of servers) server.stop()
        await place.dispose()
      })
      const { text: ca } = await certificate()
      // nginx closes connections without a request when it reads its file again, also those that a client is about to use.
      const fetch = tlsFetch({ ca, keepAlive: !proxy.mustBeTold })
      const outside = connect(proxy.url, { token, fetch })
      /** The proxy sends requests to a server. */
      const getsRequests = async (port: number) => {
        const before = await seenBy(port)
        await expect
          .poll(async () => {
            await outside.listTables({ id: [] })
            return await seenBy(port)
          })
          .toBeGreaterThan(before)
      }
      for (const port of ports) await getsRequests(port)
      const clients = working(proxy.url, fetch)
      for (const at of [0, 1] as const) {
        const before = clients.done.count
        await expect.poll(() => clients.done.count).toBeGreaterThan(before + 10 * callers)
        if (proxy.mustBeTold) await proxy.markDown([addresses[at]])
        servers[at]!.interrupt()
        await servers[at]!.ended()
        servers[at] = await serving(place.location, ports[at])
        if (proxy.mustBeTold) await proxy.markDown([])
        await getsRequests(ports[at])
      }
      const before = clients.done.count
      await expect.poll(() => clients.done.count).toBeGreaterThan(before + 10 * callers)
      await clients.end()
      expect(clients.failures).toEqual([])
    },
  )
})

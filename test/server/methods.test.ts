import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { catalogPlugin, fetchHandler, serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards } from '../support/catalogs.ts'

type Ask = (method: string, path: string) => Promise<Response>

const limits = { eventLoopDelay: 0 }

/** A server of each kind, over a catalog of its own. */
const adapters: Record<string, () => Promise<Ask>> = {
  'the fetch handler': async () => {
    const handle = await fetchHandler(closedAfterwards(await openCatalog('memory:')), { auth: false, limits })
    onTestFinished(() => handle.close())
    return (method, path) => handle(new Request(`http://localhost${path}`, { method }))
  },
  'the server': async () => {
    const catalog = closedAfterwards(await openCatalog('memory:'))
    const server = await serve(catalog, { auth: false, limits, port: 0, log: false })
    onTestFinished(() => server.close())
    return (method, path) => fetch(server.url + path, { method })
  },
  'the plugin': async () => {
    const app = fastify()
    const catalog = closedAfterwards(await openCatalog('memory:'))
    await app.register(catalogPlugin, { catalog, auth: false, limits } as never)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(() => app.close())
    return (method, path) => fetch(url + path, { method })
  },
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

describe.each(Object.entries(adapters))(
  '%s answers a wrong method with 405 and the right ones',
  (_, open) => {
    it.each([
      ['/v1/table/t/describe', 'POST, OPTIONS'],
      ['/v1/namespace/$/list', 'GET, HEAD, OPTIONS'],
      ['/v1/table/t/tags/list', 'GET, POST, HEAD, OPTIONS'],
      ['/v1/changes', 'GET, HEAD, OPTIONS'],
      ['/healthz', 'GET, HEAD, OPTIONS'],
      ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ])('%s', async (path, allowed) => {
      const ask = await open()
      const options = await ask('OPTIONS', path)
      const right = options.headers.get('allow')!.split(', ').sort()
      expect([options.status, right]).toEqual([200, allowed.split(', ').sort()])
      for (const method of methods.filter((method) => !right.includes(method))) {
        const refused = await ask(method, path)
        expect([method, refused.status]).toEqual([method, 405])
        expect(refused.headers.get('allow')!.split(', ').sort()).toEqual(right)
        if (method !== 'HEAD') expect(await refused.json()).toMatchObject({ status: 405, instance: path })
      }
    })
  },
)

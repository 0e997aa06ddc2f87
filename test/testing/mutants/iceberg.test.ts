import { afterAll, describe, expect, test } from 'vitest'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { fetchHandler } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { icebergSuite } from '../../../src/testing/index.ts'
import { brokenIcebergs } from './iceberg.ts'
import { collect, failureOf } from './run-cases.ts'

const token = 'a-token-of-the-suite'
const catalog = await openCatalog('memory:')
const server = await fetchHandler(catalog, {
  auth: { tokens: [token] },
  limits: { inFlight: 100_000, eventLoopDelay: 0 },
  mounts: [icebergRest(catalog)],
})
afterAll(async () => {
  await server.close()
  await catalog.close()
})

async function casesOf(fetch: (request: Request) => Promise<Response>) {
  let registered: Promise<void> | undefined
  const cases = collect((runner) => {
    registered = icebergSuite(runner, { url: 'http://catalog.test/iceberg', token, fetch })
  })
  await registered
  return cases
}
const sound = await casesOf(server)

describe('the suite of Iceberg REST notices a server that', () => {
  test.each(brokenIcebergs)('%s, by %s', async (_name, rule, make) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(await casesOf(make(server, token)), rule)).toContain(`${rule} (`)
  })
})

describe('what a server lacks is left out, and said', () => {
  const without =
    (...endpoints: string[]) =>
    async (request: Request) => {
      const response = await server(request)
      if (!request.url.endsWith('/config')) return response
      const config = (await response.json()) as { endpoints: string[] }
      const left = config.endpoints.filter((one) => !endpoints.includes(one))
      return Response.json({ ...config, endpoints: left })
    }

  test('cases for an endpoint that config does not list', async () => {
    const rename = 'POST /v1/{prefix}/tables/rename'
    const cases = await casesOf(without(rename))
    expect(cases.has('iceberg.rename')).toBe(false)
    // It is there all the same.
    expect(await failureOf(cases, 'iceberg.lacking.renameTable')).toBeDefined()
    expect(cases.size).toBe(sound.size - 2)
  })

  test('a server without an endpoint that all cases need is not judged', async () => {
    await expect(casesOf(without('GET /v1/{prefix}/namespaces/{namespace}/tables'))).rejects.toThrow(
      'No server can be judged without',
    )
  })

  test.each(['etags', 'pages', 'nested', 'v3'] as const)(
    '%s, which this server does not lack',
    async (feature) => {
      let registered: Promise<void> | undefined
      const titles: string[] = []
      const cases = collect((runner) => {
        const test = (title: string, body: () => Promise<void>) => {
          titles.push(title)
          return runner.test!(title, body)
        }
        const options = { url: 'http://catalog.test/iceberg', token, fetch: server, lacks: [feature] }
        registered = icebergSuite({ ...runner, test }, options)
      })
      await registered
      expect(titles.find((title) => title.startsWith(`iceberg.lacking.${feature} `))).toContain(
        'Not judged without',
      )
      expect(await failureOf(cases, `iceberg.lacking.${feature}`)).toBeDefined()
    },
  )
})

import { afterAll, describe, expect, test } from 'vitest'
import { httpSuite } from '../../../src/testing/suites/http-suite.ts'
import { otherToken, ownServer, token, url } from '../own-server.ts'
import { collect, failureOf } from './run-cases.ts'
import { brokenServers } from './servers.ts'

const server = await ownServer()
afterAll(() => server.close())

const casesOf = (send: (request: Request) => Promise<Response>) =>
  collect((runner) => httpSuite(runner, { url, token, otherToken, fetch: send }))
const sound = casesOf(server)

describe('the suite of servers notices a server that', () => {
  test.each(brokenServers)('%s, by %s', async (_name, rule, make) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(casesOf(make(server, token)), rule)).toContain(`${rule} (`)
  })
})

import { afterAll, describe, test } from 'vitest'
import { httpSuite } from '../../src/testing/suites/http-suite.ts'
import { otherToken, ownServer, token, url } from './own-server.ts'

const server = await ownServer()
afterAll(() => server.close())

httpSuite({ describe, test }, { name: 'our own server', url, token, otherToken, fetch: server })

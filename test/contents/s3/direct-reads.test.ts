import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { s3Content } from '../../../src/contents/s3/index.ts'
import { openContent } from '../../../src/tabularium/index.ts'
import { text } from '../../../src/testing/suites/content/trial.ts'
import { signAgain } from '../sign-again.ts'

/* Parts of objects are read past most of the client of S3. What is sent is what the client would send, and signed so. */

interface Asked {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly isOfClient: boolean
}

const bytes = '0123456789'

describe('parts of objects', () => {
  const asked: Asked[] = []
  /** Answers in place of the service, if it answers at all. */
  let instead: (asked: Asked, answer: ServerResponse) => boolean
  const server = createServer((request, answer) => {
    const url = new URL(request.url!, 'http://localhost')
    const isOfClient = 'amz-sdk-invocation-id' in request.headers
    const one = { url, headers: request.headers, isOfClient }
    asked.push(one)
    if (instead(one, answer)) return
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const body = from === undefined ? bytes : bytes.slice(Number(from), Number(to) + 1)
    answer.writeHead(from === undefined ? 200 : 206, {
      'content-length': body.length,
      ...(from !== undefined && { 'content-range': `bytes ${from}-${to}/${bytes.length}` }),
    })
    answer.end(body)
  })
  let endpoint: string

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined)
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAEXAMPLEEXAMPLE00')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret-that-nobody-may-see')
    vi.stubEnv('AWS_SESSION_TOKEN', 'a-session')
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
    vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true')
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
    vi.unstubAllEnvs()
  })
  beforeEach(() => {
    asked.length = 0
    instead = () => false
  })

  const opened = () => openContent(`s3://bucket/rows?endpoint=${encodeURIComponent(endpoint)}`)
  const ofClient = () => asked.map(({ isOfClient }) => isOfClient)
  const part = { start: 3, end: 5 }

  test.each(['a.arrow', "t/a b(1)'!*+=&,:;@$ü~.arrow"])(
    'of %s are signed as the client signs',
    async (key) => {
      const content = await opened()
      for (let i = 0; i < 2; i++) expect(await text(content, key, part)).toBe('34')
      const [first, second] = asked as [Asked, Asked]
      expect(ofClient()).toEqual([true, false])
      expect(second.url.href).toBe(first.url.href)
      expect(second.headers.range).toBe('bytes=3-4')
      expect(second.headers['user-agent']).toBe(first.headers['user-agent'])
      expect(second.headers['x-amz-security-token']).toBe('a-session')
      const headers = { ...second.headers }
      expect(headers.authorization).toMatch(/SignedHeaders=[^,]*\bhost;range;x-amz-/)
      signAgain('GET', second.url, headers)
      expect(second.headers.authorization).toBe(headers.authorization)
    },
  )

  test('of other objects, too, while whole objects are read by the client', async () => {
    const content = await opened()
    expect(await text(content, 'a')).toBe(bytes)
    expect(await text(content, 'b/c', part)).toBe('34')
    expect(await text(content, 'd')).toBe(bytes)
    expect(ofClient()).toEqual([true, false, true])
    expect(asked[1]!.url.pathname).toBe('/bucket/rows/b/c')
  })

  test('are asked for by the client when something goes wrong, and until that succeeds', async () => {
    const content = await opened()
    await text(content, 'a', part)
    const faults: ((answer: ServerResponse) => void)[] = [
      (answer) => answer.writeHead(503).end(),
      (answer) => answer.writeHead(403).end('<Error><Code>RequestTimeTooSkewed</Code></Error>'),
      (answer) => answer.writeHead(302, { location: endpoint }).end(),
      (answer) => answer.destroy(),
    ]
    for (const fault of faults) {
      asked.length = 0
      instead = ({ isOfClient }, answer) => {
        if (!isOfClient) fault(answer)
        return !isOfClient
      }
      expect(await text(content, 'a', part)).toBe('34')
      expect(ofClient()).toEqual([false, true])
      instead = () => false
      expect(await text(content, 'a', part)).toBe('34')
      expect(ofClient()).toEqual([false, true, false])
    }
    asked.length = 0
    instead = (_, answer) => {
      answer.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
      return true
    }
    for (let i = 0; i < 2; i++) expect(await content.get('a', part)).toBeUndefined()
    expect(ofClient()).toEqual([false, true, true])
  })

  test('by a client of the caller, whose layers are not known, go through all of them', async () => {
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
    const content = s3Content(client, 'bucket')
    for (let i = 0; i < 3; i++) expect(await text(content, 'a', part)).toBe('34')
    expect(ofClient()).toEqual([true, true, true])
  })
})

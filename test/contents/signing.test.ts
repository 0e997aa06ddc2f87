import { S3Client } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { RequestToSign } from '../../src/base/content/signer.ts'
import { s3Content } from '../../src/contents/s3/index.ts'
import { signAgain } from './sign-again.ts'

/* Requests of others are signed as S3 checks signatures, and only for objects below a folder. */

beforeAll(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAEXAMPLEEXAMPLE00')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret-that-nobody-may-see')
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', 'true')
})
afterAll(() => vi.unstubAllEnvs())

const stores = {
  'path style': ['http://127.0.0.1:9000/rows', { endpoint: 'http://127.0.0.1:9000', forcePathStyle: true }],
  'host style': ['https://rows.s3.eu-west-1.amazonaws.com', { region: 'eu-west-1' }],
  'the other style of hosts': ['https://s3.eu-west-1.amazonaws.com/rows', { region: 'eu-west-1' }],
  'a port of its own': ['http://rows.storage:9000', { endpoint: 'http://storage:9000' }],
} as const

function signer(options: object) {
  const content = s3Content(new S3Client({ region: 'us-east-1', ...options }), 'rows', 'lake/')
  return (request: Partial<RequestToSign> & { readonly url: string }) =>
    content.sign!('tables/t/', { method: 'GET', headers: {}, ...request })
}

for (const [style, [url, options]] of Object.entries(stores))
  test(`a request is signed as the service checks it: ${style}`, async () => {
    const sign = signer(options)
    await fc.assert(
      fc.asyncProperty(
        fc
          .string({ unit: 'grapheme', minLength: 1 })
          .filter((key) => key.isWellFormed() && !/(^|\/)\.{1,2}(\/|$)/.test(key)),
        fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE'),
        async (key, method) => {
          const asked = `${url}/lake/tables/t/${encodeURIComponent(key)}`
          const headers = { 'User-Agent': 'any', 'X-Amz-Meta-Part': '1', 'x-amz-date': 'forged' }
          const signed = await sign({ method, url: asked, headers })
          expect(signed.url).toBe(asked)
          expect(signed.headers).toMatchObject({ host: new URL(url).host, 'x-amz-meta-part': '1' })
          expect(signed.headers['user-agent']).toBeUndefined()
          expect(signed.headers['x-amz-date']).not.toBe('forged')
          const { authorization } = signed.headers
          const again = { ...signed.headers }
          // As services read it: the path of the key, escaped their way.
          const path = new URL(asked)
          path.pathname = path.pathname
            .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
            .replaceAll('%2F', '/')
          signAgain(method, path, again)
          expect(again.authorization).toBe(authorization)
        },
      ),
      { numRuns: 30 },
    )
  })

test('a query is part of the signature', async () => {
  const sign = signer(stores['path style'][1])
  const url = `${stores['path style'][0]}?list-type=2&prefix=${encodeURIComponent('lake/tables/t/data/x y')}&delimiter=%2F`
  const { headers } = await sign({ url })
  const again = { ...headers }
  signAgain('GET', new URL(url), again)
  expect(again.authorization).toBe(headers.authorization)
})

test('requests that remove many objects are bound to their body', async () => {
  const sign = signer(stores['path style'][1])
  const url = `${stores['path style'][0]}?delete`
  const body = (...keys: string[]) =>
    `<?xml version="1.0" encoding="UTF-8"?><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${keys.map((key) => `<Object><Key>${key}</Key></Object>`).join('')}</Delete>`
  const ask = (text: string | undefined) => sign({ method: 'POST', url, body: text })
  const { headers } = await ask(body('lake/tables/t/a', 'lake/tables/t/b&amp;c'))
  expect(headers['x-amz-content-sha256']).toMatch(/^[\da-f]{64}$/)
  for (const refused of [
    undefined,
    '',
    body(),
    body('lake/tables/t/a', 'lake/tables/u/a'),
    body('lake/tables/t/a', 'lake/tables&#47;u/a'),
    body('lake/tables/t/a').replace('<Key>', '<Key><![CDATA[lake/tables/u/a]]></Key><Key>'),
    body('lake/tables/t/a').replace('</Object>', '<Key >lake/tables/u/a</Key ></Object>'),
    body('lake/tables/t/a').replace(
      '</Delete>',
      '<x:Object><x:Key>lake/tables/u/a</x:Key></x:Object></Delete>',
    ),
    body('lake/tables/t/a').replace('<Delete', '<!DOCTYPE x [<!ENTITY e "lake/tables/u/a">]><Delete'),
    body('lake/tables/t/&e;'),
  ])
    await expect(ask(refused)).rejects.toMatchObject({
      code: expect.stringMatching(/PermissionDenied|InvalidInput/),
    })
})

test('all else is refused', async () => {
  const [base, options] = stores['path style']
  const sign = signer(options)
  const own = `${base}/lake/tables/t/a`
  const refused: [string, Partial<RequestToSign>?][] = [
    [`${base}/lake/tables/u/a`],
    [`${base}/lake/tables/t`],
    [`${base}/lake/tables/tt/a`],
    [`${base}/lake/tables/t/../u/a`],
    [`${base}/lake/tables/t/%2e%2e/u/a`],
    [`${base}/lake/tables/t/%2E./u/a`],
    [`${base}//lake/tables/t/a`],
    [`${base}/lake%2Ftables%2Ftt%2Fa`],
    [base],
    [`${base}/?list-type=2`],
    [`${base}/?list-type=2&prefix=lake/tables/`],
    [`${base}/?prefix=lake/tables/t/&prefix=lake/`],
    [`${base}/?policy`],
    [`${base}?acl`],
    [base, { method: 'DELETE' }],
    [base, { method: 'PUT' }],
    [base, { method: 'HEAD' }],
    [`${own}?acl`],
    [`${own}?acl`, { method: 'PUT' }],
    [`${own}?tagging`, { method: 'PUT' }],
    [own, { method: 'PATCH' }],
    [own, { method: 'OPTIONS' }],
    [own, { method: 'POST', url: `${own}?restore` }],
    [own, { method: 'PUT', headers: { 'X-Amz-Acl': 'public-read' } }],
    [own, { method: 'PUT', headers: { 'x-amz-grant-read': 'uri="all"' } }],
    [own, { method: 'PUT', headers: { 'x-amz-copy-source': '/rows/lake/tables/u/a' } }],
    [own, { method: 'PUT', headers: { 'x-amz-copy-source': '/other/lake/tables/t/a' } }],
    [own, { method: 'PUT', headers: { 'x-amz-copy-source': '/rows/lake/tables/t/%2e%2e/u/a' } }],
    [own, { method: 'PUT', body: 'x' }],
    [own.replace('9000', '9001')],
    [own.replace('127.0.0.1', 'elsewhere')],
    [own.replace('http', 'https')],
    [own.replace('//', '//user:secret@')],
    [`${own}#x`],
    [own.replace('/rows/', '/other/')],
    ['nothing'],
    [`${base}/lake/tables/t/%FF`],
  ]
  for (const [url, more] of refused)
    await expect(sign({ url, ...more }), `${more?.method} ${url}`).rejects.toMatchObject({
      code: expect.stringMatching(/PermissionDenied|InvalidInput/),
    })
  for (const [url, more] of [
    [own],
    [own, { method: 'PUT' }],
    [`${own}?uploads`, { method: 'POST' }],
    [`${own}?partNumber=1&uploadId=x`, { method: 'PUT' }],
    [own, { method: 'PUT', headers: { 'x-amz-copy-source': '/rows/lake/tables/t/b' } }],
    [`${base}/?list-type=2&prefix=lake%2Ftables%2Ft%2Fdata`],
  ] as [string, Partial<RequestToSign>?][])
    await expect(sign({ url, ...more }), `${more?.method} ${url}`).resolves.toBeDefined()
})

import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { JwtOptions } from '../../../src/server/index.ts'
import { expectProblem, serveInMemory } from '../support/ask.ts'

const path = '/v1/namespace/$/describe'
const issuer = 'https://issuer.example'
const audience = 'catalog'

interface Pair {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

async function newPair(kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}

/** An issuer whose published keys can be changed, and that counts how often they are fetched. */
async function startIssuer(...keys: JWK[]) {
  const state = { keys, fetched: 0, status: 200 }
  const server = createServer((_request, response) => {
    state.fetched++
    response.writeHead(state.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ keys: state.keys }))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    server,
  })
}

function sign(pair: Pair, claims: JWTPayload = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const payload = { iss: issuer, aud: audience, sub: 'ada', exp: now + 600, ...claims }
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: pair.kid }).sign(pair.privateKey)
}

let a: Pair
let b: Pair
beforeAll(async () => {
  a = await newPair('a')
  b = await newPair('b')
})

async function served(jwt: Partial<JwtOptions>) {
  const seen: unknown[] = []
  const { ask } = await serveInMemory({
    auth: { jwt: { issuer, audience, algorithms: ['ES256'], ...jwt }, tokens: ['the-static-token'] },
    authorize: (principal) => {
      seen.push(principal?.name)
    },
  })
  return { seen, present: (token: string) => ask('POST', path, {}, { authorization: `Bearer ${token}` }) }
}

describe('JSON Web Tokens', () => {
  it('name their subject, and go beside static tokens', async () => {
    const { seen, present } = await served({ keys: { keys: [a.jwk] } })
    expect((await present(await sign(a))).status).toBe(200)
    expect((await present('the-static-token')).status).toBe(200)
    expect(seen).toStrictEqual(['ada', 'token-1'])
  })

  it.each<[string, JWTPayload]>([
    ['of another issuer', { iss: 'https://other.example' }],
    ['for another audience', { aud: 'warehouse' }],
    ['that expired', { exp: Math.floor(Date.now() / 1000) - 60 }],
    ['that never expire', { exp: undefined as never }],
    ['that are not valid yet', { nbf: Math.floor(Date.now() / 1000) + 600 }],
  ])('%s are refused', async (_what, claims) => {
    const { present } = await served({ keys: { keys: [a.jwk] } })
    const reply = await present(await sign(a, claims))
    expectProblem(reply, 401, 16, path)
    expect(reply.headers.get('www-authenticate')).toMatch(/error="invalid_token"/)
  })

  it('are taken a little late, as clocks differ', async () => {
    const { present } = await served({ keys: { keys: [a.jwk] }, clockTolerance: 120 })
    expect((await present(await sign(a, { exp: Math.floor(Date.now() / 1000) - 60 }))).status).toBe(200)
  })

  it('that are signed with a secret are refused where the key is public, also when both ways are allowed', async () => {
    const claims = { iss: issuer, aud: audience, sub: 'root', exp: Math.floor(Date.now() / 1000) + 600 }
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const secret = new TextEncoder().encode(JSON.stringify(publicKey.export({ format: 'jwk' })))
    const symmetric = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret)
    for (const keys of [publicKey, { keys: [a.jwk] }]) {
      const { present } = await served({ keys, algorithms: ['ES256', 'HS256'] })
      expectProblem(await present(symmetric), 401, 16, path)
    }
    const { present } = await served({ keys: secret, algorithms: ['ES256', 'HS256'] })
    expect((await present(symmetric)).status).toBe(200)
    expectProblem(await present(await sign(a)), 401, 16, path)
  })

  it('that are forged are refused', async () => {
    const { present } = await served({ keys: { keys: [a.jwk] } })
    const token = await sign(a)
    const [head, body, signature] = token.split('.') as [string, string, string]
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: issuer, aud: audience, sub: 'root', exp: Math.floor(Date.now() / 1000) + 600 }
    const secret = new TextEncoder().encode(JSON.stringify(a.jwk))
    const symmetric = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'a' }).sign(secret)
    for (const forged of [
      `${part({ alg: 'none' })}.${part(claims)}.`,
      `${part({ alg: 'none' })}.${part(claims)}.${signature}`,
      `${head}.${part(claims)}.${signature}`,
      `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      symmetric,
      await sign({ ...b, kid: 'a' }),
      `${token}.`,
      'a.b.c',
      '..',
    ]) {
      expectProblem(await present(forged), 401, 16, path)
    }
  })

  it('follow the issuer when its keys rotate, without asking it for every token', async () => {
    const keys = await startIssuer(a.jwk)
    const { present } = await served({ jwksUrl: keys.url, keysCooldown: 0 })
    for (let i = 0; i < 5; i++) expect((await present(await sign(a))).status).toBe(200)
    expect(keys.fetched).toBe(1)
    keys.keys = [b.jwk]
    expect((await present(await sign(b))).status).toBe(200)
    expect(keys.fetched).toBe(2)
    expect((await present(await sign(a))).status).toBe(401)
  })

  it('with made-up keys do not make the server ask its issuer again and again', async () => {
    const keys = await startIssuer(a.jwk)
    const { present } = await served({ jwksUrl: keys.url })
    for (let i = 0; i < 5; i++) expect((await present(await sign({ ...b, kid: `no-${i}` }))).status).toBe(401)
    expect(keys.fetched).toBe(1)
  })

  it('that cannot be checked because the issuer is down are answered 503', async () => {
    const keys = await startIssuer(a.jwk)
    keys.status = 500
    const { present } = await served({ jwksUrl: keys.url })
    const reply = await present(await sign(a))
    expectProblem(reply, 503, 17, path)
    expect(reply.headers.get('retry-after')).toBe('1')
    keys.status = 200
    expect((await present(await sign(a))).status).toBe(200)
  })

  it('may be checked with one public key', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const { present } = await served({ keys: publicKey, algorithms: ['EdDSA'] })
    const token = await new SignJWT({ iss: issuer, aud: audience, sub: 'ada' })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime('1h')
      .sign(privateKey)
    expect((await present(token)).status).toBe(200)
    expect((await present(await sign(a))).status).toBe(401)
  })

  it.each([
    ['no issuer', { issuer: '' }, /lacks issuer/],
    ['no audience', { audience: [] }, /lacks audience/],
    ['no algorithm', { algorithms: [] }, /lacks algorithms/],
    ['no keys', { keys: undefined }, /lacks jwksUrl or keys/],
    ['no signature', { algorithms: ['ES256', 'none'] }, /signs nothing/],
  ] as [string, Partial<JwtOptions>, RegExp][])('need %s to be told', async (_what, options, message) => {
    await expect(served({ keys: { keys: [a.jwk] }, ...options })).rejects.toThrow(message)
  })
})

import { gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { catalogPlugin, serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { serveInMemory } from '../support/ask.ts'

const packed = { 'accept-encoding': 'br;q=1.0, gzip' }
const paths = ['/', '/page/app.js', '/page/app.css']

function closedAfterwards(...opened: { close(): unknown }[]): void {
  onTestFinished(async () => {
    for (const each of opened) await each.close()
  })
}

describe('the page', () => {
  it('is at the root, to everybody, and holds nothing of the catalog', async () => {
    const { ask, catalog } = await serveInMemory({ auth: { tokens: ['0123456789abcdef'] } })
    await catalog.createNamespace({ id: ['secret'] })
    const { status, headers, text } = await ask('GET', '/')
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain(
      '{&quot;editable&quot;:false,&quot;token&quot;:true,&quot;listing&quot;:&quot;recursive&quot;}',
    )
    expect(text).not.toMatch(/secret|0123456789|https?:\/\/(?!www\.w3\.org)/)
  })

  it('runs its own files only, and may be shown in no frame', async () => {
    const { ask } = await serveInMemory()
    for (const path of paths) {
      const { headers, text } = await ask('GET', path)
      const policy = headers.get('content-security-policy')!
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toContain("form-action 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('access-control-allow-origin')).toBeNull()
      // What a policy without `unsafe-inline` would not run.
      if (path === '/') expect(text).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|\sstyle=/)
    }
  })

  it('takes at most 150 kB, packed', async () => {
    const { ask } = await serveInMemory()
    let bytes = 0
    for (const path of paths) {
      const { headers, bytes: body } = await ask('GET', path, undefined, packed)
      expect(headers.get('content-encoding')).toBe('gzip')
      expect(gunzipSync(body).toString()).toBe((await ask('GET', path)).text)
      bytes += body.length
    }
    expect(bytes).toBeLessThan(150_000)
    const { headers } = await ask('GET', '/', undefined, { 'accept-encoding': 'gzip;q=0, br' })
    expect(headers.get('content-encoding')).toBeNull()
  })

  it('is sent once: files are named by their content, and the rest is compared', async () => {
    const { ask } = await serveInMemory()
    const { text, headers } = await ask('GET', '/')
    for (const [, path] of text.matchAll(/"(page\/app\.\w+\?[\w-]+)"/g)) {
      expect((await ask('GET', `/${path}`)).headers.get('cache-control')).toContain('immutable')
    }
    expect(headers.get('cache-control')).toBe('no-cache')
    const again = await ask('GET', '/', undefined, { 'if-none-match': `"x", W/${headers.get('etag')}` })
    expect([again.status, again.text, again.headers.get('content-length')]).toEqual([304, '', null])
    const other = await ask('GET', '/', undefined, { ...packed, 'if-none-match': headers.get('etag')! })
    expect(other.status).toBe(200)
    expect((await ask('GET', '/page/app.js?old')).headers.get('cache-control')).toBe('no-cache')
  })

  it('is sent by a server that listens, too', async () => {
    const catalog = await openCatalog('memory:')
    const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port: 0 })
    closedAfterwards(server, catalog)
    const first = await fetch(server.url)
    expect(await first.text()).toContain('<div id="app">')
    const again = await fetch(server.url, { headers: { 'if-none-match': first.headers.get('etag')! } })
    expect([again.status, again.headers.get('content-length')]).toEqual([304, null])
  })

  it('offers changes where the server is set up so', async () => {
    const { ask } = await serveInMemory({ page: 'editable', listing: 'children' })
    expect((await ask('GET', '/')).text).toMatch(/editable&quot;:true,&quot;token&quot;:false.*children/)
  })

  it('may be left out', async () => {
    const { ask } = await serveInMemory({ page: false })
    for (const path of paths) expect((await ask('GET', path)).status).toBe(404)
    expect((await ask('GET', '/docs')).text).not.toContain('href="./"')
    expect((await ask('GET', '/page/docs.js')).status).toBe(200)
  })

  it('takes no other method', async () => {
    const { ask } = await serveInMemory()
    expect((await ask('POST', '/', {})).status).toBe(405)
    const head = await ask('HEAD', '/')
    expect([head.status, head.text]).toEqual([200, ''])
  })
})

describe('mounted in an application', () => {
  it('lies at the prefix, with a slash at its end', async () => {
    const app = fastify()
    const catalog = await openCatalog('memory:')
    closedAfterwards(app, catalog)
    await app.register(catalogPlugin, { prefix: '/my/:tenant/cat', catalog, auth: false })
    const host = { host: 'localhost' }
    const bare = await app.inject({ url: '/my/a%20b/cat', headers: host })
    expect([bare.statusCode, bare.headers.location]).toEqual([308, './cat/'])
    const whole = await app.inject({ url: '/my/a%20b/cat/', headers: host })
    expect([whole.statusCode, whole.body]).toEqual([200, expect.stringContaining('src="page/app.js?')])
    const script = await app.inject({ url: '/my/a/cat/page/app.js', headers: { ...host, ...packed } })
    expect(gunzipSync(script.rawPayload).length).toBeGreaterThan(10_000)
  })

  it('leaves the root to the application, unless told otherwise', async () => {
    for (const page of [undefined, true]) {
      const app = fastify()
      const catalog = await openCatalog('memory:')
      closedAfterwards(app, catalog)
      await app.register(catalogPlugin, { catalog, auth: false, page })
      const { statusCode } = await app.inject({ url: '/', headers: { host: 'localhost' } })
      expect(statusCode).toBe(page ? 200 : 404)
    }
  })
})

describe('/docs', () => {
  it('leads to the page, and marks what is unsupported', async () => {
    const { ask } = await serveInMemory()
    const { text } = await ask('GET', '/docs')
    expect(text).toContain('href="./"')
    expect(text).toMatch(/<h2>CreateMaterializedView <small class="badge unsupported">not supported/)
    expect(text).toMatch(/<s><a href="#CreateMaterializedView">/)
    expect(text).toMatch(/<h2>DescribeTable <b class="badge reads">reads<\/b><\/h2>/)
    expect(text).toMatch(/<h2>DropTable <b class="badge changes">changes<\/b><\/h2>/)
  })
})

import { readFileSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { chromiumPath } from '../support/chromium.ts'
import { limitEach } from '../support/time-limit.ts'
import { bundledForBrowsers, type Exports, root } from '../support/web-build.ts'

// A browser loads the package and runs the suites.
limitEach(60)

/* The entry points for browsers in a real one: Chromium. */

const found = chromiumPath('The tests of entry points in a browser')
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Exports }

/** An application with functions for the tests, and a small runner for the suites. */
const application = `
import { CatalogError, openCatalog } from 'tabularium'
import { memoryStore } from 'tabularium/backends/memory'
import { connect } from 'tabularium/client'
import { memoryContent } from 'tabularium/content/memory'
import { catalogSuite, contentSuite, fakeCatalog, storeSuite } from 'tabularium/testing'

const suites = {
  store: (runner) => storeSuite(runner, () => ({ open: () => memoryStore() })),
  content: (runner) => contentSuite(runner, () => ({ open: memoryContent })),
  catalog: (runner) => catalogSuite(runner, () => openCatalog('memory:')),
}

async function judge(name) {
  const tests = []
  suites[name]({ describe: (_, body) => body(), test: (name, body) => tests.push([name, body]) })
  const broken = []
  for (const [name, body] of tests) {
    await body().catch((error) => broken.push(name + ': ' + error.message))
  }
  return { judged: tests.length, broken }
}

async function use(catalog) {
  const id = ['orders']
  await catalog.createTable({ id, data: [{ sku: 'lamp', price: 9.5 }] })
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: [{ sku: 'sofa', price: 800 }] })
  })
  const rows = []
  for await (const row of catalog.rows({ id, filter: 'price > 10' })) rows.push(row)
  const error = await catalog.describeTable({ id: ['none'] }).catch((error) => error)
  return { rows, code: error.code, isOurs: error instanceof CatalogError }
}

globalThis.app = { CatalogError, connect, fakeCatalog, judge, openCatalog, use }
`
const seen = { rows: [{ sku: 'sofa', price: 800 }], code: 'TableNotFound', isOurs: true }

let browser: Browser

/** A page with only the application. Without a server, it is not a secure context. */
async function opened(origin = 'http://application.test'): Promise<Page> {
  const { outputFiles } = await bundledForBrowsers(application, exports, { splitting: true })
  const files = new Map(outputFiles.map(({ path, text }) => [path.split('/').at(-1)!, text]))
  const page = await (await browser.newContext()).newPage()
  await page.route(`${origin}/application/*`, (route) => {
    const script = files.get(route.request().url().split('/').at(-1)!)
    return route.fulfill({
      contentType: script === undefined ? 'text/html' : 'text/javascript',
      body: script ?? '<!doctype html><script type="module" src="stdin.js"></script>',
    })
  })
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  onTestFinished(async () => {
    await page.context().close()
    expect(complaints).toEqual([])
  })
  await page.goto(`${origin}/application/page`)
  await page.waitForFunction('globalThis.app')
  return page
}

describe.skipIf(found === undefined)('in Chromium', () => {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: found!, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  it('a catalog in memory takes rows, transactions and queries', async () => {
    const page = await opened()
    expect(await page.evaluate("app.openCatalog('memory:').then(app.use)")).toEqual(seen)
  })

  it('a fake catalog is seeded and forked, and fails on demand', async () => {
    const page = await opened()
    const code = `app.fakeCatalog({ seed: { prod: { users: [{ name: 'Ada' }, { name: 'Grace' }] } } }).then(async (seeded) => {
      const mine = seeded.fork()
      await mine.deleteFromTable({ id: ['prod', 'users'], predicate: "name = 'Ada'" })
      const count = async (catalog) => (await catalog.countTableRows({ id: ['prod', 'users'] })).count
      mine.faults.add({ operation: 'dropTable', fail: 'ServiceUnavailable' })
      const error = await mine.dropTable({ id: ['prod', 'users'] }).catch((error) => error)
      return [await count(mine), await count(seeded), error.code, mine.calls.of('dropTable').length]
    })`
    expect(await page.evaluate(code)).toEqual([1, 2, 'ServiceUnavailable', 1])
  })

  it('a client works on the server of its page', async () => {
    const catalog = await openCatalog('memory:')
    const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, port: 0, auth: false })
    onTestFinished(() => server.close())
    const page = await opened(server.url)
    expect(await page.evaluate('app.use(app.connect(location.origin))')).toEqual(seen)
    expect((await catalog.countTableRows({ id: ['orders'] })).count).toBe(2)
  })

  it.each(['store', 'content', 'catalog'])(
    'the suite for a %s runs, and finds nothing broken',
    async (name) => {
      const page = await opened()
      const { judged, broken } = await page.evaluate<{ judged: number; broken: string[] }>(
        `app.judge('${name}')`,
      )
      expect(broken).toEqual([])
      expect(judged).toBeGreaterThan(10)
    },
  )
})

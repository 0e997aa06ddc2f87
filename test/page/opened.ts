import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { type CatalogOptions, type MemoryCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { chromiumPath } from '../support/chromium.ts'

/*
 * The page in a real browser: Debian's Chromium, or the one in CHROMIUM. Without one, the tests are skipped with a
 * message.
 */

const found = chromiumPath('The tests of the page in a browser')

let browser: Browser

/** A group of tests that call `opened`. */
export function describeInChromium(what: string, tests: () => void): void {
  describe.skipIf(found === undefined)(what, () => {
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: found!, args: ['--no-sandbox'] })
    })
    afterAll(() => browser?.close())
    tests()
  })
}

/** A page with a fresh catalog, its console messages, and its requests. */
export async function opened(
  fill: (catalog: MemoryCatalog) => Promise<unknown>,
  options: Partial<ServeOptions> | ((catalog: MemoryCatalog) => Partial<ServeOptions>) = {},
  fragment = '',
  catalogOptions: CatalogOptions & { readonly folder?: string } = {},
) {
  const { folder = 'memory:', ...settings } = catalogOptions
  const catalog = (await openCatalog(folder, settings)) as MemoryCatalog
  await fill(catalog)
  const given = typeof options === 'function' ? options(catalog) : options
  const server = await serve(catalog, { auth: false, port: 0, limits: { eventLoopDelay: 0 }, ...given })
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const complaints: string[] = []
  const asked: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // The browser itself logs each refused request.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('request', (request) => asked.push(request.url()))
  // Below the timeout of a test, so that the error names what it waited for.
  page.setDefaultTimeout(45_000)
  onTestFinished(async () => {
    await context.close()
    await server.close()
    await catalog.close()
    // No violation of the content security policy, and no unhandled error.
    expect(complaints).toEqual([])
    expect(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:'))).toEqual([])
  })
  await page.goto(`${server.url}/${fragment}`)
  return { page, catalog, server, asked }
}

export const flights = Array.from({ length: 3_000 }, (_, flight) => ({
  flight,
  origin: flight % 2 ? 'SFO' : null,
  note: '<img src=x onerror=alert(1)>',
}))

export async function filled(catalog: MemoryCatalog) {
  await catalog.createNamespace({ id: ['prod'] })
  await catalog.createNamespace({ id: ['prod', 'eu'] })
  const id = ['prod', 'flights']
  await catalog.createTable({ id, data: flights })
  await catalog.insertIntoTable({ id, data: flights.slice(0, 10) })
  await catalog.deleteFromTable({ id, predicate: 'flight = 5' })
  await catalog.createTableTag({ id, tag: 'stable', version: 1 })
  await catalog.createTableBranch({ id, name: 'dev' })
}

/** Delays the responses to matching requests, which are computed at once. Returns a function that releases them. */
export async function heldUp(page: Page, pattern: string): Promise<() => void> {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  await page.route(pattern, async (route) => {
    try {
      const response = await route.fetch()
      await ended
      await route.fulfill({ response })
    } catch {
      // The page has aborted this request, or is closed.
    }
  })
  return end
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** The accessibility violations of the page. */
export async function barriers(page: Page): Promise<string[]> {
  // Colors during a transition must not be checked.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))')
  // Bypasses the page's content security policy for a script of the test.
  await page.evaluate(readFileSync(axe, 'utf8'))
  const { violations } = await page.evaluate(() =>
    (
      globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
      }
    ).axe.run(),
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 200)}`)
}

/** What is cut or lies beside the screen: a scrollable document, and texts that are wider than their boxes. */
export function overflow(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const found = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) found.push('the document: ' + scrollWidth + ' of ' + clientWidth)
    const isMeant = (element) => element.closest('.grid, .versions, .unseen, .virtual, .list-head, .line.head, pre, [inert]')
    for (const element of document.querySelectorAll('header, header *, main, main *, dialog[open], dialog[open] *')) {
      const { right, left, width } = element.getBoundingClientRect()
      if (width === 0 || isMeant(element) || getComputedStyle(element).clipPath !== 'none') continue
      const { overflowX } = getComputedStyle(element)
      const isCut = overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1 && element.tagName !== 'INPUT'
      if (right > innerWidth + 1 || left < -1 || isCut) found.push(element.outerHTML.slice(0, 120))
    }
    return found
  })()`)
}

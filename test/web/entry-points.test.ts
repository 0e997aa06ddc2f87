import { readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { limitEach } from '../support/time-limit.ts'
import { bundledForBrowsers, type Exports, root, webFileOf, webFiles, weigh } from '../support/web-build.ts'

// The first test makes the build.
limitEach(60)

/* The build for browsers and edge runtimes: it needs nothing from Node, has the documented size, and works. */

const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Exports }
const page = readFileSync(`${root}docs/runtimes.md`, 'utf8')

const forBrowsers = Object.keys(exports).filter((name) => exports[name]!.browser !== undefined)

test.each(forBrowsers)('%s is there for every runtime of the web', async (name) => {
  const { types: _types, default: _forNode, ...others } = exports[name]!
  const { deno, bun, ...web } = others
  expect(Object.keys(web)).toEqual(['browser', 'worker', 'workerd', 'edge-light'])
  const file = webFileOf(name, exports)!
  expect(new Set(Object.values(others))).toEqual(new Set([`./${file}`]))
  expect([...(await webFiles()).keys()]).toContain(file)
})

const statement = /^(?:import|export|\})(?: [^"]*? from)? ?"([^"]+)"|\bimport\("([^"]+)"\)/gm

test('nothing of the build imports more than packages that are for browsers, too', async () => {
  const packages = new Set<string>()
  for (const contents of (await webFiles()).values()) {
    for (const [, now, later] of Buffer.from(contents).toString().matchAll(statement)) {
      const from = now ?? later!
      if (!from.startsWith('.')) packages.add(from)
    }
  }
  expect([...packages].sort()).toEqual(['@uwdata/flechette', 're2js', 'zstddec'])
})

test('no source calls a method of Buffer that the build leaves out', async () => {
  const numbers = /\.(?:read|write)(?:U?[Ii]nt|Big|Float|Double)\w*\(/
  const sources = Array.from((await webFiles()).values(), (contents) => Buffer.from(contents).toString())
    .flatMap((text) => text.split(/^(?=\/\/ \S+\.[jt]s$)/m))
    .filter((part) => part.startsWith('// src/'))
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.filter((part) => numbers.test(part)).map((part) => part.split('\n', 1)[0])).toEqual([])
})

/** The documented maximum size of each entry point: `| import | at once | in all |`, in kB. */
const limits = Array.from(
  page.matchAll(/^\| `(import [^`]+)` \| (\d+) kB \| (\d+) kB \|$/gm),
  ([, code, atOnce, inAll]) => [code!, Number(atOnce), Number(inAll)] as const,
)

test('the page says what each entry point weighs, and the client at most 40 kB', () => {
  const named = limits.map(([code]) => `.${/'tabularium([^']*)'/.exec(code)![1]}`)
  expect(named.sort()).toEqual([...forBrowsers].sort())
  expect(limits.find(([code]) => code.includes('tabularium/client'))![1]).toBeLessThanOrEqual(40)
})

test.each(limits)('%s weighs what the page says', async (code, atOnce, inAll) => {
  const names = /\{(.+)\}/.exec(code)![1]
  const weight = await weigh(`${code}\nglobalThis.used = [${names}]`, exports)
  for (const [bytes, most] of [
    [weight.atOnce, atOnce],
    [weight.inAll, inAll],
  ] as const) {
    expect(bytes).toBeLessThanOrEqual(most * 1000)
    // A documented size that is much too high is wrong, too.
    expect(bytes).toBeGreaterThan(most * 800)
  }
})

/** The globals of all web runtimes: https://min-common-api.proposal.wintertc.org */
const globals = [
  ...[
    'AbortController',
    'AbortSignal',
    'DOMException',
    'Event',
    'EventTarget',
    'Headers',
    'Request',
    'Response',
  ],
  ...['TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'WebAssembly', 'clearInterval', 'clearTimeout'],
  ...[
    'console',
    'crypto',
    'fetch',
    'performance',
    'queueMicrotask',
    'setInterval',
    'setTimeout',
    'structuredClone',
  ],
]

/** Runs a bundle in an empty context, and returns its exports. */
async function alone<T>(code: string): Promise<T> {
  const { outputFiles } = await bundledForBrowsers(code, exports, { format: 'iife', globalName: 'bundle' })
  const given = Object.fromEntries(globals.map((name) => [name, Reflect.get(globalThis, name)]))
  const context = createContext(given)
  runInContext(outputFiles[0]!.text, context)
  return runInContext('bundle', context) as T
}

/** A test application. It runs on any catalog, and returns what it saw. */
const application = `
export async function use(catalog) {
  const id = ['shop', 'orders']
  await catalog.createNamespace({ id: ['shop'] })
  await catalog.createTable({ id, data: [{ sku: 'lamp', price: 9.5 }, { sku: 'désk 🪑', price: null }] })
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: [{ sku: 'sofa', price: 800 }] })
    await tx.createTable({ id: ['shop', 'log'], data: [{ line: 1n }] })
  })
  const rows = []
  for await (const row of catalog.rows({ id, filter: "price > 5 OR sha256(sku) IS NULL" })) rows.push(row)
  const all = []
  for await (const row of catalog.rows({ id, columns: ['sku'] })) all.push(row.sku)
  const error = await catalog.describeTable({ id: ['shop', 'none'] }).catch((error) => error)
  await renameTable(catalog, { id: ['shop', 'log'], new_table_name: 'journal' })
  const tables = []
  let page_token
  do {
    const page = await catalog.listTables({ id: ['shop'], limit: 1, page_token })
    tables.push(...page.tables)
    page_token = page.page_token
  } while (page_token)
  await catalog.close()
  return JSON.stringify({ rows, all, tables, code: error.code, isOurs: error instanceof CatalogError })
}`
const seen = {
  rows: [
    { sku: 'lamp', price: 9.5 },
    { sku: 'sofa', price: 800 },
  ],
  all: ['lamp', 'désk 🪑', 'sofa'],
  tables: ['shop$journal', 'shop$orders'],
  code: 'TableNotFound',
  isOurs: true,
}

describe('where there is nothing but the web', () => {
  test('a client works on a server, by itself and beside a catalog', async () => {
    const server = await serve(await openCatalog('memory:'), {
      limits: { eventLoopDelay: 0 },
      port: 0,
      auth: false,
    })
    // `renameTable` and the client are two builds.
    const { use, connect } = await alone<{
      use(catalog: unknown): Promise<string>
      connect(url: string): unknown
    }>(
      `import { renameTable } from 'tabularium'\nimport { CatalogError, connect } from 'tabularium/client'\n${application}\nexport { connect }`,
    )
    expect(JSON.parse(await use(connect(server.url)))).toEqual(seen)
    await server.close()
  })

  test('a catalog in memory works, and a fake one', async () => {
    const { inMemory, fake } = await alone<{ inMemory(): Promise<string>; fake(): Promise<string> }>(
      `import { CatalogError, openCatalog, renameTable } from 'tabularium'
       import { fakeCatalog } from 'tabularium/testing'
       ${application}
       export const inMemory = async () => use(await openCatalog('memory:'))
       export const fake = async () => {
         const seeded = await fakeCatalog({ seed: { prod: { users: [{ name: 'Ada' }] } } })
         const { count } = await seeded.fork().countTableRows({ id: ['prod', 'users'] })
         if (count !== 1) throw new Error('the seed is missing')
         return use(await fakeCatalog())
       }`,
    )
    expect(JSON.parse(await inMemory())).toEqual(seen)
    expect(JSON.parse(await fake())).toEqual(seen)
  })

  test('a server of one build is the catalog of the other', async () => {
    const server = await serve(await openCatalog('memory:'), {
      limits: { eventLoopDelay: 0 },
      port: 0,
      auth: false,
    })
    const { open } = await alone<{
      open(url: string): Promise<{ listTables(request: object): Promise<object> }>
    }>(`import { openCatalog } from 'tabularium'\nexport const open = (url) => openCatalog(url)`)
    expect(await (await open(server.url)).listTables({ id: [] })).toMatchObject({ tables: [] })
    await server.close()
  })

  const refused = [
    ['a directory', "openCatalog('./catalog')", /^A catalog in a directory needs Node or Bun\. .*'memory:'/],
    ['a file URL', "openCatalog('file:///catalog')", /^A catalog in a directory needs/],
    ['a database', "openCatalog('postgres://localhost/db')", /^A catalog in a database needs/],
    ['a backup', "openCatalog('memory:').then((catalog) => catalog.backup('copy'))", /^A backup needs/],
    ['a root', "openCatalog('memory:', { locationRoots: ['/data'] })", /^A folder needs/],
    ['a bucket', "openCatalog('memory:', { locationRoots: ['s3://bucket/a'] })", /^Content at a URL needs/],
    ['verifying', "verifyCatalog('./catalog')", /^A catalog in a directory needs/],
    [
      'adopting',
      "adoptContent('postgres://localhost/db', 's3://bucket/a')",
      /^A catalog in a database needs/,
    ],
    ['a fake server', 'fakeServer()', /^A server needs/],
  ] as const
  let all: Promise<{ fail: Record<string, () => Promise<unknown>> }> | undefined

  test.each(refused)('%s is refused with what works', async (name, _, message) => {
    all ??= alone(
      `import { adoptContent, openCatalog, verifyCatalog } from 'tabularium'
       import { fakeServer } from 'tabularium/testing'
       export const fail = {
         ${refused.map(([name, code]) => `'${name}': async () => ${code},`).join('\n')}
       }`,
    )
    const { fail } = await all
    await expect(fail[name]!()).rejects.toMatchObject({
      code: 'Unsupported',
      message: expect.stringMatching(message),
    })
  })
})

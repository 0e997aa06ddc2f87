import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packedProject } from '../support/packed.ts'
import { limitEach } from '../support/time-limit.ts'

// It packs the package first.
limitEach(240)

/* The package as it is published, in projects of the kinds that Node knows. */

let project: string

beforeAll(async () => {
  project = await packedProject()
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

function run(file: string, code: string): string {
  writeFileSync(join(project, file), code)
  return execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8' }).trim()
}

const body = `
  const catalog = await openCatalog('memory:')
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
  for await (const { x } of catalog.rows({ id: ['t'], filter: 'x > 1' })) console.log(x)
  const fake = await fakeCatalog()
  const client = connect('http://localhost', { fetch: await fetchHandler(fake, { auth: false }) })
  console.log((await client.listAllTables({})).tables.length)
`

test('a module imports every entry point', () => {
  const code = `
import { openCatalog } from 'tabularium'
import { connect } from 'tabularium/client'
import { fetchHandler } from 'tabularium/http'
import { fakeCatalog } from 'tabularium/testing'
${body}`
  expect(run('try.mjs', code)).toBe('2\n0')
})

test('a CommonJS file requires every entry point, and they are the same modules', () => {
  const code = `
const { openCatalog, CatalogError } = require('tabularium')
const { connect } = require('tabularium/client')
const { fetchHandler } = require('tabularium/http')
const { fakeCatalog } = require('tabularium/testing')
async function main() {
  ${body}
  const imported = await import('tabularium')
  console.log(imported.CatalogError === CatalogError)
}
main()`
  expect(run('try.cjs', code)).toBe('2\n0\ntrue')
})

test('what only some servers need is asked for when it is not installed', () => {
  const code = `
import { openCatalog } from 'tabularium'
import { fetchHandler } from 'tabularium/http'
const catalog = await openCatalog('memory:')
const metrics = await fetchHandler(catalog, { auth: false })
console.log((await (await metrics(new Request('http://localhost/metrics'))).json()).detail)
const jwt = { issuer: 'a', audience: 'b', algorithms: ['HS256'], keys: new Uint8Array(32) }
await fetchHandler(catalog, { auth: { jwt } }).catch((error) => console.log(error.message))
`
  expect(run('try.mjs', code)).toBe(
    [
      '/metrics needs the package prom-client, which cannot be loaded. Install it beside tabularium: npm install prom-client',
      'Checking JSON Web Tokens needs the package jose, which cannot be loaded. Install it beside tabularium: npm install jose',
    ].join('\n'),
  )
})

test('rows of Lance ask for its package, and name what it weighs, when it is not installed', () => {
  const code = `
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCatalog } from 'tabularium'
const catalog = await openCatalog('./catalog', { managedVersioning: true })
const { location } = await catalog.declareTable({ id: ['t'] })
const versions = fileURLToPath(location + '/_versions/')
mkdirSync(versions, { recursive: true })
writeFileSync(versions + '18446744073709551614.manifest', 'a manifest, and its end: LANC')
await catalog.countTableRows({ id: ['t'] }).catch((error) => console.log(error.code, error.message))
console.log((await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })).version)
await catalog.close()
`
  expect(run('try.mjs', code)).toBe(
    'Unsupported Reading or changing rows of Lance needs the package @lancedb/lancedb, which cannot be loaded. Install it beside tabularium: npm install @lancedb/lancedb (its binary takes 195 MB; docs/lance.md says how to leave out what else it brings).\n1',
  )
})

test('sources that pages name import nothing that the package lacks', () => {
  const packed = join(project, 'node_modules/tabularium')
  const { exports } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8')) as { exports: object }
  const sources = readdirSync(join(packed, 'test'), { recursive: true, encoding: 'utf8' })
  const files = sources.filter((name) => name.endsWith('.ts')).map((name) => join(packed, 'test', name))
  expect(files.length).toBeGreaterThan(4)
  for (const file of files) {
    for (const [, from] of readFileSync(file, 'utf8').matchAll(/ from '([^']+)'/g)) {
      if (from!.startsWith('.')) expect(existsSync(join(dirname(file), from!)), `${file}: ${from}`).toBe(true)
      if (/^tabularium\b/.test(from!)) expect(exports).toHaveProperty([from!.replace('tabularium', '.')])
    }
  }
})

test('the package has no source maps, since its code is not minified', () => {
  const dist = readdirSync(join(project, 'node_modules/tabularium/dist'), {
    recursive: true,
    encoding: 'utf8',
  })
  expect(dist).toContain('tabularium/index.js')
  expect(dist.filter((name) => name.endsWith('.map'))).toEqual([])
})

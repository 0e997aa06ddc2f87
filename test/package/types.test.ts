import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript-5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations } from '../../src/catalog/operations/index.ts'
import { install, packedProject } from '../support/packed.ts'
import { limitEach } from '../support/time-limit.ts'

// It packs the package, and runs compilers.
limitEach(240)

/*
 * The types of the package as it is published, in a project that checks them, too: without `skipLibCheck`.
 */

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
let project: string

beforeAll(async () => {
  project = await packedProject()
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

/** What a project may do with the package; each line that must not compile says so. */
const consumer = `
import { type CreateTableRequest, type Identifier, type ListTablesResponse, openCatalog, renameTable } from 'tabularium'
import { connect } from 'tabularium/client'
import { fetchHandler, catalogPlugin } from 'tabularium/http'
import { catalogSuite, fakeCatalog } from 'tabularium/testing'
import { openLmdbStore } from 'tabularium/backends/lmdb'
import { memoryStore } from 'tabularium/backends/memory'
import { openPostgresStore } from 'tabularium/backends/postgres'
import { fileContent } from 'tabularium/content/files'
import { memoryContent } from 'tabularium/content/memory'

const request: CreateTableRequest = { id: ['a'], data: [{ x: 1n }] }
const catalog = await openCatalog('memory:')
await catalog.createTable(request)
await catalog.createTable({ ...request, id: ['a'] as const })
// @ts-expect-error: a table has names
await catalog.createTable({ data: [] })
const id: Identifier = ['a']
await renameTable(catalog, { id, new_table_name: 'b' })
// @ts-expect-error: a table gets a new name
await renameTable(catalog, { id })

let page_token: string | undefined
do {
  const page: ListTablesResponse = await catalog.listTables({ id: [], page_token })
  page_token = page.page_token
} while (page_token !== undefined)

const fake = await fakeCatalog()
await using remote = connect('http://127.0.0.1:1', { fetch: await fetchHandler(fake, { auth: false }) })
await remote.transaction(async (tx) => tx.describeTable({ id: ['a'] }))
export const all = [catalogPlugin, catalogSuite, openLmdbStore, memoryStore, openPostgresStore, fileContent, memoryContent]
`

const withPeers = `
import Fastify from 'fastify'
import { openCatalog } from 'tabularium'
import { catalogPlugin } from 'tabularium/http'

const app = Fastify()
await app.register(catalogPlugin, { prefix: '/catalog', catalog: await openCatalog('memory:'), auth: false })
`

const inBrowser = `
import { connect } from 'tabularium/client'
export const tables = await connect('https://example.org').listTables({ id: [] })
`

/** What a compiler says of files by their names: the ending tells whether one is a module of CommonJS. */
async function compile(
  compiler: string,
  files: Record<string, string>,
  options: Record<string, unknown>,
): Promise<string> {
  const folder = join(project, 'try')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code)
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  return compiled(compiler, folder)
}

/** What a compiler says of the project in a folder. */
async function compiled(compiler: string, folder: string): Promise<string> {
  try {
    await promisify(execFile)(process.execPath, [join(modules, compiler, 'bin/tsc'), '-p', folder])
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

const nodenext = { module: 'nodenext' }
const node16 = { module: 'node16' }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }

// A file of CommonJS has no `await` outside of functions.
const [imports, rest] = consumer.split(/(?<=memory'\n)\n/) as [string, string]
const inCommonJs = `${imports}
import { CatalogError } from 'tabularium'
import { BrokenRule } from 'tabularium/testing'
export async function main() {
  ${rest.replace('export const all', 'const all')}
  const error: unknown = all
  return error instanceof CatalogError ? error.code : error instanceof BrokenRule ? error.message : undefined
}
export function codeOf(error: CatalogError): string {
  // @ts-expect-error: an error has a code and no kind
  error.kind
  return error.code
}`

const asModule = { 'module.mts': consumer }
// Both in one project: most of a compiler's work is checking the packages that both import.
const inBoth = { ...asModule, 'common.cts': inCommonJs }

test.each([
  ['typescript', 'nodenext', inBoth, nodenext],
  ['typescript', 'node16', inBoth, node16],
  ['typescript', 'bundler', asModule, bundler],
  ['typescript-5', 'nodenext', inBoth, nodenext],
  ['typescript-5', 'bundler', asModule, bundler],
])(
  '%s checks the types of every entry point with module resolution %s',
  { timeout: 900_000 },
  async (compiler, _name, files, options) => {
    expect(await compile(compiler, files, options)).toBe('')
  },
)

/** Packages that examples import, besides those of every project. */
const ofExamples = ['vitest', 'fastify', '@sinonjs/fake-timers', '@lancedb/lancedb', 'apache-arrow']

test('the examples of the pages pass strict', { timeout: 900_000 }, async () => {
  for (const name of ofExamples) install(project, name)
  const folder = join(project, 'pages')
  mkdirSync(folder)
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  let written = 0
  for (const page of pages.filter((name) => name.endsWith('.md'))) {
    const examples = readFileSync(join(root, page), 'utf8').matchAll(/^```ts(?: vitest)?\n(.*?)^```$/gms)
    for (const [, code] of examples)
      writeFileSync(join(folder, `${page.replace('/', '-')}-${++written}.mts`), code!)
  }
  expect(written).toBeGreaterThan(60)
  const compilerOptions = {
    target: 'es2023',
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...nodenext } }),
  )
  expect(await compiled('typescript', folder)).toBe('')
  for (const name of ofExamples) rmSync(join(project, 'node_modules', name))
})

test('declarations show nothing of the engine but types of Arrow data and Parquet files, and need few packages', () => {
  const root = join(project, 'node_modules/tabularium')
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { types?: { default: string } }>
  }
  const entries = Object.entries(exports).flatMap(([name, { types }]) =>
    types ? [[name, declarationsBelow(join(root, types.default))] as const] : [],
  )
  const files = new Set(entries.flatMap(([, found]) => found.files.map((file) => relative(root, file))))
  expect([...files].filter((file) => file.startsWith('dist/engine/')).sort()).toEqual([
    'dist/engine/arrow/types.d.ts',
    'dist/engine/parquet/index.d.ts',
    'dist/engine/parquet/read/read.d.ts',
    'dist/engine/parquet/read/source.d.ts',
    'dist/engine/parquet/write/write.d.ts',
  ])
  expect(Object.fromEntries(entries.map(([name, { packages }]) => [name, packages]))).toEqual({
    '.': ['valibot'],
    './http': ['valibot'],
    './client': ['valibot'],
    './iceberg': ['valibot'],
    './testing': ['valibot'],
    './backends/memory': [],
    './backends/lmdb': [],
    './backends/postgres': [],
    './content/memory': [],
    './content/files': [],
    './content/azure': ['@azure/storage-blob'],
    './content/gcs': ['@google-cloud/storage'],
    './content/s3': ['@aws-sdk/client-s3'],
    './parquet': [],
  })
})

/** The declarations that are reachable from one, and the packages that they import. */
function declarationsBelow(entry: string): { files: string[]; packages: string[] } {
  const files = new Set([entry])
  const packages = new Set<string>()
  for (const file of files) {
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
      if (fileName.startsWith('.')) files.add(join(dirname(file), fileName.replace(/\.[jt]s$/, '.d.ts')))
      else if (!fileName.startsWith('node:')) packages.add(fileName)
    }
  }
  return { files: [...files], packages: [...packages].sort() }
}

test('a wrong request is noticed', async () => {
  const wrong = consumer.replace('// @ts-expect-error: a table has names', '')
  expect(await compile('typescript', { 'module.mts': wrong }, { ...nodenext, skipLibCheck: true })).toContain(
    "'id'",
  )
})

test('a project without types of Node has those of the client', async () => {
  expect(
    await compile('typescript', { 'page.mts': inBrowser }, { ...bundler, lib: ['es2022', 'dom'], types: [] }),
  ).toBe('')
})

test('the types of Node are found where no setting names them', async () => {
  expect(await compile('typescript', asModule, { ...nodenext, types: [] })).toBe('')
})

test('the plugin fits an application of Fastify', async () => {
  install(project, 'fastify')
  // The types of Fastify are checked by their own project.
  expect(await compile('typescript', { 'server.mts': withPeers }, { ...nodenext, skipLibCheck: true })).toBe(
    '',
  )
  rmSync(join(project, 'node_modules/fastify'))
})

test('editors show documentation for the methods of every handle', () => {
  const handles = { LocalCatalog: 'tabularium', Transaction: 'tabularium', MemoryCatalog: 'tabularium' }
  const others = { ServedCatalog: 'tabularium/client', FakeCatalog: 'tabularium/testing' }
  const all = Object.entries({ ...handles, ...others })
  const names = Object.keys(operations)
  const text = all
    .map(([type, from]) => {
      const uses = names.map((name) => `the${type}.${name}\n`).join('')
      return `import type { ${type} } from '${from}'\ndeclare const the${type}: ${type}\n${uses}`
    })
    .join('')
  const file = join(project, 'try/hover.ts')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(join(project, 'try/package.json'), '{ "type": "module" }')
  writeFileSync(file, text)
  const service = ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) =>
      ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, 'utf8')) : undefined,
    getCurrentDirectory: () => project,
    getCompilationSettings: () => ({ module: ts.ModuleKind.NodeNext, strict: true }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    realpath: ts.sys.realpath!,
  })
  const empty = all.flatMap(([type]) =>
    names.filter((name) => {
      const use = `the${type}.${name}`
      const info = service.getQuickInfoAtPosition(file, text.indexOf(`${use}\n`) + use.length - 1)
      return ts.displayPartsToString(info?.documentation) === ''
    }),
  )
  expect(empty).toEqual([])
})

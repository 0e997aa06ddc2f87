import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import * as surface from '../src/index.ts'
import { operations } from '../src/operations/index.ts'
import * as missing from '../src/operations/unsupported.ts'

/*
 * Data flows one way: request → operation → store transaction → response. What follows is the house in the
 * order of its floors, and what each part of it may know.
 */

interface Layer {
  /** Paths below src/ that belong to it. The first layer that matches a file is the file's. */
  readonly files: RegExp
  /** Layers it may import from, besides itself. */
  readonly uses?: readonly string[]
  /** Layers it may import types of, or load when first needed. */
  readonly knows?: readonly string[]
  readonly packages?: readonly string[]
  /** Packages it may import types of. */
  readonly packageTypes?: readonly string[]
}

const layers: Readonly<Record<string, Layer>> = {
  errors: { files: /^errors\.ts$/ },
  version: { files: /^version\.ts$/ },
  model: { files: /^model\//, uses: ['errors'], packages: ['valibot', 'ulid'] },
  // When work is done: queues, reading ahead, making room for others. It knows nothing of what the work is.
  scheduling: { files: /^scheduling\// },
  // What a store and a content in memory share: one ordered map, and one state that holds both.
  memoryState: { files: /^memory\//, knows: ['store'], packages: ['immer'] },
  memory: { files: /^store\/memory\//, uses: ['memoryState', 'store', 'errors'] },
  lmdb: { files: /^store\/lmdb\//, uses: ['store', 'errors'], packages: ['lmdb'] },
  store: { files: /^store\//, uses: ['model', 'errors'] },
  memoryContent: { files: /^content\/memory\//, uses: ['memoryState', 'content', 'errors'] },
  content: { files: /^content\//, uses: ['errors'] },
  arrow: {
    files: /^arrow\//,
    uses: ['scheduling', 'errors'],
    packages: ['@uwdata/flechette', 'fzstd', 'lz4js'],
  },
  predicate: { files: /^predicate\//, uses: ['arrow', 'errors'], packages: ['@uwdata/flechette', 're2js'] },
  // The other end of a worker thread: nobody imports it.
  scanWorker: {
    files: /^table\/scan\/worker\.ts$/,
    uses: ['table', 'predicate', 'content', 'scheduling', 'errors'],
  },
  table: {
    files: /^table\//,
    uses: ['arrow', 'scheduling', 'model', 'errors'],
    knows: ['predicate', 'content'],
    packages: ['@uwdata/flechette'],
  },
  // Types of what an open catalog consists of, for all who work on one.
  core: {
    files: /^catalog\/core\.ts$/,
    knows: ['framework', 'rows', 'locations', 'table', 'scheduling', 'content', 'store', 'model'],
  },
  lookup: { files: /^lookup\//, uses: ['store', 'model', 'errors'] },
  transactions: {
    files: /^transactions\//,
    uses: ['lookup', 'store', 'model', 'errors'],
    knows: ['core', 'framework', 'table'],
  },
  locations: {
    files: /^locations\//,
    uses: ['transactions', 'lookup', 'store', 'model', 'errors'],
    knows: ['core', 'table', 'content'],
    packages: ['valibot'],
  },
  listing: {
    files: /^listing\//,
    uses: ['locations', 'lookup', 'store', 'model', 'errors'],
    knows: ['core'],
    packages: ['valibot'],
  },
  rows: {
    files: /^rows\//,
    uses: ['transactions', 'locations', 'lookup', 'scheduling', 'store', 'model', 'errors'],
    knows: ['core', 'framework', 'table'],
    packages: ['valibot'],
    packageTypes: ['@uwdata/flechette'],
  },
  // What makes an operation of its definition, and runs it. It knows none of them.
  framework: {
    files: /^operations\/framework\//,
    uses: ['locations', 'transactions', 'store', 'model', 'errors'],
    knows: ['core'],
    packages: ['valibot'],
  },
  operations: {
    files: /^operations\//,
    uses: ['framework', 'rows', 'listing', 'locations', 'transactions', 'lookup', 'store', 'model', 'errors'],
    knows: ['core', 'table'],
    packages: ['valibot'],
  },
  // The part of maintenance that is there as soon as a catalog is open; the rest is loaded when needed.
  vacuum: {
    files: /^maintenance\/vacuum\.ts$/,
    uses: ['rows', 'locations', 'transactions', 'lookup', 'store', 'errors'],
    knows: ['core', 'table', 'content'],
  },
  // What keeps a catalog sound: beside the operations, and like them in what it may know.
  maintenance: {
    files: /^maintenance\//,
    uses: ['operations', 'rows', 'locations', 'transactions', 'lookup', 'store', 'model', 'errors'],
    knows: ['core', 'framework', 'table', 'content', 'lmdb'],
    packages: ['valibot'],
  },
  handle: { files: /^catalog\/handle\.ts$/, uses: ['operations', 'framework', 'errors'] },
  openCore: {
    files: /^catalog\/open-core\.ts$/,
    uses: ['rows', 'transactions', 'scheduling', 'store', 'model', 'errors'],
    knows: ['core', 'framework', 'locations', 'table', 'content'],
  },
  // A catalog in memory: its store and its content, over one state.
  catalogMemory: {
    files: /^catalog\/memory\.ts$/,
    uses: ['memory', 'memoryContent', 'memoryState'],
    knows: ['locations', 'store'],
  },
  open: {
    files: /^catalog\/open\.ts$/,
    uses: ['openCore', 'handle', 'vacuum', 'framework', 'locations', 'store', 'model', 'errors'],
    knows: ['core', 'catalogMemory', 'memory', 'memoryState', 'lmdb', 'content', 'client', 'maintenance'],
  },
  closedDirectory: {
    files: /^catalog\/closed-directory\.ts$/,
    uses: ['open', 'handle', 'errors'],
    knows: ['lmdb', 'maintenance'],
  },
  index: {
    files: /^index\.ts$/,
    uses: ['open', 'closedDirectory', 'handle', 'openCore', 'operations', 'store', 'model', 'errors'],
    knows: ['core', 'framework', 'rows', 'content', 'vacuum', 'maintenance'],
  },
  // What server and client have in common.
  protocol: { files: /^http\/protocol\//, uses: ['operations', 'model', 'errors'], knows: ['framework'] },
  // The one part of the server that knows Fastify, which only those need who mount a catalog in it.
  httpPlugin: {
    files: /^http\/plugin\.ts$/,
    uses: ['http', 'errors'],
    packageTypes: ['fastify'],
  },
  http: {
    files: /^http\//,
    uses: ['protocol', 'httpPlugin', 'handle', 'operations', 'framework', 'model', 'errors', 'version'],
    packages: ['@valibot/to-json-schema', 'jose', 'prom-client', 'valibot'],
  },
  client: {
    files: /^client(\.ts|\/)/,
    uses: ['protocol', 'handle', 'operations', 'framework', 'listing', 'model', 'errors'],
    knows: ['table', 'arrow'],
  },
  // Users like any other: they know the public surface only.
  cli: {
    files: /^cli(\.ts|\/)/,
    uses: ['index', 'version'],
    knows: ['http', 'client', 'testing', 'lmdb', 'memory'],
    packages: ['@uwdata/flechette', 'commander'],
  },
  // Judges what others made of the contracts; it imports no test runner and no library of assertions.
  suites: {
    files: /^testing\/suites\//,
    uses: ['protocol', 'handle', 'operations', 'store', 'model', 'errors'],
    knows: ['client', 'content'],
    packages: ['@uwdata/flechette'],
  },
  // For tests: it may know all there is to know of a catalog, and no test runner.
  testing: {
    files: /^testing\//,
    uses: [
      'suites',
      'open',
      'openCore',
      'handle',
      'operations',
      'framework',
      'catalogMemory',
      'store',
      'model',
      'errors',
    ],
    knows: ['core', 'memory', 'http', 'client', 'table'],
    packages: ['valibot'],
  },
  tour: { files: /^tour(\.ts|\/)/, uses: ['index'], packages: ['@uwdata/flechette', 'vega-datasets'] },
}

interface Import {
  readonly file: string
  readonly line: number
  readonly from: string
  /** `type` leaves nothing behind when it runs; `later` is loaded when the code gets there. */
  readonly kind: 'now' | 'later' | 'type'
}

const statement = /^[ \t]*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s*)?'([^']+)'/gm
const expression = /(typeof\s+)?\bimport\(\s*'([^']+)'\s*\)/g

function importsOf(file: string, source: string): Import[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
  const found = (match: RegExpMatchArray, kind: Import['kind']): Import => ({
    file,
    line: code.slice(0, match.index).split('\n').length,
    from: match[2]!,
    kind,
  })
  return [
    ...Array.from(code.matchAll(statement), (match) => found(match, match[1] ? 'type' : 'now')),
    ...Array.from(code.matchAll(expression), (match) => found(match, match[1] ? 'type' : 'later')),
  ]
}

function layerOf(file: string): string | undefined {
  return Object.keys(layers).find((name) => layers[name]!.files.test(file))
}

/** The file below src/ that a relative import means. */
function target({ file, from }: Import): string {
  return relative('/', resolve('/', dirname(file), from))
}

function violation(found: Import): string | undefined {
  const { file, line, from, kind } = found
  const name = layerOf(file)
  const where = `src/${file}:${line} imports '${from}'`
  if (name === undefined) return `src/${file} belongs to no layer of test/layers.test.ts`
  const { uses = [], knows = [], packages = [], packageTypes = [] } = layers[name]!
  if (from.startsWith('node:')) return undefined
  if (!from.startsWith('.')) {
    const allowed = packages.includes(from) || (kind === 'type' && packageTypes.includes(from))
    return allowed ? undefined : `${where}, a package that ${name} does not know`
  }
  const other = layerOf(target(found))
  if (other === undefined) return `${where}, which belongs to no layer`
  if (other === name || uses.includes(other)) return undefined
  if (knows.includes(other)) {
    return kind === 'now'
      ? `${where}: ${name} may import types of ${other} only, or load it when needed`
      : undefined
  }
  return `${where}: ${name} may not know ${other}`
}

const root = fileURLToPath(new URL('../src', import.meta.url))

const sources: ReadonlyMap<string, string> = new Map(
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(root, file), 'utf8')]),
)

describe('layers', () => {
  it('every file imports only what its layer may know', () => {
    const imports = Array.from(sources, ([file, source]) => importsOf(file, source)).flat()
    expect(imports.length).toBeGreaterThan(200)
    expect(imports.map(violation).filter((found) => found !== undefined)).toEqual([])
  })

  it('every file belongs to a layer, and every import leads to a file that is there', () => {
    expect([...sources.keys()].filter((file) => layerOf(file) === undefined)).toEqual([])
    for (const [file, source] of sources) {
      for (const found of importsOf(file, source)) {
        if (found.from.startsWith('.')) expect([...sources.keys()]).toContain(target(found))
      }
    }
  })

  it.each([
    ['errors.ts', "import { x } from './model/ids.ts'", 'errors may not know model'],
    ['model/a.ts', "import { x } from '../store/key.ts'", 'model may not know store'],
    ['table/a.ts', "\nimport type { Store } from '../store/store.ts'", 'src/table/a.ts:2'],
    ['table/a.ts', "import { fileContent } from '../content/files/index.ts'", 'types of content only'],
    ['table/a.ts', "import { memoryContent } from '../content/memory/index.ts'", 'table may not know memory'],
    [
      'predicate/plan/a.ts',
      "import type { Snapshot } from '../../table/index.ts'",
      'predicate may not know table',
    ],
    ['table/read/a.ts', "export * from '../../operations/index.ts'", 'table may not know operations'],
    ['lookup/a.ts', "import { commit } from '../transactions/commit.ts'", 'lookup may not know transactions'],
    ['rows/a.ts', "import { changeRows } from '../catalog/core.ts'", 'types of core only'],
    [
      'operations/framework/a.ts',
      "import { operations } from '../index.ts'",
      'framework may not know operations',
    ],
    ['operations/a.ts', "import {\n  tableFromIPC,\n} from '@uwdata/flechette'", 'a package that operations'],
    ['operations/a.ts', "import { type Table } from '@uwdata/flechette'", 'a package that operations'],
    ['operations/a.ts', "import { tableEngine } from '../table/index.ts'", 'types of table only'],
    [
      'operations/a.ts',
      "import { openLmdbStore } from '../store/lmdb/index.ts'",
      'operations may not know lmdb',
    ],
    ['store/memory/index.ts', "import { open } from 'lmdb'", 'a package that memory'],
    ['store/lmdb/index.ts', "const immer = await import('immer')", 'a package that lmdb'],
    ['store/lmdb/a.ts', "import { memoryStore } from '../memory/index.ts'", 'lmdb may not know memory'],
    ['store/a.ts', "import 'lmdb'", 'a package that store'],
    ['content/a.ts', "import type { Key } from '../store/store.ts'", 'content may not know store'],
    ['client/a.ts', "import { serve } from '../http/serve.ts'", 'client may not know http'],
    [
      'http/protocol/wire.ts',
      "import { post } from '../../operations/framework/route.ts'",
      'types of framework only',
    ],
    [
      'operations/a.ts',
      "import type { Problem } from '../http/core/problem.ts'",
      'operations may not know http',
    ],
    [
      'cli/a.ts',
      "import { runOperation } from '../operations/framework/run.ts'",
      'cli may not know framework',
    ],
    ['testing/suites/a.ts', "import { test } from 'vitest'", 'a package that suites does not know'],
    ['testing/suites/a.ts', "import fc from 'fast-check'", 'a package that suites does not know'],
    ['testing/suites/a.ts', "import { connect } from '../../client.ts'", 'types of client only'],
    ['elsewhere/a.ts', "import { x } from '../errors.ts'", 'belongs to no layer'],
  ])('a file that does is named with its line: %s with %j', (file, source, message) => {
    expect(importsOf(file, source).map(violation)).toEqual([expect.stringContaining(message)])
  })

  it.each([
    ['rows/a.ts', "import type { Table } from '@uwdata/flechette'"],
    ['operations/a.ts', "type T = typeof import('../table/index.ts')"],
    ['operations/a.ts', "const { toArrowTable } = await import('../table/index.ts')"],
    ['table/a.ts', "import type { Content } from '../content/content.ts'"],
    [
      'model/a.ts',
      "/**\n * import { x } from '../store/key.ts'\n */\nimport { invalid } from '../errors.ts'",
    ],
  ])('a file that does not is left in peace: %s with %j', (file, source) => {
    expect(importsOf(file, source).map(violation)).toEqual([undefined])
  })

  it('importing the package runs neither LMDB nor a data engine nor a store that is not asked for', () => {
    const reached = new Map<string, string>([['index.ts', 'index.ts']])
    const packages = new Map<string, string>()
    for (const [file, path] of reached) {
      for (const found of importsOf(file, sources.get(file)!)) {
        if (found.kind !== 'now' || found.from.startsWith('node:')) continue
        const next = `${path} → ${found.from}`
        if (!found.from.startsWith('.')) packages.set(found.from, next)
        else if (!reached.has(target(found))) reached.set(target(found), next)
      }
    }
    expect(reached.size).toBeGreaterThan(40)
    const paths = [...reached]
      .filter(([file]) => /^(arrow|predicate|table|content|store\/(memory|lmdb))\//.test(file))
      .map(([, path]) => path)
    expect(paths).toEqual([])
    expect([...packages.keys()].sort()).toEqual(['ulid', 'valibot'])
  })
})

describe('operations', () => {
  const files = readdirSync(join(root, 'operations')).filter((name) => name.endsWith('.ts'))
  const named = files
    .filter((name) => name !== 'index.ts' && name !== 'unsupported.ts')
    .map((name) => name.slice(0, -3).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()))

  it('each has a file of its name, or is one of those that are not supported; no file is left over', () => {
    expect([...named, ...Object.keys(missing)].sort()).toEqual(Object.keys(operations).sort())
  })

  it.each(named)('%s is what its file exports, under its own name', async (name) => {
    const file = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const module = (await import(`../src/operations/${file}.ts`)) as Record<string, unknown>
    const operation = operations[name as keyof typeof operations]
    expect(module[name]).toBe(operation)
    expect(operation.definition.name).toBe(name)
    expect(operation.definition.summary).toMatch(/^[A-Z].*\.$/)
  })

  it.each(named)('%s can be imported from the package', (name) => {
    expect((surface as Record<string, unknown>)[name]).toBe(operations[name as keyof typeof operations])
  })

  it.each(Object.entries(missing))('%s, which is not supported, says so of itself', (name, operation) => {
    expect(operation.definition).toMatchObject({ name, errors: ['Unsupported'], changes: false })
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import * as surface from '../src/index.ts'
import { operations } from '../src/operations/index.ts'
import * as missing from '../src/operations/unsupported.ts'

/*
 * Data flows one way: request → operation → store transaction → response. The rooms of the source, and what each
 * may know, are a table in docs/architecture.md. The tests below read it there, so the page cannot go wrong.
 */

interface Room {
  /** Paths below src/: of files, and of folders, which end in a slash. The longest path that fits a file wins. */
  readonly paths: readonly string[]
  /** Rooms it may import from, besides itself. */
  readonly uses: readonly string[]
  /** Rooms it may import types of, or load when first needed. */
  readonly knows: readonly string[]
  readonly packages: readonly string[]
  /** Packages it may import types of. */
  readonly packageTypes: readonly string[]
}

const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8')
const rooms = readRooms(page)

function readRooms(text: string): ReadonlyMap<string, Room> {
  const table = /<!-- rooms -->\n(.*?)\n<!-- \/rooms -->/s.exec(text)![1]!
  // The first two lines are the heading and the line below it.
  return new Map(table.split('\n').slice(2).map(readRow))
}

function readRow(row: string): [name: string, room: Room] {
  const cells = row.split('|').slice(1, -1)
  const [name, paths, uses, knows, packages] = cells.map((cell) =>
    cell
      .replaceAll('`', '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  ) as [[string], string[], string[], string[], string[]]
  const typesOnly = / \(types\)$/
  return [
    name[0],
    {
      paths,
      uses,
      knows,
      packages: packages.filter((item) => !typesOnly.test(item)),
      packageTypes: packages
        .filter((item) => typesOnly.test(item))
        .map((item) => item.replace(typesOnly, '')),
    },
  ]
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

function roomOf(file: string): string | undefined {
  let found: string | undefined
  let longest = 0
  for (const [name, { paths }] of rooms) {
    for (const path of paths) {
      const fits = path.endsWith('/') ? file.startsWith(path) : file === path
      if (!fits || path.length <= longest) continue
      found = name
      longest = path.length
    }
  }
  return found
}

/** The file below src/ that a relative import means. */
function target({ file, from }: Import): string {
  return relative('/', resolve('/', dirname(file), from))
}

function violation(found: Import): string | undefined {
  const { file, line, from, kind } = found
  const name = roomOf(file)
  const where = `src/${file}:${line} imports '${from}'`
  if (name === undefined) return `src/${file} belongs to no room of docs/architecture.md`
  const { uses, knows, packages, packageTypes } = rooms.get(name)!
  if (from.startsWith('node:')) return undefined
  if (!from.startsWith('.')) {
    const allowed = packages.includes(from) || (kind === 'type' && packageTypes.includes(from))
    return allowed ? undefined : `${where}, a package that ${name} does not know`
  }
  const other = roomOf(target(found))
  if (other === undefined) return `${where}, which belongs to no room`
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
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(root, file), 'utf8')]),
)

const allImports = Array.from(sources, ([file, source]) => importsOf(file, source)).flat()

describe('rooms', () => {
  it('every file imports only what its room may know', () => {
    expect(allImports.length).toBeGreaterThan(200)
    expect(allImports.map(violation).filter((found) => found !== undefined)).toEqual([])
  })

  it('every room holds a file at each of its paths, and names rooms that are in the table', () => {
    for (const [name, { paths, uses, knows }] of rooms) {
      for (const path of paths) {
        expect([...sources.keys()].some((file) => file.startsWith(path) && roomOf(file) === name)).toBe(true)
      }
      for (const other of [...uses, ...knows]) expect([...rooms.keys()]).toContain(other)
    }
  })

  it('every permission in the table is one that a file needs', () => {
    const needed = new Set(
      allImports.map((found) => {
        const to = found.from.startsWith('.') ? roomOf(target(found)) : found.from
        return `${roomOf(found.file)} → ${to}`
      }),
    )
    const given = [...rooms].flatMap(([name, { uses, knows, packages, packageTypes }]) =>
      [...uses, ...knows, ...packages, ...packageTypes].map((other) => `${name} → ${other}`),
    )
    expect(given.filter((permission) => !needed.has(permission))).toEqual([])
  })

  it('rooms that import each other at once form an order without a circle', () => {
    const ordered = new Set<string>()
    for (let before = -1; before < ordered.size; ) {
      before = ordered.size
      for (const [name, { uses }] of rooms) if (uses.every((other) => ordered.has(other))) ordered.add(name)
    }
    expect([...rooms.keys()].filter((name) => !ordered.has(name))).toEqual([])
  })

  it('every file belongs to a room, and every import leads to a file that is there', () => {
    expect([...sources.keys()].filter((file) => roomOf(file) === undefined)).toEqual([])
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
    [
      'table/a.ts',
      "import { memoryContent } from '../content/memory/index.ts'",
      'table may not know memory content',
    ],
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
    ['elsewhere/a.ts', "import { x } from '../errors.ts'", 'belongs to no room'],
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

describe('generated code', () => {
  // docs/decisions/generated-code.md: whoever looks at what becomes code has one place to begin at.
  it('one function turns text into code', () => {
    const makers = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .flatMap((name) => {
        const code = readFileSync(join(root, name), 'utf8').replace(/^\s*(?:\*|\/[/*]).*$/gm, '')
        return (code.match(/\bnew Function\b|\beval\(/g) ?? []).map(() => name)
      })
    expect(makers).toEqual(['predicate/fast/generate.ts'])
  })
})

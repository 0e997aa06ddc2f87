import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { operations } from '../src/catalog/operations/index.ts'
import * as missing from '../src/catalog/operations/unsupported.ts'
import * as surface from '../src/tabularium/index.ts'

/*
 * Data flows one way: request → operation → store transaction → response. The rooms of the source, and what each
 * may import, are a table in docs/architecture.md. The tests below read it there, so the page cannot go wrong.
 */

/** A folder below src/. */
interface Room {
  readonly about: string
  /** Rooms it may import from, besides itself. */
  readonly imports: readonly string[]
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
  const [name, about, imports, packages] = row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim()) as [string, string, string, string]
  const names = namesIn(packages)
  const typesOnly = / \(types\)$/
  return [
    name,
    {
      about,
      imports: namesIn(imports),
      packages: names.filter((item) => !typesOnly.test(item)),
      packageTypes: names.filter((item) => typesOnly.test(item)).map((item) => item.replace(typesOnly, '')),
    },
  ]
}

function namesIn(list: string): string[] {
  return list
    .replaceAll('`', '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
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
  const [folder] = file.split('/')
  return rooms.has(folder!) ? folder : undefined
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
  const { imports, packages, packageTypes } = rooms.get(name)!
  if (from.startsWith('node:')) return undefined
  if (!from.startsWith('.')) {
    const allowed = packages.includes(from) || (kind === 'type' && packageTypes.includes(from))
    return allowed ? undefined : `${where}, a package that ${name} may not import`
  }
  const other = roomOf(target(found))
  if (other === undefined) return `${where}, which belongs to no room`
  return other === name || imports.includes(other) ? undefined : `${where}: ${name} may not import ${other}`
}

const root = fileURLToPath(new URL('../src', import.meta.url))

const sources: ReadonlyMap<string, string> = new Map(
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(root, file), 'utf8')]),
)

const allImports = Array.from(sources, ([file, source]) => importsOf(file, source)).flat()

/**
 * The files below src/ and the packages that are loaded with one, in the form in which they are published: an index is
 * bundled with only those of its files that are used.
 */
async function loadedWith(entry: string) {
  const outdir = '/out'
  const { metafile } = await build({
    entryPoints: [join(root, entry)],
    outdir,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    treeShaking: true,
    write: false,
    metafile: true,
  })
  const files = new Set<string>()
  const packages = new Set<string>()
  const chunks = new Set(
    Object.keys(metafile.outputs).filter((path) => metafile.outputs[path]!.entryPoint === entry),
  )
  for (const chunk of chunks) {
    const { inputs, imports } = metafile.outputs[chunk]!
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) if (bytesInOutput > 0) files.add(file)
    for (const { path, kind, external } of imports) {
      if (kind !== 'import-statement') continue
      if (!external) chunks.add(path)
      else if (!path.startsWith('node:')) packages.add(path)
    }
  }
  return { files: [...files], packages: [...packages] }
}

describe('rooms', () => {
  it('every file imports only what its room may import', () => {
    expect(allImports.length).toBeGreaterThan(200)
    expect(allImports.map(violation).filter((found) => found !== undefined)).toEqual([])
  })

  it('every permission in the table is one that a file needs', () => {
    const needed = new Set(
      allImports.map((found) => {
        const to = found.from.startsWith('.') ? roomOf(target(found)) : found.from
        return `${roomOf(found.file)} → ${to}`
      }),
    )
    const given = [...rooms].flatMap(([name, { imports, packages, packageTypes }]) =>
      [...imports, ...packages, ...packageTypes].map((other) => `${name} → ${other}`),
    )
    expect(given.filter((permission) => !needed.has(permission))).toEqual([])
  })

  it('a room imports rooms above it in the table', () => {
    const above = new Set<string>()
    for (const [name, { imports }] of rooms) {
      expect([name, imports.filter((other) => !above.has(other))]).toEqual([name, []])
      above.add(name)
    }
  })

  it('they are few', () => {
    expect(rooms.size).toBeLessThanOrEqual(14)
  })

  it.each([...rooms])('%s says in its README what it is, and what it may import', (name, { imports }) => {
    const text = readFileSync(join(root, name, 'README.md'), 'utf8')
    expect(text).toMatch(new RegExp(`^# ${name}\n`))
    expect(text).toContain(`\nIt may import: ${imports.join(', ') || 'none'}.\n`)
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
    const folder = join(root, name)
    const paths = Array.from(text.matchAll(/`([\w./-]*(?:\/|\.tsx?))`/g), ([, path]) => path!)
    const isThere = (path: string) =>
      [root, folder, ...paths.map((other) => join(folder, other))].some((at) => existsSync(join(at, path)))
    expect(paths.filter((path) => !isThere(path))).toEqual([])
  })

  it.each([...rooms.keys()])('%s is known to others by the files that its README lists', (name) => {
    const text = readFileSync(join(root, name, 'README.md'), 'utf8')
    const [, list] = /^Others may import: (.*)\.$/m.exec(text)!
    // A dynamic import names the file itself, since an index would load everything with it.
    const fromOthers = allImports.filter(
      (found) =>
        found.kind !== 'later' &&
        found.from.startsWith('.') &&
        roomOf(target(found)) === name &&
        roomOf(found.file) !== name,
    )
    if (list === 'every file') return expect(fromOthers.length).toBeGreaterThan(0)
    const listed = list === 'none' ? [] : namesIn(list!).map((file) => `${name}/${file}`)
    const elsewhere = fromOthers.filter((found) => !listed.includes(target(found)))
    expect(elsewhere.map(({ file, line, from }) => `src/${file}:${line} imports '${from}'`)).toEqual([])
    expect(listed.filter((file) => !fromOthers.some((found) => target(found) === file))).toEqual([])
  })

  it('what a folder of the catalog imports, types too, lies in those before it', () => {
    const text = readFileSync(join(root, 'catalog/README.md'), 'utf8')
    const order = Array.from(text.matchAll(/^\d+\. `([^`]+)`/gm), ([, folder]) => `catalog/${folder}`)
    const placeOf = (file: string) => {
      const fitting = order.filter((folder) => file.startsWith(folder))
      return order.indexOf(fitting.sort((a, b) => b.length - a.length)[0]!)
    }
    const inside = allImports.filter(
      ({ file, from }) =>
        file.startsWith('catalog/') && !/^catalog\/(?:index|local)\.ts$/.test(file) && from.startsWith('.'),
    )
    expect(inside.filter(({ file }) => placeOf(file) === -1)).toEqual([])
    expect(inside.filter((found) => placeOf(found.file) < placeOf(target(found)))).toEqual([])
  })

  /** Files that need each other: what they read or make is nested, or one is the class behind a public function. */
  const recursive = [
    ['engine/arrow/take/dictionary.ts', 'engine/arrow/take/take.ts'],
    ['engine/arrow/take/special.ts', 'engine/arrow/take/take.ts'],
    ['engine/predicate/evaluate/case.ts', 'engine/predicate/evaluate/build.ts'],
    ['engine/predicate/plan/fold.ts', 'engine/predicate/evaluate/fold.ts'],
    ['engine/predicate/syntax/kept-syntax.ts', 'engine/predicate/syntax/parser.ts'],
    ['engine/predicate/syntax/prefix.ts', 'engine/predicate/syntax/parser.ts'],
    ['stores/memory/store.ts', 'stores/memory/index.ts'],
    ['contents/memory/content.ts', 'contents/memory/index.ts'],
  ] as const

  it('no files import each other in a circle, not for types either', () => {
    const left = new Map<string, Set<string>>()
    for (const [file, source] of sources) {
      const own = importsOf(file, source).filter(({ from }) => from.startsWith('.'))
      left.set(file, new Set(own.map(target)))
    }
    expect(left.size).toBeGreaterThan(500)
    const unneeded = recursive.filter(([file, other]) => !left.get(file)?.delete(other))
    expect(unneeded).toEqual([])
    // Takes away what imports nothing that is left. Only circles, and what leads to them, stay.
    const isFree = (imports: ReadonlySet<string>) => ![...imports].some((file) => left.has(file))
    let before: number
    do {
      before = left.size
      for (const [file, imports] of left) if (isFree(imports)) left.delete(file)
    } while (left.size < before)
    expect([...left.keys()]).toEqual([])
  })

  it('only the folder that puts an open catalog together knows all of its parts', () => {
    const knowing = allImports.filter((found) => target(found) === 'catalog/handle/core.ts')
    const folders = new Set(knowing.map(({ file }) => dirname(file)))
    expect([...folders].filter((folder) => folder.startsWith('catalog/'))).toEqual(['catalog/handle'])
  })

  it('every file belongs to a room, and every import leads to a file that is there', () => {
    expect([...sources.keys()].filter((file) => roomOf(file) === undefined)).toEqual([])
    const broken = allImports.filter((found) => found.from.startsWith('.') && !sources.has(target(found)))
    const missing = broken.map(({ file, line, from }) => `src/${file}:${line} imports '${from}'`)
    expect(missing, 'npm run derive writes the generated file').toEqual([])
  })

  it.each([
    ['base/errors.ts', "import { x } from '../stores/lmdb/index.ts'", 'base may not import stores'],
    [
      'base/model/a.ts',
      "\nimport type { Table } from '../../engine/table/index.ts'",
      'src/base/model/a.ts:2',
    ],
    ['contents/a.ts', "import type { x } from '../stores/memory/index.ts'", 'contents may not import stores'],
    [
      'engine/table/read/a.ts',
      "export * from '../../../catalog/operations/index.ts'",
      'engine may not import catalog',
    ],
    [
      'catalog/operations/a.ts',
      "import type { Problem } from '../../server/core/problem.ts'",
      'catalog may not import server',
    ],
    [
      'catalog/operations/a.ts',
      "const { connect } = await import('../../client/index.ts')",
      'catalog may not import client',
    ],
    [
      'catalog/operations/a.ts',
      "import {\n  tableFromIPC,\n} from '@uwdata/flechette'",
      'a package that catalog',
    ],
    ['catalog/operations/a.ts', "import { type Table } from '@uwdata/flechette'", 'a package that catalog'],
    ['client/a.ts', "import { serve } from '../server/serve.ts'", 'client may not import server'],
    ['base/memory/a.ts', "import { open } from 'lmdb'", 'a package that base'],
    ['stores/lmdb/index.ts', "const immer = await import('immer')", 'a package that stores'],
    ['testing/suites/a.ts', "import { test } from 'vitest'", 'a package that testing may not import'],
    ['testing/suites/a.ts', "import fc from 'fast-check'", 'a package that testing may not import'],
    ['elsewhere/a.ts', "import { x } from '../base/errors.ts'", 'belongs to no room'],
  ])('a file that does is named with its line: %s with %j', (file, source, message) => {
    expect(importsOf(file, source).map(violation)).toEqual([expect.stringContaining(message)])
  })

  it.each([
    ['catalog/rows/a.ts', "import type { Table } from '@uwdata/flechette'"],
    ['catalog/operations/a.ts', "type T = typeof import('../../engine/table/index.ts')"],
    ['engine/table/a.ts', "import type { Content } from '../../base/content/content.ts'"],
    [
      'base/model/a.ts',
      "/**\n * import { x } from '../../stores/lmdb/index.ts'\n */\nimport { invalid } from '../errors.ts'",
    ],
  ])('a file that does not is left in peace: %s with %j', (file, source) => {
    expect(importsOf(file, source).map(violation)).toEqual([undefined])
  })

  it.each([
    ['tabularium/index.ts', /^(stores|contents|engine|client|server|testing|cli)\//],
    ['client/index.ts', /^(stores|contents|engine|server|testing|tabularium|cli)\//],
    ['server/index.ts', /^(stores|contents|engine|client|testing|tabularium|cli)\//],
    ['testing/index.ts', /^(stores\/(lmdb|postgres)|contents\/(?!memory)|engine|client|server|cli)\//],
    ['cli/main.ts', /^(stores|contents|engine|client|server|testing)\//],
  ])('importing %s loads nothing that not everybody needs', async (entry, left) => {
    const { files } = await loadedWith(entry)
    expect(files.length).toBeGreaterThan(40)
    expect(files.filter((file) => left.test(file))).toEqual([])
  })

  it('importing the package loads no package that is not in its build', async () => {
    expect((await loadedWith('tabularium/index.ts')).packages.sort()).toEqual(['ulid', 'valibot'])
  })

  it('importing an entry point writes no number in the way of a language, which takes 10 ms', () => {
    const entries = ['tabularium', 'client', 'server', 'testing', 'cli/main']
    const files = entries.map((entry) =>
      join(root, existsSync(join(root, entry)) ? `${entry}/index.ts` : `${entry}.ts`),
    )
    const code = `
Number.prototype.toLocaleString = () => { throw new Error('a number was written') }
for (const file of ${JSON.stringify(files)}) await import(file)`
    execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
      stdio: 'pipe',
    })
  })

  it('the command says its version, and what a shell needs to complete it, before it loads anything else', async () => {
    const { files, packages } = await loadedWith('cli/index.ts')
    expect(files.sort()).toEqual(['base/version.ts', 'cli/completion/scripts.ts', 'cli/index.ts'])
    expect(packages).toEqual([])
  })
})

describe('the top level', () => {
  it('holds nothing but what CONTRIBUTING.md gives a reason for', () => {
    const text = readFileSync(new URL('../CONTRIBUTING.md', import.meta.url), 'utf8')
    const table = /^## What lies at the top level$(.*?)^## /ms.exec(text)![1]!
    const named = Array.from(table.matchAll(/^\| (.*?) \|/gm), ([, cell]) =>
      Array.from(cell!.matchAll(/`([^`/]+)\/?`/g), ([, name]) => name!),
    ).flat()
    const files = execFileSync('git', ['ls-files'], { cwd: join(root, '..'), encoding: 'utf8' })
    const tracked = new Set(files.split('\n').flatMap((file) => file.split('/')[0] || []))
    expect(named.sort()).toEqual([...tracked].sort())
  })
})

describe('operations', () => {
  const fileOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const files = readdirSync(join(root, 'catalog/operations')).filter((name) => name.endsWith('.ts'))
  const named = files
    .filter((name) => name !== 'index.ts' && name !== 'unsupported.ts')
    .map((name) => name.slice(0, -3).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()))

  it('each has a file of its name, or is one of those that are not supported; no file is left over', () => {
    const toAdd = named
      .filter((name) => !Object.hasOwn(operations, name))
      .map(
        (name) =>
          `src/catalog/operations/index.ts: import { ${name} } from './${fileOf(name)}.ts', and ${name} to operations and to the exports`,
      )
    expect(toAdd).toEqual([])
    expect([...named, ...Object.keys(missing)].sort()).toEqual(Object.keys(operations).sort())
  })

  it.each(named)('%s is what its file exports, under its own name', async (name) => {
    const module = (await import(`../src/catalog/operations/${fileOf(name)}.ts`)) as Record<string, unknown>
    const operation = operations[name as keyof typeof operations]
    expect(module[name]).toBe(operation)
    expect(operation.definition.name).toBe(name)
    expect(operation.definition.summary).toMatch(/^[A-Z].*\.$/)
  })

  it.each(named)('%s can be imported from the package', (name) => {
    const toAdd = `src/catalog/operations/index.ts: ${name} to the exports`
    const exported = (surface as Record<string, unknown>)[name]
    expect(exported === operations[name as keyof typeof operations], toAdd).toBe(true)
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
    expect(makers).toEqual(['engine/predicate/kernels/generate.ts'])
  })
})

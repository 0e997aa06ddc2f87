import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packedProject } from '../support/packed.ts'
import { limitEach } from '../support/time-limit.ts'

// It packs both packages, and runs compilers.
limitEach(240)

/* The package of the light client, packed and installed as it is published, beside the whole package. */

const root = fileURLToPath(new URL('../..', import.meta.url))
let project: string
/** A folder that has installed the light client, and nothing else. */
let folder: string

beforeAll(async () => {
  project = await packedProject()
  folder = join(project, 'light')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const source = join(project, 'source/dist/packages/tabularium-client')
  const archive = npm(source, 'pack', '--silent', '--pack-destination', folder).trim()
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', `./${archive}`)
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: 'pipe' })
}

function run(code: string): string {
  writeFileSync(join(folder, 'try.js'), code)
  return execFileSync(process.execPath, ['try.js'], { cwd: folder, encoding: 'utf8' }).trim()
}

/** Adds the whole package, as tests of an application have it. */
function withWhole(): void {
  rmSync(join(folder, 'node_modules/tabularium'), { force: true })
  symlinkSync(join(project, 'node_modules/tabularium'), join(folder, 'node_modules/tabularium'))
}

test('it is one package, as small as the page says, and at most 1 MB', () => {
  const modules = join(folder, 'node_modules')
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  expect(Object.keys(packages)).toEqual(['node_modules/tabularium-client'])
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  const page = readFileSync(join(root, 'docs/light-client.md'), 'utf8')
  const told = Number(/one package of ([\d.]+) MB/.exec(page)![1])
  expect(told).toBeLessThanOrEqual(1)
  expect(Math.ceil(bytes / 100_000) / 10).toBe(told)
})

test('its page has links that lead somewhere, and it names what it bundles', () => {
  const place = join(folder, 'node_modules/tabularium-client')
  const links = [...readFileSync(join(place, 'README.md'), 'utf8').matchAll(/\]\(([^)]+)\)/g)]
  expect(links.length).toBeGreaterThan(3)
  for (const [, link] of links) expect(link).toMatch(/^https:\/\/example\.org\/tabularium\/(docs|examples)\//)
  const code = readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(place, name), 'utf8'))
    .join('\n')
  // As comments of the bundler say where code comes from.
  const bundled = [...code.matchAll(/^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(
    ([, name]) => name!,
  )
  const licenses = readFileSync(join(place, 'licenses.txt'), 'utf8')
  expect(new Set(bundled).size).toBeGreaterThan(2)
  for (const name of new Set(bundled)) expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

test('it exports what the client of the whole package exports, and errors are of both', () => {
  withWhole()
  const code = `
import * as light from 'tabularium-client'
import * as whole from 'tabularium/client'
import { fetchHandler } from 'tabularium/http'
import { fakeCatalog } from 'tabularium/testing'
const handle = await fetchHandler(await fakeCatalog({ seed: { t: [{ x: 1 }] } }), { auth: false })
const catalog = light.connect('http://localhost', { fetch: handle })
await catalog.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
for await (const { x } of catalog.rows({ id: ['t'], filter: 'x > 1' })) console.log(x)
const error = await catalog.describeTable({ id: ['none'] }).catch((error) => error)
console.log(error instanceof light.CatalogError, error instanceof whole.CatalogError, error.code)
console.log(Object.keys(light).join() === Object.keys(whole).join(), Object.keys(light).length)
`
  expect(run(code)).toBe('2\ntrue true TableNotFound\ntrue 2')
})

/** What a module exports, values and types. */
function namesOf(from: string): string[] {
  const file = join(folder, 'names.ts')
  writeFileSync(file, `export * from '${from}'`)
  const options = { module: ts.ModuleKind.NodeNext, types: [] }
  const program = ts.createProgram([file], options)
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  return checker.getExportsOfModule(module).map(({ name }) => name)
}

test.each([
  ['typescript', 'nodenext', { module: 'nodenext' }],
  ['typescript', 'bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ['typescript-5', 'nodenext', { module: 'nodenext' }],
])('its types are those of the whole package: %s, %s', (compiler, _name, options) => {
  withWhole()
  const names = namesOf('tabularium-client')
  expect(names.length).toBeGreaterThan(10)
  expect(namesOf('tabularium/client').sort()).toEqual([...names].sort())
  const values = ['connect', 'CatalogError']
  const types = names.filter((name) => !values.includes(name))
  const code = [
    "import * as light from 'tabularium-client'",
    "import * as whole from 'tabularium/client'",
    "import { fakeCatalog } from 'tabularium/testing'",
    ...types.map((name) => `export const to${name} = (one: whole.${name}): light.${name} => one`),
    // The whole package's handles have members of its own, by symbols.
    'type Methods = Exclude<keyof light.ServedCatalog, "transaction" | "metrics">',
    'export const back = (one: light.ServedCatalog): Pick<whole.ServedCatalog, Methods> => one',
    'export const error = (one: light.CatalogError): whole.CatalogError => one',
    'export const fake: light.Catalog = await fakeCatalog()',
    "const catalog: light.ServedCatalog = light.connect('http://localhost', { token: 'a' })",
    "await catalog.describeTable({ id: ['t'] })",
    '// @ts-expect-error: a table has a name',
    'await catalog.describeTable({ name: 1 })',
  ]
  expect(compile(compiler, code.join('\n'), options)).toBe('')
})

test('its types are for CommonJS, too, and need no types of Node', () => {
  const code = `import { type Catalog, CatalogError, connect } from 'tabularium-client'
export async function main(catalog: Catalog = connect('http://localhost')): Promise<string | undefined> {
  await using open = catalog
  const error: unknown = await open.listTables({ id: [] }).catch((error) => error)
  return error instanceof CatalogError ? error.code : undefined
}`
  rmSync(join(folder, 'node_modules/tabularium'), { force: true })
  for (const compiler of ['typescript', 'typescript-5']) {
    expect(compile(compiler, code, { module: 'node16' }, 'commonjs')).toBe('')
  }
})

function compile(compiler: string, code: string, options: object, type = 'module'): string {
  const place = join(folder, 'types')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ type }))
  writeFileSync(join(place, 'try.ts'), code)
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'esnext.disposable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['try.ts'] }))
  try {
    const program = join(root, 'node_modules', compiler, 'bin/tsc')
    execFileSync(process.execPath, [program, '-p', place], { encoding: 'utf8', stdio: 'pipe' })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

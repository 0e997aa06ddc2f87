import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OperationName, operations } from '../../src/tabularium/index.ts'

/*
 * Which tests call which operation, found by its name in their sources, so that no list must be maintained.
 */

interface Source {
  /** Below the folder that was read, such as `operations/names.test.ts`. */
  readonly path: string
  readonly text: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Folders whose tests are about operations. Other tests call operations to test something else. */
const about = /^catalog\/(operations|listing|locations|lookup|rows|transactions)\//

/** The table of `test/README.md`: each operation, with its rules and its tests. */
export function coverageTable(): string {
  const suites = read('src/testing/suites/catalog')
  const tests = read('test')
  const rows = supported().map((name) => {
    const rules = suites.filter(calls(name)).map(({ path }) => path.replace(/\.ts$/, ''))
    const called = tests.filter(calls(name)).map(({ path }) => path)
    const [near, far] = [called.filter(isNear), called.filter((path) => !isNear(path))]
    const elsewhere = [...new Set(far.map((path) => path.split('/')[0]!))]
    return `| \`${name}\` | ${rules.join(', ')} | ${near.map(link).join(', ')} | ${elsewhere.join(', ')} |`
  })
  return ['| Operation | Rules | Tests | Called in |', '|---|---|---|---|', ...rows].join('\n')
}

/** The operations that neither a rule nor a test calls. */
export function uncovered(): string[] {
  const sources = [...read('src/testing/suites/catalog'), ...read('test')]
  return supported().filter((name) => !sources.some(calls(name)))
}

function supported(): string[] {
  return Object.keys(operations).filter(
    (name) => operations[name as OperationName].definition.errors[0] !== 'Unsupported',
  )
}

function calls(name: string): (source: Source) => boolean {
  const call = new RegExp(`\\b${name}\\b`)
  return ({ text }) => call.test(text)
}

function isNear(path: string): boolean {
  return path.endsWith('.test.ts') && about.test(path)
}

function link(path: string): string {
  return `[${path.replace(/^catalog\/|\.test\.ts$/g, '')}](${path})`
}

/** The sources in a folder, without shared helpers and generated files. */
function read(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !/^(\.|support\/)/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, folder, path), 'utf8') }))
}

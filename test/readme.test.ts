import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operationTable } from './support/operation-table.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>
}
const readme = await readFile(join(root, 'README.md'), 'utf8')

test('lists every operation as the record has it', () => {
  expect(readme).toContain(`<!-- operations -->\n${operationTable()}\n<!-- /operations -->`)
})

describe('every example runs as it stands and prints what its comments say', () => {
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!)
  let folder: string

  beforeAll(async () => {
    // Within the package, so that the packages it depends on are found.
    const cache = join(root, 'node_modules/.cache')
    await mkdir(cache, { recursive: true })
    folder = await mkdtemp(join(cache, 'readme-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.for(examples.map((code, i) => [i + 1, code] as const))(
    'example %i',
    { timeout: 30_000 },
    async ([n, code]) => {
      const cwd = await mkdtemp(join(folder, `${n}-`))
      await writeFile(join(cwd, 'example.mts'), withSources(code))
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/esm/index.mjs')).href, 'example.mts'],
        { cwd },
      )
      const told = [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1]!)
      const printed = stdout.trim().split('\n')
      if (told.length > 0) expect(printed.map(plain)).toEqual(told.map(plain))
    },
  )
})

/** Points the package's name at its sources, so that an example runs without a build. */
function withSources(code: string): string {
  return code.replace(/'tabularium(\/[\w/]+)?'/g, (_, path: string | undefined) => {
    const built = exports[path === undefined ? '.' : `.${path}`]!.default
    const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    return JSON.stringify(pathToFileURL(join(root, source)).href)
  })
}

/** Lists print with spaces that comments need not repeat. */
function plain(text: string): string {
  return text.replaceAll(' ', '')
}

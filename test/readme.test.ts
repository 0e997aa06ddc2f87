import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operationTable } from './support/operation-table.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>
}

test('lists every operation as the record has it', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect(readme).toContain(`<!-- operations -->\n${operationTable()}\n<!-- /operations -->`)
})

const pages = ['README.md', ...(await readdir(join(root, 'docs'))).sort().map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

describe.each(pages)(
  'every example of $name runs as it stands and prints what its comments say',
  ({ text }) => {
    const examples = blocks(text, 'ts')
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
  },
)

describe.each(pages)('every test that $name shows passes', async ({ text }) => {
  const examples = blocks(text, 'ts vitest')
  if (examples.length === 0) return test('there is none', () => {})
  // Where the runner takes it for a source of its own.
  const folder = await mkdtemp(join(root, 'test/.docs-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  for (const [i, code] of examples.entries()) {
    const file = join(folder, `${i}.ts`)
    await writeFile(file, withSources(code))
    await import(/* @vite-ignore */ file)
  }
})

/** The code in the blocks of a page that are marked so. */
function blocks(text: string, mark: string): string[] {
  return [...text.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)]
    .filter((match) => match[1] === mark)
    .map((match) => match[2]!)
}

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

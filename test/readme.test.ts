import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forNode, startedApart } from './support/bundle.ts'
import { compare, derived } from './support/derived.ts'
import { uncovered } from './support/operation-coverage.ts'
import { folderOfRun } from './support/scripts.ts'
import { limitEach } from './support/time-limit.ts'

// The examples of a page run one after the other.
limitEach(60)

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>
}

test('the index of the pages names every page', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md')
  const toAdd = names
    .filter((name) => !index.includes(`](${name})`))
    .map((name) => `docs/README.md: to its table, [title](${name}) and what it is about`)
  expect(toAdd).toEqual([])
})

test.each(derived)('$page is what the code and the report say: $name (npm run derive)', (part) => {
  const { is, should } = compare(part)
  expect(is).toBe(should)
})

test('every operation is called by a test', () => {
  const toAdd = uncovered().map((name) => `test/catalog/operations/: a test that calls ${name}`)
  expect(toAdd).toEqual([])
})

const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `examples/${name}`)
const folders = ['.', 'docs', 'docs/decisions', 'examples', ...examples, 'python', 'test', 'bench']
const texts = folders
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
  .filter((name) => name.endsWith('.md') && name !== 'bench/report.md')

describe.each(texts)('%s', (name) => {
  const text = readFileSync(join(root, name), 'utf8').replace(/^```.*?^```/gms, '')

  test('has links that lead to files, and to headings of pages', () => {
    for (const [, link] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path, heading] = link!.split('#') as [string, string?]
      const target = path === '' ? join(root, name) : join(root, dirname(name), path)
      expect(existsSync(target), link).toBe(true)
      if (heading !== undefined) expect(headingsOf(target), link).toContain(heading)
    }
  })

  test('names sources that are there', () => {
    for (const [, path] of text.matchAll(/`([a-z-]+\/(?:[\w.-]+\/)*(?:[\w.-]+\.ts)?)`/g)) {
      const isThere = [root, join(root, 'src'), join(root, dirname(name))].some((folder) =>
        existsSync(join(folder, path!)),
      )
      if (!/^(dist|tables)\/|NAME/.test(path!)) expect(isThere, path).toBe(true)
    }
  })
})

/** The headings of a page, as links name them. */
function headingsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}

const pages = ['README.md', ...(await readdir(join(root, 'docs'))).sort().map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

/** Programs of their own, each like a page with one example. */
const programs = (await readdir(join(root, 'examples')))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => {
    const code = readFileSync(join(root, 'examples', name), 'utf8')
    return { name: `examples/${name}`, text: `\`\`\`ts\n${code}\`\`\`\n` }
  })

const withExamples = [...pages, ...programs]
  .map(({ name, text }) => ({ name, examples: blocks(text, 'ts') }))
  .filter(({ examples }) => examples.length > 0)
let made: Promise<string> | undefined
const bundled = () => (made ??= bundle())
afterAll(async () => {
  if (made !== undefined) await rm(await made, { recursive: true, force: true })
})

describe.each(withExamples.map((page, p) => ({ ...page, p })))(
  'every example of $name runs as it stands and prints what its comments say',
  ({ name, examples, p }) => {
    const printed: string[][] = []
    const printedAgain: string[][] = []

    beforeAll(async () => {
      const folder = await bundled()
      const run = async (group: readonly number[], into: string[][]) => {
        const script = [join(folder, 'run.js'), ...group.map((n) => `${p}-${n}`)]
        const { stdout } = await promisify(execFile)(process.execPath, script, { timeout: 55_000 })
        const parts = stdout.split(`${mark}\n`).slice(1)
        for (const [i, part] of parts.entries()) into[group[i]!] = part.trim().split('\n')
      }
      for (const group of processesFor(examples)) await run(group, printed)
      const again = examples.flatMap((code, n) => (leavesFiles(code) ? [n] : []))
      if (again.length > 0) await run(again, printedAgain)
    })

    test.for(examples.map((code, n) => [n, code] as const))('example %i', ([n, code]) => {
      const told = [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1]!)
      if (told.length > 0) expect(printed[n]!.map(plain)).toEqual(told.map(plain))
      // A program may say that its work is done already.
      const saysTheSame = leavesFiles(code) && name.endsWith('.md')
      if (saysTheSame) expect(printedAgain[n]!.map(plain)).toEqual(told.map(plain))
    })
  },
)

/** Whether an example leaves files behind. A reader may save and run it more than once. */
function leavesFiles(code: string): boolean {
  return code.includes("openCatalog('./")
}

/**
 * The examples that run in one process, one after the other: to start one takes longer than to run an example.
 * A runner of tests prints its report at the end of the process, so what uses it runs alone.
 */
function processesFor(examples: readonly string[]): number[][] {
  const all = [...examples.keys()]
  const isAlone = (n: number) => examples[n]!.includes("'node:test'")
  return [all.filter((n) => !isAlone(n)), ...all.filter(isAlone).map((n) => [n])]
}

/** Stands before what an example prints. */
const mark = '--- example ---'

/** Runs the examples whose names it is given, each in a folder of its own. */
const runner = `
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
for (const name of process.argv.slice(2)) {
  const folder = fileURLToPath(new URL(name, import.meta.url))
  mkdirSync(folder, { recursive: true })
  process.chdir(folder)
  console.log('${mark}')
  await import('./' + name + '.js')
}
`

/**
 * A folder with the examples of all pages as scripts `0-0.js`, `0-1.js` …, by page, and `run.js` that runs them: bundled,
 * because loading hundreds of sources takes seconds.
 */
async function bundle(): Promise<string> {
  // Within the package, so that the packages it depends on are found.
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'readme-'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'run.js'), runner)
  const all = withExamples.flatMap(({ examples }, p) =>
    examples.map((code, n) => ({ code, out: `${p}-${n}`, in: join(folder, `${p}-${n}.ts`) })),
  )
  for (const example of all) await writeFile(example.in, withSources(example.code))
  const entryPoints = [...all.map((example) => ({ in: example.in, out: example.out })), ...startedApart]
  await build({ entryPoints, outdir: folder, ...forNode })
  return folder
}

test.each([
  ['docs/write-a-store.md', 'src/base/store/store.ts', 'Reader'],
  ['docs/write-a-content.md', 'src/base/content/content.ts', 'Content'],
])('%s has the members that must be there', (name, file, among) => {
  const page = interfacesOf(blocks(readFileSync(join(root, name), 'utf8'), 'ts ignore')[0]!)
  const source = interfacesOf(readFileSync(join(root, file), 'utf8'))
  expect([...page.keys()]).toContain(among)
  for (const [name, members] of page) {
    const required = source.get(name)!.filter((member) => !/^\w+\?/.test(member))
    expect(members, name).toEqual(required)
  }
})

/** The interfaces in a text, and their members without comments and `readonly`. */
function interfacesOf(text: string): Map<string, string[]> {
  const bare = text.replace(/\/\*.*?\*\/|\/\/.*$/gms, '').replace(/\b(?:export|readonly) /g, '')
  return new Map(
    [...bare.matchAll(/^interface ([^{]+?) \{\n(.*?)^\}/gms)].map(([, name, body]) => [
      name!,
      body!.split('\n').flatMap((line) => line.trim() || []),
    ]),
  )
}

const withTests = pages.filter(({ text }) => blocks(text, 'ts vitest').length > 0)

describe.each(withTests)('every test that $name shows passes', async ({ text }) => {
  const examples = blocks(text, 'ts vitest')
  // Where the runner takes it for a source of its own.
  const folder = await mkdtemp(join(folderOfRun, 'docs-'))
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
    return JSON.stringify(join(root, source))
  })
}

/** Lists print with spaces that comments need not repeat. */
function plain(text: string): string {
  return text.replaceAll(' ', '')
}

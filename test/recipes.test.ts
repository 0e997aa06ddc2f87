import { execFile, execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limitEach } from './support/time-limit.ts'

// The last test runs the checks, the build and the compiler in the copy.
limitEach(300)

/*
 * The recipes of CONTRIBUTING.md, followed in a copy of the repository with made-up entries. Of what a recipe leaves to
 * the tests, they must say which line to add to which file; and with these lines the tests pass.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'tabularium-recipes-'))
const at = (file: string) => join(copy, file)

/** Adds a text after another one. */
function add(file: string, after: string, text: string): void {
  const is = readFileSync(at(file), 'utf8')
  expect(is, file).toContain(after)
  writeFileSync(
    at(file),
    is.replace(after, () => after + text),
  )
}

interface Recipe {
  /** Does what the recipe says. */
  readonly follow: () => void
  /** What the tests say is to be added, and its addition. */
  readonly asked: Readonly<Record<string, () => void>>
}

const operations = 'src/catalog/operations'
const fieldDocs = `${operations}/types/field-docs.ts`
const errorsTest = 'test/catalog/operations/errors.test.ts'

const recipes: Readonly<Record<string, Recipe>> = {
  'Add an operation': {
    follow: () => {
      writeFileSync(
        at(`${operations}/paint-table.ts`),
        `import * as v from 'valibot'
import { changeFields, requestFields, tableIdentifier, text } from '../../base/model/fields.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Paints a table. */
export const paintTable = operation({
  name: 'paintTable',
  summary: 'Paint a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, color: text }),
  response: v.object({ ...changeFields, coat: text }),
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/paint'),
  command: { group: 'Tables', positional: ['color'], examples: ['./catalog prod.flights red'] },
  run: (core, { id, color }) =>
    commit(core, 'PaintTable', id, (change) => {
      findTableToChange(change, id)
      return { coat: color }
    }),
})
`,
      )
      add(`${operations}/index.ts`, '', "import { paintTable } from './paint-table.ts'\n")
      add(`${operations}/index.ts`, '\n  batchCommitTables,\n', '  paintTable,\n')
    },
    asked: {
      [`${operations}/index.ts: paintTable to the exports`]: () =>
        add(`${operations}/index.ts`, '\nexport {\n', '  paintTable,\n'),
      [`${fieldDocs}: to requests, color: '…', for paintTable.color`]: () =>
        add(fieldDocs, 'const requests: Docs = {\n', "  color: 'The color.',\n"),
      [`${fieldDocs}: to responses, coat: '…', for paintTable.coat`]: () =>
        add(fieldDocs, 'const responses: Docs = {\n', "  coat: 'The color that it has now.',\n"),
      [`${errorsTest}: to refusals, paintTable: { TableNotFound: { request, says } }`]: () =>
        add(
          errorsTest,
          '\n  listTables: { NamespaceNotFound: noNamespace(none) },\n',
          "  paintTable: { TableNotFound: noTable({ color: 'red' }), ConcurrentModification: inTheStore },\n",
        ),
      [`${errorsTest}: to changes, paintTable: a request`]: () =>
        add(errorsTest, '\n  beginTransaction: {},\n', "  paintTable: { ...rows, color: 'red' },\n"),
      "test/cli/same-facts.test.ts: to script, ['paint-table', ...table, …], or to elsewhere, 'paint-table': why":
        () =>
          add(
            'test/cli/same-facts.test.ts',
            "  ['table-exists', ...table],\n",
            "  ['paint-table', ...table, 'red'],\n",
          ),
    },
  },
  'Add a predicate function': {
    follow: () =>
      add(
        'src/engine/predicate/functions/math.ts',
        '\n  tan: ofFloats(Math.tan),\n',
        '  paint: ofFloats((value) => value),\n',
      ),
    asked: {
      'test/engine/predicate/functions.test.ts: to truths, a case of paint(…)': () =>
        add('test/engine/predicate/functions.test.ts', '\n  numbers: [\n', "    'paint(f) = f',\n"),
    },
  },
  'Add a store': {
    follow: () => {
      mkdirSync(at('src/stores/paint'))
      writeFileSync(
        at('src/stores/paint/index.ts'),
        `import type { Store } from '../../base/store/store.ts'
import { memoryStore } from '../memory/index.ts'

/** A store that forgets. */
export function paintStore(): Store {
  return memoryStore()
}
`,
      )
      const types = { require: './dist/stores/paint/index.d.cts', default: './dist/stores/paint/index.d.ts' }
      const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'))
      manifest.exports['./backends/paint'] = { types, default: './dist/stores/paint/index.js' }
      writeFileSync(at('package.json'), JSON.stringify(manifest))
    },
    asked: {
      'test/stores/conformance.test.ts: storeSuite({ describe, test }, place, …) for ./backends/paint':
        () => {
          const test = 'test/stores/conformance.test.ts'
          add(test, '', "import { paintStore } from '../../src/stores/paint/index.ts'\n")
          appendFileSync(
            at(test),
            "storeSuite({ describe, test }, () => ({ open: paintStore }), { name: 'paint' })\n",
          )
        },
    },
  },
  'Add a dialect': {
    follow: () => {
      writeFileSync(
        at('src/server/dialects/paint.ts'),
        `import type { Dialect } from './dialect.ts'

export const paintDialect: Dialect = { name: 'paint', plusIsSpace: true }
`,
      )
      const file = 'src/server/dialects/index.ts'
      add(file, '', "import { paintDialect } from './paint.ts'\n")
      add(
        file,
        "\n  if (headers['x-lancedb-database'] !== undefined) return lancedbDialect\n",
        "  if ('x-paint' in headers) return paintDialect\n",
      )
    },
    asked: {},
  },
  'Add a command': {
    follow: () => {
      writeFileSync(
        at('src/cli/paint.ts'),
        `import type { Command } from 'commander'
import type { Io } from './io.ts'
import { maintenanceCommand } from './maintenance.ts'
import { printerOf } from './print.ts'

/** The command that says its color. */
export function paintCommand(io: Io): Command {
  return maintenanceCommand('paint', 'Say a color.', 'Changes nothing.', '  $ tabularium paint\\n').action(
    ({ json }: { readonly json?: boolean }) => {
      const printer = printerOf(io, json)
      printer.one({ color: 'red' })
      printer.end()
    },
  )
}
`,
      )
      add('src/cli/other-commands.ts', '', "import { paintCommand } from './paint.ts'\n")
      add('src/cli/other-commands.ts', '\n    migrateCommand(io),\n', '    paintCommand(io),\n')
    },
    asked: {
      "test/cli/same-facts.test.ts: to script, ['paint', ...table, …], or to elsewhere, 'paint': why": () =>
        add('test/cli/same-facts.test.ts', "  ['table-exists', ...table],\n", "  ['paint'],\n"),
      'docs/command-line.md, or the page it is about: what `paint` is for': () =>
        appendFileSync(at('docs/command-line.md'), '\n`paint` says a color.\n'),
    },
  },
  'Add a page': {
    follow: () => writeFileSync(at('docs/paint.md'), '# Paint\n\nA coat dries in 17 hours.\n'),
    asked: {
      'docs/README.md: to its table, [title](paint.md) and what it is about': () =>
        add('docs/README.md', '[The page](page.md) |\n', '| paint | [Paint](paint.md) |\n'),
      'These statements of docs/paint.md have numbers that nothing holds': () =>
        writeFileSync(at('docs/paint.md'), '# Paint\n\nA coat dries in a day.\n'),
    },
  },
  'Add a metric': {
    follow: () =>
      add(
        'src/server/pages/metrics.ts',
        'const catalogMetrics: readonly CatalogMetric[] = [\n',
        "  { name: 'tabularium_coats', help: 'Coats.', type: 'gauge', of: ({ commits }) => known(commits) },\n",
      ),
    asked: {
      'docs/serve.md: to the table below <!-- metrics -->, | `tabularium_coats` | gauge | labels | meaning |':
        () =>
          add(
            'docs/serve.md',
            '| free bytes on the disk of the directory |\n',
            '| `tabularium_coats` | gauge | | coats |\n',
          ),
    },
  },
}

/** The tests that notice what is missing, and their files. */
const checks = [
  'test/layers.test.ts',
  'test/readme.test.ts',
  'test/page-numbers.test.ts',
  'test/catalog/operations/types.test.ts',
  'test/catalog/operations/errors.test.ts',
  'test/catalog/operations/version-or-tag.test.ts',
  'test/catalog/handle/rows.test.ts',
  'test/cli/commands.test.ts',
  'test/cli/same-facts.test.ts',
  'test/engine/predicate/functions.test.ts',
  'test/stores/conformance.test.ts',
  'test/server/pages/metrics-page.test.ts',
]

const titles = [
  // What is imported is measured in builds, of which no recipe says anything.
  '^rooms (?!importing )',
  '^operations ',
  'index of the pages names every page',
  'is what the code and the report say',
  'every operation is called by a test',
  'held by the code, or named with a reason',
  'types of requests and responses',
  'every field of a request',
  'lists those that are tried',
  'passes it on as it is',
  'is taken wherever a version is',
  'every operation that lists has its way',
  'says of each option what it is for',
  'every command is tried',
  'every command that is no operation',
  'every function is called by a test',
  '^numbers ',
  'judged by its suite',
  '^paint ',
  'the page lists every metric',
]

interface Outcome {
  readonly failed: number
  readonly text: string
}

async function inCopy(...command: string[]): Promise<Outcome> {
  // The runner of this test leaves variables that are meant for its own workers.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_ENV)/.test(name)),
  )
  const options = { cwd: copy, env: { ...env, NO_COLOR: '1' }, maxBuffer: 1 << 27 }
  return promisify(execFile)(process.execPath, command, options).then(
    ({ stdout, stderr }) => ({ failed: 0, text: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ failed: code as number, text: `${stdout}${stderr}` }),
  )
}

const vitest = 'node_modules/vitest/vitest.mjs'
const runChecks = () => inCopy(vitest, 'run', ...checks, '-t', titles.join('|'), '--reporter', 'dot')

let first: Outcome

beforeAll(async () => {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of listed.split('\n')) {
    if (/[^/]$/.test(file) && file !== 'node_modules' && existsSync(join(root, file)))
      cpSync(join(root, file), at(file))
  }
  symlinkSync(realpathSync(join(root, 'node_modules')), at('node_modules'))
  for (const { follow } of Object.values(recipes)) follow()
  first = await runChecks()
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

test('each recipe is in CONTRIBUTING.md', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const headings = Array.from(text.matchAll(/^## (Add .*)$/gm), ([, heading]) => heading)
  expect(headings.sort()).toEqual(Object.keys(recipes).sort())
})

describe.each(Object.entries(recipes).filter(([, { asked }]) => Object.keys(asked).length > 0))(
  '%s',
  (_, { asked }) => {
    test.each(Object.keys(asked))('a test says: %s', (line) => {
      expect(first.text).toContain(line)
    })
  },
)

test('with what the tests ask for, all of them pass, and the copy builds and compiles', async () => {
  for (const { asked } of Object.values(recipes)) for (const addition of Object.values(asked)) addition()
  await inCopy('--import', 'tsx', 'test/support/derive.ts')
  const { failed, text } = await runChecks()
  expect(failed, text).toBe(0)
  for (const command of [['build/build.js'], ['node_modules/typescript/bin/tsc', '--noEmit']])
    expect(await inCopy(...command)).toMatchObject({ failed: 0 })
})

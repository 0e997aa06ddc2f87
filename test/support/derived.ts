import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { toMarkdown } from '../../bench/support/run/markdown.ts'
import { shortForm } from '../../bench/support/run/readme.ts'
import { readReport } from '../../bench/support/run/report.ts'
import { operationTypes, typesFile } from '../../build/operation-types.ts'
import { conformanceRules } from '../../src/testing/index.ts'
import cases from '../engine/predicate/cases.json' with { type: 'json' }
import { mutations } from '../simulation/mutations.ts'
import { faultKinds, stepKinds } from '../simulation/script.ts'
import { brokenCatalogs } from '../testing/mutants/catalogs.ts'
import { brokenContents } from '../testing/mutants/contents.ts'
import { brokenIcebergs } from '../testing/mutants/iceberg.ts'
import { brokenServers } from '../testing/mutants/servers.ts'
import { brokenPlaces, brokenStores } from '../testing/mutants/stores.ts'
import { brokenTransactions } from '../testing/mutants/transactions.ts'
import { coverageTable } from './operation-coverage.ts'
import { operationTable } from './operation-table.ts'
import { publicTypes } from './public-types.ts'

/*
 * Parts of pages that derive from the code, or from the report of the benchmarks. Each stands in its page between
 * `<!-- name -->` and `<!-- /name -->`. One without a name is a whole file.
 */

interface Derived {
  readonly page: string
  readonly name?: string
  readonly make: () => string
}

export const derived: readonly Derived[] = [
  { page: typesFile, make: operationTypes },
  { page: 'test/package/public-types.txt', make: publicTypes },
  { page: 'docs/operations.md', name: 'operations', make: operationTable },
  { page: 'README.md', name: 'bench', make: () => shortForm(benchReport()) },
  { page: 'bench/report.md', make: () => toMarkdown(benchReport()) },
  { page: 'test/README.md', name: 'coverage', make: coverageTable },
  { page: 'docs/decisions/README.md', name: 'decisions', make: decisionsTable },
  { page: 'docs/how-it-is-tested.md', name: 'counts', make: countsTable },
  { page: 'docs/how-it-is-tested.md', name: 'simulation', make: simulationTable },
]

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The path of a page. */
export function pathOf({ page }: Derived): string {
  return join(root, page)
}

/** A page as it is, and as it should be. */
export function compare(part: Derived): { readonly is: string; readonly should: string } {
  const { name, make } = part
  const path = pathOf(part)
  const is = existsSync(path) ? readFileSync(path, 'utf8') : ''
  if (name === undefined) return { is, should: make() }
  const [begin, end] = [`<!-- ${name} -->\n`, `\n<!-- /${name} -->`]
  const [from, to] = [is.indexOf(begin), is.indexOf(end)]
  if (from < 0 || to < 0) throw new Error(`${part.page} has no part ${name}.`)
  return { is, should: is.slice(0, from + begin.length) + make() + is.slice(to) }
}

function benchReport() {
  return readReport(join(root, 'bench/report.json'))!
}

/** The pages of decisions, each with the first sentence of what was decided. */
function decisionsTable(): string {
  const folder = join(root, 'docs/decisions')
  const rows = readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const title = /^# (.+)$/m.exec(text)![1]!
      const decided = /^## (?:Decision|What we decided)\n+(?:- )?(.+?\.)(?=\s|$)/m.exec(text)?.[1] ?? ''
      return `| [${title}](${name}) | ${decided} |`
    })
  return ['| Decision | In one sentence |', '|---|---|', ...rows.sort()].join('\n')
}

/** How many rules, mutants and cases there are. */
function countsTable(): string {
  const rules = (suite: string) => conformanceRules.filter(({ id }) => id.startsWith(`${suite}.`)).length
  const rows: readonly (readonly [what: string, rules: number, mutants: number])[] = [
    ['a store', rules('store'), brokenStores.length + brokenPlaces.length],
    ['a content', rules('content'), brokenContents.length],
    ['a server', rules('http'), brokenServers.length],
    ['transactions', rules('tx'), brokenTransactions.length],
    ['a server of Iceberg REST', rules('iceberg'), brokenIcebergs.length],
  ]
  const others = conformanceRules.length - rows.reduce((sum, [, count]) => sum + count, 0)
  return [
    '| The suite of | Rules | Broken implementations that it must notice |',
    '|---|---|---|',
    ...[...rows, ['a catalog', others, brokenCatalogs.length] as const].map(
      ([what, count, mutants]) => `| ${what} | ${count} | ${mutants} |`,
    ),
    '',
    `Predicates with answers of the reference: ${cases.predicates.length}.`,
  ].join('\n')
}

/** What the simulation does, and the faults that it is known to find. */
function simulationTable(): string {
  return [
    ...Object.keys(mutations).map((name) => `- ${name}`),
    '',
    `Kinds of steps: ${stepKinds.length}. Kinds of faults: ${faultKinds.length}. Faults that are put back: ${Object.keys(mutations).length}.`,
  ].join('\n')
}

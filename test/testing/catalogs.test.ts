import { describe, expect, test } from 'vitest'
import { openCatalog, operations } from '../../src/tabularium/index.ts'
import { catalogSuite, catalogTopics } from '../../src/testing/suites/catalog-suite.ts'

const called = new Set<string>()

/** What every case may call, besides what it says it needs. */
const always = new Set([
  'createNamespace',
  'listNamespaces',
  'dropNamespace',
  'declareTable',
  'describeTable',
  'listTables',
  'createTableVersion',
  'listTableVersions',
  // What looks for changes reads these where they are not lacking.
  'listTableTags',
  'listTableBranches',
])

async function watched() {
  return new Proxy(await openCatalog('memory:'), {
    get: (target, name) => {
      if (typeof name === 'string' && Object.hasOwn(operations, name)) called.add(name)
      return Reflect.get(target, name) as unknown
    },
  })
}

const needs = new Map(catalogTopics.flatMap(({ cases }) => cases.map((one) => [one.id, one.needs] as const)))

/** Runs a case, and sees that it calls only what it says it needs, so that it can be left out without that. */
function watching(title: string, body: () => Promise<void>): void {
  test(title, async () => {
    called.clear()
    await body()
    const said = needs.get(title.slice(0, title.indexOf(' (')))
    if (said) expect([...called].filter((name) => !always.has(name) && !said.includes(name))).toEqual([])
  })
}

catalogSuite({ describe, test: watching }, watched, { name: 'a catalog in memory' })

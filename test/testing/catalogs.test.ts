import { describe, expect, test } from 'vitest'
import { openCatalog, operations } from '../../src/tabularium/index.ts'
import { catalogSuite, catalogTopics } from '../../src/testing/suites/catalog-suite.ts'

const called = new Set<string>()

/** The operations that every case may call, in addition to its `needs`. */
const always = new Set([
  'createNamespace',
  'listNamespaces',
  'dropNamespace',
  'declareTable',
  'describeTable',
  'listTables',
  'createTableVersion',
  'listTableVersions',
  // Checks for changes read these if the catalog has them.
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

/** Runs a case, and checks that it calls only its `needs`, so that it can be left out when one is missing. */
function watching(title: string, body: () => Promise<void>): void {
  test(title, async () => {
    called.clear()
    await body()
    const said = needs.get(title.slice(0, title.indexOf(' (')))
    if (said) expect([...called].filter((name) => !always.has(name) && !said.includes(name))).toEqual([])
  })
}

catalogSuite({ describe, test: watching }, watched, { name: 'a catalog in memory' })

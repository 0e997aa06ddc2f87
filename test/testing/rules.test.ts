import { expect, test } from 'vitest'
import { openCatalog, operations } from '../../src/index.ts'
import { conformanceRules, storeSuite } from '../../src/testing/index.ts'
import type { CatalogTrial } from '../../src/testing/suites/catalog/trial.ts'
import { catalogCases, lackingOperations } from '../../src/testing/suites/catalog-suite.ts'
import { BrokenRule } from '../../src/testing/suites/suite.ts'
import { brokenCatalogs } from './mutants/catalogs.ts'
import { brokenContents } from './mutants/contents.ts'
import { collect, failureOf } from './mutants/run-cases.ts'
import { brokenServers } from './mutants/servers.ts'
import { brokenPlaces, brokenStores } from './mutants/stores.ts'

test('every rule has an id of its own, a source and a sentence', () => {
  const ids = conformanceRules.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { source, text } of conformanceRules) {
    expect(source).not.toBe('')
    expect(text).toMatch(/^[A-Z`\d].*\.$|^[a-z_]+ .*\.$/)
  }
})

test('the mutants name rules there are, each its own fault', () => {
  const mutants = [brokenStores, brokenPlaces, brokenContents, brokenCatalogs, brokenServers].flat()
  const ids = new Set(conformanceRules.map(({ id }) => id))
  expect(mutants.length).toBeGreaterThan(100)
  expect(new Set(mutants.map(([name, rule]) => `${name} ${rule}`)).size).toBe(mutants.length)
  for (const [, rule] of mutants) if (!rule.includes('lacking.')) expect(ids).toContain(rule)
})

test('a case calls only the operations that it says it needs', async () => {
  const lacks = lackingOperations()
  const always = ['createNamespace', 'listNamespaces', 'dropNamespace', 'declareTable', 'describeTable']
  always.push('listTables', 'createTableVersion', 'listTableVersions')
  // What looks for changes reads these where they are not lacking.
  always.push('listTableTags', 'listTableBranches')
  for (const { cases } of catalogCases(lacks)) {
    for (const one of cases) {
      if (one.id.startsWith('lacking.')) continue
      const called = new Set<string>()
      const sound = await openCatalog('memory:')
      const catalog = new Proxy(sound, {
        get: (target, name) => {
          if (typeof name === 'string' && Object.hasOwn(operations, name)) called.add(name)
          return Reflect.get(target, name) as unknown
        },
      })
      await catalog.createNamespace({ id: ['home'] })
      const trial: CatalogTrial = { catalog, home: ['home'], id: (...names) => ['home', ...names], lacks }
      await one.run(trial)
      expect([
        one.id,
        [...called].filter((name) => !always.includes(name) && !one.needs.includes(name)),
      ]).toEqual([one.id, []])
    }
  }
})

test('what is lacking must be named rightly', () => {
  expect(lackingOperations(['rows', 'dropTable'])).toContain('insertIntoTable')
  expect(() => lackingOperations(['none' as 'rows'])).toThrow('there is no operation or group none')
  expect(() => lackingOperations(['listTables'])).toThrow('no catalog can be judged without listTables')
})

test('a failed case shows the rule and what was seen, and its place is disposed of', async () => {
  let disposed = 0
  const place = () => ({
    open: () => Promise.reject(new Error('no disk')),
    dispose: () => {
      disposed++
    },
  })
  const cases = collect((runner) => storeSuite(runner, place))
  const error = await cases.get('store.absent')!().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(BrokenRule)
  expect((error as Error).message).toBe(
    'store.absent (Reader.get): A record that was never put is undefined.\n\nno disk',
  )
  expect(disposed).toBe(1)
  expect(await failureOf(cases, 'store.state')).toContain('no disk')
})

test('a runner without describe or test is told so', () => {
  expect(() => storeSuite({} as never, () => ({ open: () => Promise.reject() }))).toThrow('give it')
})

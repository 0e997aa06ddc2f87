import { expect, test } from 'vitest'
import { conformanceRules, storeSuite } from '../../src/testing/index.ts'
import { lackingOperations } from '../../src/testing/suites/catalog-suite.ts'
import { BrokenRule } from '../../src/testing/suites/suite.ts'
import { brokenCatalogs } from './mutants/catalogs.ts'
import { brokenContents } from './mutants/contents.ts'
import { brokenIcebergs } from './mutants/iceberg.ts'
import { collect, failureOf } from './mutants/run-cases.ts'
import { brokenServers } from './mutants/servers.ts'
import { brokenPlaces, brokenStores } from './mutants/stores.ts'

test('every rule has an id of its own, a source and a sentence', () => {
  const ids = conformanceRules.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { source, text } of conformanceRules) {
    expect(source).not.toBe('')
    expect(text).toMatch(/^\S.+\.$/)
  }
})

test('the mutants name rules there are, each its own fault', () => {
  const mutants = [
    ...[brokenStores, brokenPlaces, brokenContents, brokenCatalogs, brokenServers, brokenIcebergs],
  ].flat()
  const ids = new Set(conformanceRules.map(({ id }) => id))
  expect(mutants.length).toBeGreaterThan(100)
  expect(new Set(mutants.map(([name, rule]) => `${name} ${rule}`)).size).toBe(mutants.length)
  for (const [, rule] of mutants) if (!rule.includes('lacking.')) expect(ids).toContain(rule)
})

test('what is lacking must be named rightly', () => {
  expect(lackingOperations(['rows', 'dropTable'])).toContain('insertIntoTable')
  expect(() => lackingOperations(['none' as 'rows'])).toThrow('there is no operation or group none.')
  expect(() => lackingOperations(['queryTabel' as 'rows'])).toThrow('Did you mean queryTable?')
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
  expect(await failureOf(cases, 'store.state-new')).toContain('no disk')
})

test('a runner without describe or test is told so', () => {
  expect(() => storeSuite({} as never, () => ({ open: () => Promise.reject() }))).toThrow('give it')
})

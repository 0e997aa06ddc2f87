import { expect, onTestFinished, test } from 'vitest'
import { migratePostgres, openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { storeFormat } from '../../../src/stores/postgres/schema.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

/** Names of schemas that mean something else within statements. */
const names = [
  '$$',
  'a$$b',
  '$body1$ $$',
  '$$ LANGUAGE sql; SELECT 1; --',
  `it's "quoted" \\ 100%s`,
  "E'\\'",
  '{a,b}.c',
  'new\nline',
  '日'.repeat(21),
]

test.skipIf(missingPostgres).each(names)('a schema may be named %j', async (name) => {
  const server = await sharedServer()
  const url = server.url(undefined, `?schema=${encodeURIComponent(name)}`)
  onTestFinished(async () => {
    await server.query(`DROP SCHEMA IF EXISTS "${name.replaceAll('"', '""')}" CASCADE`)
  })
  expect(await migratePostgres(url)).toEqual({ from: null, to: storeFormat })
  expect(await migratePostgres(url)).toEqual({ from: storeFormat, to: storeFormat })
  const store = await openPostgresStore(url)
  onTestFinished(() => store.close())
  for (let n = 1; n < 4; n++) {
    await store.write((tx) => {
      tx.put(['n'], (tx.get<number>(['n']) ?? 0) + 1)
      tx.append!(['log'], n)
    })
  }
  expect(await store.read((tx) => Array.from(tx.range({ prefix: [] }), ({ value }) => value))).toEqual([
    1, 2, 3, 3,
  ])
})

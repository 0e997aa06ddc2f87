import { describe, expect, onTestFinished, test } from 'vitest'
import { append, numbered } from '../../../src/base/store/append.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { PostgresStore } from '../../../src/stores/postgres/store.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { guessingStore } from '../../support/guessing-store.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

const prefix = ['f']

const stores: [string, boolean, () => Promise<Store>][] = [
  ['memory', true, async () => memoryStore()],
  ['a store that guesses', true, async () => guessingStore()],
  ['LMDB', true, async () => openLmdbStore(await freshFolder())],
  [
    'PostgreSQL',
    missingPostgres === undefined,
    async () => openPostgresStore(await (await sharedServer()).freshUrl()),
  ],
]

/** The values under the prefix. Their keys must be numbers without a gap. */
async function appended(store: Store): Promise<unknown[]> {
  const entries = await store.read((tx) => [...tx.range({ prefix })])
  const first = Number(entries[0]?.key[1] ?? 1)
  expect(entries.map(({ key }) => key)).toEqual(entries.map((_, i) => [...prefix, numbered(first + i)]))
  return entries.map(({ value }) => value)
}

for (const [name, isThere, open] of stores) {
  describe.skipIf(!isThere)(`appending to ${name}`, () => {
    const opened = async () => {
      const store = await open()
      onTestFinished(() => store.close())
      return store
    }

    test('numbers values in the order of their commits, and those of a body in its order', async () => {
      const store = await opened()
      const given: string[] = []
      await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          store
            .write((tx) => {
              append(tx, prefix, `${i}`)
              if (i % 5 === 0) append(tx, prefix, `${i}, too`)
              tx.put(['n'], i)
              if (i % 7 === 3) throw new Error('given up')
            })
            .then(
              () => given.push(`${i}`, ...(i % 5 === 0 ? [`${i}, too`] : [])),
              () => {},
            ),
        ),
      )
      expect((await appended(store)).map(String).sort()).toEqual(given.sort())
      const all = (await appended(store)).map(String)
      for (const text of all)
        if (text.endsWith(', too')) expect(all[all.indexOf(text) - 1]).toBe(text.replace(', too', ''))
    })

    test('goes on behind the last one when the first ones are removed, whatever lies beside them', async () => {
      const store = await opened()
      await store.write((tx) => {
        tx.put(['e', 'x'], 1)
        tx.put(['g'], 1)
        tx.put(['f'], 1)
      })
      for (let i = 1; i <= 12; i++)
        await store.write((tx) => append(tx, prefix, `${i}`, i === 5 ? 99 : i - 1))
      await store.write((tx) => {
        for (let i = 1; i < 12; i++) tx.remove([...prefix, numbered(i)])
      })
      await store.write((tx) => append(tx, prefix, '13', 3))
      expect(await appended(store)).toEqual(['12', '13'])
    })
  })
}

describe.skipIf(missingPostgres)('appending by several processes over PostgreSQL', () => {
  test.each([
    ['take turns', undefined],
    ['do not', false],
  ])(
    'hides no number behind a later one, however long commits take, where writers %s',
    async (_, hasTurns) => {
      const server = await sharedServer()
      const url = await server.freshUrl()
      const schema = new URL(url).searchParams.get('schema')!
      // The database holds each commit up, at its very end, for a while that nobody can foresee.
      await server.query(`
      CREATE FUNCTION ${schema}.dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(random() * 0.04); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON ${schema}.commits
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.dawdle();`)
      const address = await readAddress(url)
      const writers = await Promise.all([1, 2, 3, 4].map(() => PostgresStore.open(address, hasTurns)))
      const reader = await PostgresStore.open(address, hasTurns)
      onTestFinished(async () => {
        for (const store of [...writers, reader]) await store.close()
      })
      const acknowledged = new Set<string>()
      let isDone = false
      const reading = (async () => {
        let seen: unknown[] = []
        while (!isDone) {
          const known = [...acknowledged]
          const now = await appended(reader)
          // What was there stays where it was, and nothing comes in before it.
          expect(now.slice(0, seen.length)).toEqual(seen)
          for (const text of known) expect(now).toContain(text)
          seen = now
        }
      })()
      await Promise.all(
        writers.map(async (store, w) => {
          for (let i = 0; i < 12; i++) {
            await store.write((tx) => append(tx, prefix, `${w}.${i}`))
            acknowledged.add(`${w}.${i}`)
          }
        }),
      )
      isDone = true
      await reading
      expect(await appended(reader)).toHaveLength(48)
    },
  )
})

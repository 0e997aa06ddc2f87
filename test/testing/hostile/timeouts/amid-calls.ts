import assert from 'node:assert/strict'
import { type LocalCatalog, openCatalog } from '../../../../src/tabularium/index.ts'
import { catalogFixture } from '../../../../src/testing/index.ts'

type Use = (catalog: LocalCatalog) => Promise<void>

const id = ['t']
const first = [{ n: 0, text: 'first' }]
const more = Array.from({ length: 50 }, (_, n) => ({ n, text: `row ${n}` }))

/** A fixture that opens a catalog for each test and closes it afterwards. */
export function fixtures(folder: string): Readonly<Record<string, (use: Use) => Promise<void>>> {
  const fake = catalogFixture({ seed: { t: first } })
  const opened = (location: string) => async (use: Use) => {
    await using catalog = await openCatalog(location)
    // A test may time out before its fixture is ready.
    await catalog.createTable({ id, data: first, mode: 'ExistOk' })
    await use(catalog)
  }
  return {
    'the fake': (use) => fake({}, use),
    memory: opened('memory:'),
    'a directory': opened(folder),
  }
}

/**
 * Calls a catalog endlessly, in many ways at once. A transaction gets the signal, since catalogs other than the fake
 * wait for the end of its function.
 */
export async function callForEver(catalog: LocalCatalog, signal: AbortSignal): Promise<void> {
  const forever = () => new Promise<never>(() => {})
  const again = async (call: () => Promise<unknown>) => {
    // Calls without work may complete before any timer runs, also that of the runner.
    for (; ; await new Promise(setImmediate)) {
      try {
        await call()
      } catch (error) {
        // The catalog was closed, since its test has ended.
        if ((error as { code?: string }).code !== 'ConcurrentModification') await forever()
      }
    }
  }
  const insert = () => catalog.insertIntoTable({ id, data: more })
  await Promise.all([
    again(insert),
    again(insert),
    again(() => catalog.insertIntoTable({ id, data: more }, { signal })),
    again(() => catalog.queryTable({ id, filter: "text LIKE '%1%'", order_by: ['text'] })),
    again(() => catalog.updateTable({ id, updates: [['text', "concat(text, '!')"]], predicate: 'n = 7' })),
    again(() => catalog.deleteFromTable({ id, predicate: 'n > 40 AND n < 45' })),
    again(() => catalog.optimizeTable({ id })),
    again(async () => {
      for await (const _ of catalog.rows({ id })) await new Promise(setImmediate)
    }),
    again(() =>
      catalog.transaction(
        async (tx) => {
          await tx.insertIntoTable({ id, data: more })
          await forever()
        },
        { signal },
      ),
    ),
    again(async () => {
      const { transaction_id: transaction } = await catalog.beginTransaction({})
      await catalog.insertIntoTable({ id, data: more }, { transaction })
      await forever()
    }),
    again(async () => {
      for await (const _ of catalog.watch()) await new Promise(setImmediate)
      await forever()
    }),
  ])
}

/** Asserts that a catalog has no partial changes, and still works. */
export async function beSound(catalog: LocalCatalog, isFresh: boolean): Promise<void> {
  const { count } = await catalog.countTableRows({ id })
  if (isFresh) assert.equal(count, 1)
  assert.equal((await catalog.countTableRows({ id, predicate: "text = 'first'" })).count, 1)
  const { version } = await catalog.insertIntoTable({ id, data: more })
  assert.ok((await catalog.describeTable({ id, load_detailed_metadata: true })).version! >= version!)
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: more })
  })
  const { transaction_id: transaction } = await catalog.beginTransaction({})
  await catalog.insertIntoTable({ id, data: more }, { transaction })
  await catalog.commitTransaction({ id: [transaction] })
  assert.equal((await catalog.countTableRows({ id })).count, count + 3 * more.length)
  // Leaked slots and memory would be missing.
  await Promise.all(Array.from({ length: 20 }, () => catalog.insertIntoTable({ id, data: more })))
  await catalog.optimizeTable({ id })
  await catalog.vacuum({ graceMillis: 0 })
  assert.equal((await catalog.countTableRows({ id })).count, count + 23 * more.length)
  assert.deepEqual((await catalog.verify()).findings, [])
}

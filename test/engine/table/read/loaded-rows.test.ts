import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  decodeArrow,
  type QueryOptions,
  type Snapshot,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'

const row = fc.record({
  n: fc.option(fc.integer({ min: -3, max: 3 })),
  name: fc.option(fc.constantFrom('a', 'b', 'ähnlich', 'a much longer name of a row')),
  of: fc.record({ x: fc.integer({ min: 0, max: 4 }), y: fc.option(fc.boolean()) }),
  list: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 3 }),
})
const rows = fc.array(row, { minLength: 1, maxLength: 20, size: 'max' })

const predicate = fc.oneof(
  fc.constantFrom(
    'n > 0',
    'n = 2',
    'n IN (1, 3)',
    "name LIKE 'a%'",
    'name IS NULL',
    'of.x = 1 AND n <> 1',
    'true',
    'false',
    '_rowid < 30',
    '_rowoffset >= 10',
    'later > 5',
    // Not for rows where n is 0, which may come late, or not at all.
    '6 / n > 2',
  ),
  fc.integer({ min: -4, max: 4 }).map((value) => `n < ${value} OR of.y`),
)

const step = fc.oneof(
  { weight: 4, arbitrary: rows.map((more) => ({ insert: more })) },
  predicate.map((rest) => ({ delete: rest })),
  fc.constant({ add: 'n + 5' }),
  fc.constant({ optimize: true }),
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What a step makes of a version: nothing if it fails, as one that deletes by an unknown column. */
async function after(engine: TableEngine, snapshot: Snapshot, step: Step): Promise<Snapshot> {
  try {
    const change =
      'insert' in step
        ? await engine.insertRows(snapshot, await toArrowTable(step.insert))
        : 'delete' in step
          ? engine.deleteRows(step.delete)
          : 'add' in step
            ? engine.addColumns([{ name: 'later', expression: step.add }])
            : await engine.optimizeRows(snapshot)
    return (await change.apply(snapshot)).snapshot
  } catch (error) {
    if (error instanceof CatalogError) return snapshot
    throw error
  }
}

const query = fc.record(
  {
    filter: predicate,
    columns: fc.constantFrom(['name'], ['of.x', 'n', 'list'], { twice: 'n', again: 'n', sum: 'n + of.x' }, [
      '_rowid',
      'name',
    ]),
    limit: fc.integer({ min: 0, max: 50 }),
    offset: fc.integer({ min: 0, max: 50 }),
    maxBytes: fc.constantFrom(1_000, 1_000_000),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<QueryOptions>

/** The bytes of an answer, or the error. */
async function outcome(
  ask: () => Promise<Uint8Array | AsyncIterable<Uint8Array> | number>,
): Promise<unknown> {
  try {
    const answer = await ask()
    if (typeof answer === 'number' || answer instanceof Uint8Array) return answer
    const parts: Uint8Array[] = []
    for await (const part of answer) parts.push(part)
    return new Uint8Array(Buffer.concat(parts))
  } catch (error) {
    if (error instanceof CatalogError) return `${error.code}: ${error.message}`
    throw error
  }
}

const asked = (engine: TableEngine, snapshot: Snapshot, options: QueryOptions) => ({
  whole: () => outcome(() => engine.queryRows(snapshot, options)),
  parts: () => outcome(() => engine.streamRows(snapshot, options)),
  count: () => outcome(() => engine.countRows(snapshot, { predicate: options.filter })),
})

test('queries and counts of a small version are the same from the cache as without one', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.array(step, { maxLength: 6, size: 'max' }),
      fc.array(query, { minLength: 1, maxLength: 5, size: 'max' }),
      async (first, steps, queries) => {
        const content = memoryContent()
        const now = () => 0
        const kept = tableEngine({ content, now })
        const bare = tableEngine({ content, now, cacheBytes: 0 })
        let snapshot = await kept.create('t', await toArrowTable(first))
        for (const step of steps) snapshot = await after(kept, snapshot, step)
        // What is in the cache differs from query to query, and all of it in the second round.
        for (const options of [...queries, ...queries]) {
          const [ours, theirs] = [kept, bare].map((engine) => asked(engine, snapshot, options))
          for (const way of ['whole', 'parts', 'count'] as const)
            expect(await ours![way]()).toEqual(await theirs![way]())
        }
      },
    ),
    { numRuns: 16 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
})

test('a query of a small version reports progress, holds memory and stops as any other', async () => {
  const engine = tableEngine({ content: memoryContent() })
  const snapshot = await engine.create('t', await toArrowTable([{ n: 1 }, { n: 2 }, { n: 3 }]))
  const seen = async () => {
    const told: unknown[] = []
    let held = 0
    const memory = {
      take: (bytes: number) => {
        held += bytes
        return undefined
      },
      give: (bytes: number) => {
        held -= bytes
      },
    }
    const onProgress = (progress: unknown) => told.push(progress)
    await engine.queryRows(snapshot, { filter: 'n > 1', onProgress, memory })
    return { told, held }
  }
  const first = await seen()
  expect(first.told).toEqual([{ rowsDone: 3, rowsTotal: 3 }])
  expect(await seen()).toEqual(first)
  const abort = new AbortController()
  const stopped = engine.queryRows(snapshot, { filter: 'n > 1', signal: abort.signal })
  abort.abort(new Error('stopped'))
  await expect(stopped).rejects.toThrow('stopped')
})

test('a predicate that is true for all rows by their statistics counts and answers no deleted ones', async () => {
  const engine = tableEngine({ content: memoryContent() })
  const first = await engine.create('t', await toArrowTable([{ n: 1 }, { n: 2 }, { n: 3 }]))
  const { snapshot } = await engine.deleteRows('n = 2').apply(first)
  for (const predicate of ['n = 1', 'n < 9', 'n IS NOT NULL', 'n > 9']) {
    const { numRows } = await decodeArrow(await engine.queryRows(snapshot, { filter: predicate }))
    expect([predicate, await engine.countRows(snapshot, { predicate })]).toEqual([predicate, numRows])
  }
  expect(await engine.countRows(snapshot, { predicate: 'n < 9' })).toBe(2)
})

import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { rowsOf } from '../../support/rows.ts'

/*
 * A small insert over PostgreSQL begins with the table and the version that its process met last. Others may have changed
 * all of that meanwhile. Whatever they did, the insert must end as if it had looked first.
 */

const names = ['a', 'b']
const factor = Number(process.env.HISTORY_RUNS ?? 1)

async function opened(count: number): Promise<LocalCatalog[]> {
  const server = await sharedServer()
  const url = await server.freshUrl()
  const content = memoryContent()
  const open = async () => {
    const catalog = await openCatalog({ store: await openPostgresStore(url), content, root: 'memory://here' })
    onTestFinished(() => catalog.close())
    return catalog
  }
  return Promise.all(Array.from({ length: count }, open))
}

const name = fc.constantFrom('a', 'a', 'b')
const kind = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('create', 'drop', 'rename', 'rename', 'add', 'remove', 'insert') },
  { weight: 1, arbitrary: fc.constantFrom('vacuum', 'restore') },
)
/** What one process does, and then an insert of the other. */
const pair = fc
  .tuple(kind, name, fc.nat(4), name, fc.constantFrom('insert', 'insert y'))
  .map(([kind, name, by, into, insert]): Step[] => [
    { by: Math.min(by, 1), kind, name },
    { by: 1 - Math.min(by, 1), kind: insert, name: into },
  ])

interface Step {
  readonly by: number
  readonly kind: string
  readonly name: string
}

const calls: Record<string, (c: LocalCatalog, id: string[], n: number) => Promise<unknown>> = {
  insert: (c, id, n) => c.insertIntoTable({ id, data: [{ x: n }] }),
  'insert y': (c, id, n) => c.insertIntoTable({ id, data: [{ x: n, y: n }] }),
  create: (c, id, n) => c.createTable({ id, data: [{ x: n }] }),
  drop: (c, id) => c.dropTable({ id }),
  rename: (c, id) => c.renameTable({ id, new_table_name: id[0] === 'a' ? 'b' : 'a' }),
  add: (c, id, n) => c.alterTableAddColumns({ id, new_columns: [{ name: 'y', expression: `${n}` }] }),
  remove: (c, id) => c.alterTableDropColumns({ id, columns: ['y'] }),
  vacuum: (c) => c.vacuum({}),
  restore: (c, id) => c.restoreTable({ id, version: 1 }),
}

const others = (kind: string, name = 'a'): Step[] => [
  { by: 0, kind, name },
  { by: 1, kind: 'insert', name: 'a' },
]
/** The name leads to another table, to none, to other columns, or to files that a vacuum took. */
const known: [Step[][]][] = [
  [[others('rename'), others('create')]],
  [[others('drop'), others('create')]],
  [[others('add'), [{ by: 1, kind: 'insert y', name: 'a' }], others('remove')]],
  [[others('vacuum'), others('insert'), others('restore')]],
]

/** How a call ended, and the versions and counts that it answered with. */
async function ended(catalog: LocalCatalog, { kind, name }: Step, n: number): Promise<unknown> {
  try {
    const answer = (await calls[kind]!(catalog, [name], n)) as Record<string, unknown>
    return kind === 'vacuum' ? 'done' : (answer.version ?? 'done')
  } catch (error) {
    return codeOf(error)
  }
}

/** The rows of a table in an order of their own, or why there are none. */
async function rows(catalog: LocalCatalog, name: string): Promise<unknown> {
  try {
    return (await rowsOf(catalog, [name])).map((row) => JSON.stringify(row)).sort()
  } catch (error) {
    return codeOf(error)
  }
}

function codeOf(error: unknown): string {
  if (error instanceof CatalogError) return error.code
  throw error
}

describe.skipIf(missingPostgres)('small inserts over PostgreSQL, from what was met last', () => {
  test('end as those of a catalog in memory, whatever another process did before', async () => {
    const catalogs = await opened(2)
    await fc.assert(
      fc.asyncProperty(fc.array(pair, { minLength: 1, maxLength: 4 }), async (steps) => {
        const oracle = await openCatalog('memory:')
        for (const name of names) await catalogs[0]!.dropTable({ id: [name] }).catch(() => {})
        // Both processes know the first table.
        const first = ['create', 'insert', 'insert'].map((kind, i) => ({ by: i % 2, kind, name: 'a' }))
        for (const [n, one] of [...first, ...steps.flat()].entries()) {
          const found = await ended(catalogs[one.by]!, one, n)
          expect(found, JSON.stringify(one)).toEqual(await ended(oracle, one, n))
        }
        for (const name of names) {
          const wanted = await rows(oracle, name)
          for (const catalog of catalogs) expect(await rows(catalog, name)).toEqual(wanted)
        }
        await oracle.close()
      }),
      { numRuns: 12 * factor, examples: known },
    )
    // No attempt from an outdated guess is recorded as a failure.
    const { transactions } = await catalogs[0]!.listTransactions({ limit: 1_000 } as never)
    expect(transactions.filter(({ status }: { status: string }) => status !== 'Succeeded')).toEqual([])
  }, 60_000)

  test('are all there or refused, while two processes insert and a third renames the table', async () => {
    const [first, second, third] = await opened(3)
    await first!.createTable({ id: ['a'], data: [{ x: -1 }] })
    const inserted: number[] = []
    let isOver = false
    const insert = async (catalog: LocalCatalog, from: number) => {
      for (let x = from; x < from + 40; x++) {
        const name = names[x % 2]!
        const done = catalog.insertIntoTable({ id: [name], data: [{ x }] })
        await done.then(
          () => inserted.push(x),
          (error) => expect(codeOf(error)).toBe('TableNotFound'),
        )
      }
    }
    const rename = async () => {
      for (let n = 0; !isOver; n++)
        await third!.renameTable({ id: [names[n % 2]!], new_table_name: names[(n + 1) % 2]! })
      return third!.listTables({ id: [] })
    }
    const renaming = rename()
    await Promise.all([insert(first!, 0), insert(second!, 100)])
    isOver = true
    const { tables } = await renaming
    const found = (await rowsOf(third!, tables)).map(({ x }) => Number(x)).sort((a, b) => a - b)
    expect(found).toEqual([-1, ...inserted.sort((a, b) => a - b)])
    expect(inserted.length).toBeGreaterThan(0)
  })
})

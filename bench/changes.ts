/** How fast are rows updated and merged, columns added, and rows ordered and taken, beside LanceDB and DuckDB? */
import { join } from 'node:path'
import { type Field, field, int32, Table } from '@uwdata/flechette'
import { type LocalCatalog, openCatalog } from '../dist/tabularium/index.js'
import { makeBatch, makeColumn } from '../src/engine/arrow/batch.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { race } from './support/measure.ts'
import { createRows, openDuckdb } from './support/peers/duckdb.ts'
import { arrowTable, lancedb } from './support/peers/lance-rows.ts'
import { type Seeds, seedsOf, tableOf } from './support/predicates.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

/*
 * Environment: ONLY (part of a change's name), ROUNDS, FEW and MANY (rows), PEERS=0 (without them).
 */

const few = Number(process.env.FEW ?? pick(100_000, 1_000_000))
const many = Number(process.env.MANY ?? pick(400_000, 10_000_000))
const merged = few / 10
const taken = 1_000
const chunk = 1_000_000
const turns = Number(process.env.ROUNDS ?? rounds)
const withPeers = process.env.PEERS !== '0'

about(`Two tables with a unique integer: one of ${count(few)} rows and thirteen more columns (numbers, texts, lists, structs,
dates), whose rows are changed, and one of ${count(many)} rows and three more (two numbers, a text). Each change is undone
before the next one, outside the clock. Ours is the catalog on disk, with records and syncs, as it is opened by default;
it keeps what it has read. LanceDB's tables lie in files that it does not sync, and it uses all cores. DuckDB's lie in one
file, and it works on two threads. Processor time is that of all threads of the process.`)

/** What a contender does in its turn, and how that is undone. */
interface Work {
  readonly run: () => Promise<unknown>
  readonly undo?: () => Promise<unknown>
}

type Contender = 'ours' | 'lance' | 'duckdb'

interface Question extends Partial<Record<Contender, Work>> {
  readonly title: string
  readonly ours: Work
  readonly remark?: string
}

const folder = newFolder('changes')
const catalog: LocalCatalog = await openCatalog(join(folder, 'ours'))
const lance = withPeers ? await lancedb().connect(join(folder, 'lance')) : undefined
const duckdb = withPeers ? await duckdbIn(join(folder, 'duckdb')) : undefined

for (const question of await changesOfRows()) await ask(question)
for (const question of await onMany()) await ask(question)
await catalog.close()

async function changesOfRows(): Promise<Question[]> {
  const seeds = seedsOf(few)
  const id = ['few']
  const table = await fill('few', seeds, few, (part) => part)
  if (duckdb) await createRows(duckdb, 'few', seeds, '*')
  const { version } = await catalog.describeTable({ id, load_detailed_metadata: true })
  const restore = () => catalog.restoreTable({ id, version: version! })
  const first = await table?.version()
  const restoreTheirs = async () => {
    await table!.checkout(first!)
    await table!.restore()
  }
  const update = (title: string, predicate: string): Question => ({
    title: `update ${title} (${predicate})`,
    ours: {
      run: () =>
        catalog.updateTable({
          id,
          updates: [
            ['a', 'a + 1'],
            ['category', "'c99'"],
          ],
          predicate,
        }),
      undo: restore,
    },
    ...(table && {
      lance: {
        run: () => table.update({ where: predicate, valuesSql: { a: 'a + 1', category: "'c99'" } }),
        undo: restoreTheirs,
      },
    }),
    ...(duckdb && {
      duckdb: {
        run: () => duckdb.run(`UPDATE few SET a = a + 1, category = 'c99' WHERE ${predicate}`),
      },
    }),
  })
  // Half of them are in the table, and these are spread over all of it.
  const idOf = (row: number) => (row < merged / 2 ? row * 20 : few + row)
  const given = arrowBytes(withId(tableOf(seeds, 0, merged), idOf))
  if (duckdb) {
    const replaced = `SELECT CASE WHEN id < ${merged / 2} THEN id * 20 ELSE ${few} + id END AS id, * EXCLUDE id`
    await duckdb.run(`CREATE TABLE given AS ${replaced} FROM few WHERE id < ${merged}`)
  }
  return [
    update('1 %', 'key % 100 = 3'),
    update('50 %', 'key % 2 = 1'),
    {
      title: `merge ${count(merged)} rows, half of which are new`,
      ours: {
        run: () =>
          catalog.mergeInsertIntoTable({
            id,
            on: 'id',
            data: given,
            when_matched_update_all: true,
            when_not_matched_insert_all: true,
          }),
        undo: restore,
      },
      ...(table && {
        lance: {
          run: () =>
            table
              .mergeInsert('id')
              .whenMatchedUpdateAll()
              .whenNotMatchedInsertAll()
              .execute(arrowTable(given) as never),
          undo: restoreTheirs,
        },
      }),
      ...(duckdb && {
        duckdb: {
          run: () =>
            duckdb.run(
              'MERGE INTO few USING given USING (id) WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT',
            ),
          undo: () => duckdb.run(`DELETE FROM few WHERE id >= ${few}`),
        },
      }),
    },
  ]
}

async function onMany(): Promise<Question[]> {
  const seeds = seedsOf(many)
  const id = ['many']
  const columns = ['id', 'a', 'x', 'name']
  const table = await fill('many', seeds, many, (part) => part.select(columns))
  if (duckdb) await createRows(duckdb, 'many', seeds, columns.join())
  const step = Math.floor(many / taken)
  const places = Array.from({ length: taken }, (_, i) => i * step + ((i * 7919) % step))
  const order = (column: 'x' | 'name' | 'id', shown = ['id', column]): Question => ({
    title: `order by ${column}, limit 100`,
    ours: {
      run: () =>
        catalog.queryTable({
          id,
          columns: { column_names: shown },
          order_by: [{ column_name: column, ascending: false }],
          k: 100,
        }),
    },
    ...(table && {
      lance: {
        run: () =>
          table.query().select(shown).orderBy({ columnName: column, ascending: false }).limit(100).toArrow(),
      },
    }),
    ...(duckdb && {
      duckdb: { run: () => rowsOf(`SELECT ${shown.join()} FROM many ORDER BY ${column} DESC LIMIT 100`) },
    }),
  })
  const expression = 'a * 2 + id'
  return [
    {
      title: `add a computed column to ${count(many)} rows (${expression})`,
      remark: 'a column of nulls that is then updated',
      ours: {
        run: () => catalog.alterTableAddColumns({ id, new_columns: [{ name: 'made', expression }] }),
        undo: () => catalog.alterTableDropColumns({ id, columns: ['made'] }),
      },
      ...(table && {
        lance: {
          run: () => table.addColumns([{ name: 'made', valueSql: expression }]),
          undo: () => table.dropColumns(['made']),
        },
      }),
      ...(duckdb && {
        duckdb: {
          run: async () => {
            await duckdb.run('BEGIN')
            await duckdb.run('ALTER TABLE many ADD COLUMN made INTEGER')
            await duckdb.run(`UPDATE many SET made = ${expression}`)
            await duckdb.run('COMMIT')
          },
          undo: () => duckdb.run('ALTER TABLE many DROP COLUMN made'),
        },
      }),
    },
    order('x'),
    order('name'),
    // The latest rows.
    order('id', ['id', 'x', 'name']),
    {
      title: `take ${count(taken)} of ${count(many)} rows`,
      ours: {
        run: () =>
          catalog.queryTable({
            id,
            filter: `_rowid IN (${places.join()})`,
            columns: { column_names: columns },
            k: taken,
          }),
      },
      ...(table && { lance: { run: () => table.takeOffsets(places).select(columns).toArrow() } }),
      ...(duckdb && {
        duckdb: { run: () => rowsOf(`SELECT * FROM many WHERE rowid IN (${places.join()})`) },
      }),
    },
  ]
}

/** Measures one question by the clock, and by the processor time of all threads. */
async function ask({ title, remark, ...works }: Question): Promise<void> {
  if (!title.includes(process.env.ONLY ?? '')) return
  const used: Record<string, number[]> = {}
  const contenders = Object.entries(works).map(([who, { run, undo }]) => [
    who,
    async (round: number) => {
      const cpu = process.cpuUsage()
      const start = performance.now()
      await run()
      const took = performance.now() - start
      const { user, system } = process.cpuUsage(cpu)
      if (round > 0) used[who] = [...(used[who] ?? []), (user + system) / 1_000]
      await undo?.()
      return took
    },
  ])
  const took = await race(turns, Object.fromEntries(contenders), Number.POSITIVE_INFINITY)
  const conclude = (name: string, measured: Record<string, number[]>, target?: { group: string }) =>
    figure(name, measured.ours!, {
      unit: 'ms',
      against: [
        ...(measured.lance
          ? [
              {
                peer: 'lancedb',
                samples: measured.lance,
                remark: 'not synced to disk; all cores',
                target: target && { atLeast: 1, ...target },
              },
            ]
          : []),
        ...(measured.duckdb
          ? [{ peer: 'DuckDB', samples: measured.duckdb, remark: remark ?? '2 threads' }]
          : []),
      ],
    })
  conclude(title, took, { group: 'changes and ordered rows against lancedb' })
  conclude(`${title}: processor time`, used)
}

/** Puts the same rows into ours and LanceDB's table of that name. Returns the latter. */
async function fill(name: string, seeds: Seeds, rows: number, choose: (part: Table) => Table) {
  let theirs: Awaited<ReturnType<NonNullable<typeof lance>['createTable']>> | undefined
  for (let start = 0; start < rows; start += chunk) {
    const part = tableOf(seeds, start, Math.min(start + chunk, rows))
    const data = arrowBytes(choose(withId(part, (row) => start + row)))
    if (start === 0) await catalog.createTable({ id: [name], data })
    else await catalog.insertIntoTable({ id: [name], data })
    if (lance === undefined) continue
    const table = arrowTable(data) as never
    if (theirs === undefined) theirs = await lance.createTable(name, table)
    else await theirs.add(table)
  }
  return theirs
}

function withId({ schema, children, numRows }: Table, idOf: (row: number) => number): Table {
  const values = Int32Array.from({ length: numRows }, (_, row) => idOf(row))
  const ids = makeColumn(int32(), [makeBatch(int32(), { length: numRows, values })])
  const fields: Field[] = [field('id', int32()), ...schema.fields]
  return new Table({ ...schema, fields }, [ids, ...children])
}

/** The report names a peer that is missing, and leaves it out. */
async function duckdbIn(path: string) {
  try {
    return await openDuckdb(path)
  } catch (error) {
    console.error(`Without DuckDB: ${(error as Error).message}`)
    return undefined
  }
}

async function rowsOf(statement: string) {
  return (await duckdb!.runAndReadAll(statement)).getRows()
}

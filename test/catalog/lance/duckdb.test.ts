import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, onTestFinished } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { LanceDuckdb } from './clients/duckdb.ts'
import { releases, requirePython } from './clients/python.ts'

limitEach(400)

type Row = [id: number, name: string | null]

const id = fc.integer({ min: 0, max: 30 })
const name = fc.option(fc.constantFrom('a', "it's", 'é', ''))
const rows = fc.uniqueArray(fc.tuple(id, name), { minLength: 1, maxLength: 8, selector: ([id]) => id })
const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), rows }),
  fc.record({ kind: fc.constant('merge' as const), rows, inserts: fc.boolean() }),
  fc.record({ kind: fc.constant('drop' as const), rows }),
  fc.record({ kind: fc.constant('update' as const), below: id, name }),
  fc.record({ kind: fc.constant('delete' as const), at: id }),
  fc.record({ kind: fc.constant('optimize' as const) }),
)
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

function after(there: readonly Row[], change: Change): Row[] {
  switch (change.kind) {
    case 'insert':
      return [...there, ...change.rows]
    case 'merge': {
      const given = new Map(change.rows)
      const known = new Set(there.map(([id]) => id))
      const fresh = change.inserts ? change.rows.filter(([id]) => !known.has(id)) : []
      return [...there.map(([id, name]): Row => [id, given.has(id) ? given.get(id)! : name]), ...fresh]
    }
    case 'drop':
      return there.filter(([id]) => !new Map(change.rows).has(id))
    case 'update':
      return there.map(([id, name]): Row => [id, id < change.below ? change.name : name])
    case 'delete':
      return there.filter(([id]) => id !== change.at)
    case 'optimize':
      return [...there]
  }
}

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort()

describe('DuckDB', () => {
  lanceIt('reads each version that we made of what Python wrote', async ({ skip }) => {
    const python = await requirePython(releases[0], skip)
    const duckdb = await LanceDuckdb.start()
    if (typeof duckdb === 'string') return skip(duckdb)
    onTestFinished(() => duckdb.end())
    const folder = await freshFolder()
    const path = join(folder, 'docs.lance')
    const wrote = `
import lance, pyarrow as pa
ids = pa.array(range(20), pa.int64())
names = pa.array([None if i % 3 == 0 else f"n{i}" for i in range(20)])
lance.write_dataset(pa.table({"id": ids, "name": names}), ${JSON.stringify(path)})`
    await promisify(execFile)(python, ['-c', wrote])
    const catalog = closedAfterwards(await openCatalog(folder))
    await catalog.registerTable({ id: ['docs'], location: pathToFileURL(path).href })
    let model = Array.from({ length: 20 }, (_, i): Row => [i, i % 3 === 0 ? null : `n${i}`])
    const versions = [model]
    expect(sorted(await duckdb.rows(path))).toEqual(sorted(model))
    for (const asked of fc.sample(change, { seed: 20261120, numRuns: 40 })) {
      await make(catalog, asked)
      model = after(model, asked)
      expect([asked, sorted(await duckdb.rows(path))]).toEqual([asked, sorted(model)])
      const { version } = await catalog.describeTable({ id: ['docs'], load_detailed_metadata: true })
      while (versions.length < version!) versions.push(model)
    }
    expect(versions.length).toBeGreaterThan(20)
    for (const [at, rows] of versions.entries()) {
      const found = await rowsOf(catalog, ['docs'], { version: at + 1 })
      expect(sorted(found.map(({ id, name }): Row => [Number(id), name as string | null]))).toEqual(
        sorted(rows),
      )
    }
  })
})

async function make(catalog: Awaited<ReturnType<typeof openCatalog>>, change: Change): Promise<void> {
  const id = ['docs']
  const data = 'rows' in change ? change.rows.map(([id, name]) => ({ id, name })) : []
  const given = data.map((row) => ({ ...row, id: BigInt(row.id) }))
  const literal = (text: string | null) => (text === null ? 'NULL' : `'${text.replaceAll("'", "''")}'`)
  switch (change.kind) {
    case 'insert':
      await catalog.insertIntoTable({ id, data: given })
      return
    case 'merge':
      await catalog.mergeInsertIntoTable({
        id,
        on: 'id',
        data: given,
        when_matched_update_all: true,
        when_not_matched_insert_all: change.inserts,
      })
      return
    case 'drop':
      await catalog.mergeInsertIntoTable({ id, on: 'id', data: given, when_matched_delete: true })
      return
    case 'update':
      await catalog.updateTable({
        id,
        updates: [['name', literal(change.name)]],
        predicate: `id < ${change.below}`,
      })
      return
    case 'delete':
      await catalog.deleteFromTable({ id, predicate: `id = ${change.at}` })
      return
    case 'optimize':
      await catalog.optimizeTable({ id })
  }
}

import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Table } from '@lancedb/lancedb'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lance, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { foundPythons } from './clients/python.ts'
import { servedForLance } from './served.ts'

limitEach(300)

/* Schema metadata that the catalog sets, beside clients of Lance that read the versions and go on from them. */

async function managed() {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder, { managedVersioning: true }))
  const server = await servedForLance(catalog)
  return { catalog, server, db: await lance.connectNamespace('rest', { uri: server.url }) }
}

interface Row {
  readonly n: number
  readonly name: string
}
type Metadata = Readonly<Record<string, string>>

const some = (from: number, count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({ n: from + i, name: `row ${from + i}` }))

const inOrder = (rows: readonly (readonly unknown[])[]) => rows.map((row) => JSON.stringify(row)).sort()
const cells = (rows: readonly object[]) =>
  inOrder((rows as readonly Row[]).map(({ n, name }) => [Number(n), name]))

/** What a version of a table holds. */
interface Held {
  readonly metadata: Metadata
  readonly rows: readonly string[]
}

/** All versions of a table, as LanceDB for Node reads them. */
async function readByNode(table: Table): Promise<Held[]> {
  await table.checkoutLatest()
  const all: Held[] = []
  for (let version = 1, last = await table.version(); version <= last; version++) {
    await table.checkout(version)
    const { metadata } = await table.schema()
    all.push({
      metadata: Object.fromEntries(metadata),
      rows: cells((await table.query().toArray()) as object[]),
    })
  }
  await table.checkoutLatest()
  return all
}

/** What a transaction tells of schema metadata. */
interface Told {
  readonly updates: Metadata
  readonly replace: boolean
}

/** The same, as Lance for Python does, and what it finds in the transaction of each. */
async function readByPython(
  python: string,
  url: string,
  name: string,
): Promise<(Held & { told: Told | null })[]> {
  const script = fileURLToPath(new URL('clients/metadata.py', import.meta.url))
  const { stdout } = await promisify(execFile)(python, [script, url, name], { maxBuffer: 1 << 28 })
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const { rows, ...rest } = JSON.parse(line) as {
        rows: [number, string][]
        metadata: Metadata
        told: Told
      }
      return { ...rest, rows: inOrder(rows) }
    })
}

const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('', 'é', '😀', '{"a":1}', 'x'.repeat(9_000)),
)
const metadatas = fc
  .uniqueArray(fc.tuple(texts, texts), { maxLength: 4, selector: ([key]) => key })
  .map((pairs): Metadata => Object.fromEntries(pairs))

const steps = fc.oneof(
  { weight: 4, arbitrary: metadatas.map((metadata) => ({ kind: 'metadata', metadata }) as const) },
  ...(['insert', 'delete', 'update', 'merge'] as const).flatMap((kind) =>
    [true, false].map((isClients) => ({
      weight: 1,
      arbitrary: fc.nat(20).map((at) => ({ kind, at, isClients }) as const),
    })),
  ),
  { weight: 1, arbitrary: fc.constant({ kind: 'index' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'optimize' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'columns' } as const) },
)
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never

/** What a step means. */
function after({ metadata, rows }: { metadata: Metadata; rows: readonly Row[] }, step: Step) {
  if (step.kind === 'metadata') return { metadata: step.metadata, rows }
  if (!('at' in step)) return { metadata, rows }
  const { kind, at } = step
  const there = rows.some(({ n }) => n === at)
  if (kind === 'insert') return { metadata, rows: [...rows, ...some(at + 100, 2)] }
  if (kind === 'delete') return { metadata, rows: rows.filter(({ n }) => n !== at) }
  const changed = rows.map((row) => (row.n === at ? { n: at, name: kind } : row))
  return { metadata, rows: kind === 'merge' && !there ? [...rows, { n: at, name: kind }] : changed }
}

describe('schema metadata of tables of Lance', () => {
  lanceIt('each version is as a model says, to the catalog and to clients', async () => {
    const { catalog, server, db } = await managed()
    const [python] = await foundPythons()
    let number = 0
    const make = async (id: string[], table: Table, step: Step) => {
      if (step.kind === 'metadata') {
        const { metadata } = await catalog.updateTableSchemaMetadata({ id, metadata: step.metadata })
        expect(metadata).toEqual(step.metadata)
        return
      }
      if (step.kind === 'index')
        return catalog.createTableScalarIndex({
          id,
          column: 'n',
          index_type: 'BTREE',
          name: 'by_n',
          replace: true,
        } as never)
      if (step.kind === 'columns') {
        await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'twice', expression: 'n * 2' }] })
        await catalog.alterTableAlterColumns({ id, alterations: [{ path: 'twice', rename: 'double' }] })
        return catalog.alterTableDropColumns({ id, columns: ['double'] })
      }
      if (step.kind === 'optimize') return catalog.optimizeTable({ id })
      const { kind, at, isClients } = step
      const merged = [{ n: at, name: 'merge' }]
      if (isClients) {
        // Its handle is stale.
        if (kind === 'insert') return table.add(some(at + 100, 2) as never)
        if (kind === 'delete') return table.delete(`n = ${at}`)
        if (kind === 'update') return table.update({ where: `n = ${at}`, values: { name: kind } })
        return table.mergeInsert('n').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(merged)
      }
      if (kind === 'insert') return catalog.insertIntoTable({ id, data: some(at + 100, 2) as never })
      if (kind === 'delete') return catalog.deleteFromTable({ id, predicate: `n = ${at}` })
      if (kind === 'update')
        return catalog.updateTable({ id, predicate: `n = ${at}`, updates: [['name', `'${kind}'`]] })
      return catalog.mergeInsertIntoTable({
        id,
        on: 'n',
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
        data: merged,
      })
    }
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 3, maxLength: 9 }), async (asked) => {
        const name = `t${number++}`
        const table = await db.createTable(name, some(0, 12) as never)
        let model = { metadata: {} as Metadata, rows: some(0, 12) as readonly Row[] }
        const versions = [model]
        for (const step of asked) {
          await make([name], table, step)
          model = after(model, step)
          const version = (await catalog.listTableVersions({ id: [name] })).versions.at(-1)!.version
          // A change without effect makes no version, or one with the same rows: as Lance decides.
          if (step.kind === 'metadata') expect(version).toBe(versions.length + 1)
          while (versions.length < version) versions.push(model)
        }
        const held = versions.map(({ metadata, rows }) => ({ metadata, rows: cells(rows) }))
        expect(await readByNode(table)).toEqual(held)
        for (const [i, { metadata, rows }] of held.entries()) {
          const found = await catalog.describeTable({
            id: [name],
            version: i + 1,
            load_detailed_metadata: true,
          })
          expect(found.metadata).toEqual(metadata)
          expect(cells(await rowsOf(catalog, [name], { version: i + 1 }))).toEqual(rows)
        }
        if (python === undefined) return
        const read = await readByPython(python, server.url, name)
        expect(read.map(({ metadata, rows }) => ({ metadata, rows }))).toEqual(held)
        const set = asked.flatMap((step) => (step.kind === 'metadata' ? [step.metadata] : []))
        expect(read.flatMap(({ told }) => told ?? [])).toEqual(
          set.map((updates) => ({ updates, replace: true })),
        )
        expect((await catalog.verify()).findings).toEqual([])
      }),
      { numRuns: 5 },
    )
  })

  lanceIt('indexes stay, and find rows', async () => {
    const { catalog, db } = await managed()
    const id = ['t']
    const table = await db.createTable(
      't',
      some(0, 300).map((row) => ({ ...row, vector: [row.n, 1] })),
    )
    await table.createIndex('n', { config: lance.Index.btree() })
    await table.createIndex('name', { config: lance.Index.fts() })
    await table.createIndex('vector', { config: lance.Index.ivfFlat({ numPartitions: 2 }) })
    const stats = async () =>
      Promise.all(
        ['n_idx', 'name_idx', 'vector_idx'].map((index_name) =>
          catalog.describeTableIndexStats({ id, index_name }),
        ),
      )
    const before = await stats()
    await catalog.updateTableSchemaMetadata({ id, metadata: { a: 'b' } })
    expect(await stats()).toEqual(before)
    expect(before.map(({ num_indexed_rows }) => num_indexed_rows)).toEqual([300, 300, 300])
    await table.checkoutLatest()
    expect((await table.schema()).metadata.get('a')).toBe('b')
    expect(await table.query().where('n = 7').explainPlan()).toContain('ScalarIndexQuery')
    expect(await table.search([9, 1]).limit(1).explainPlan()).toContain('ANNIvfPartition')
    const [found] = await table.vectorSearch([9, 1]).limit(1).toArray()
    expect(found.n).toBe(9)
    expect((await table.search('42', 'fts').toArray()).map(({ n }) => n)).toEqual([42])
    // Writers of Lance keep them from this version on.
    await table.add([{ n: 300, name: 'row 300', vector: [300, 1] }])
    await table.optimize()
    expect((await stats()).map(({ num_indexed_rows }) => num_indexed_rows)).toEqual([301, 301, 301])
    expect((await table.schema()).metadata.get('a')).toBe('b')
  })

  lanceIt('branches, and what they began with, have their own', async () => {
    const { catalog, server, db } = await managed()
    const id = ['t']
    await db.createTable('t', some(0, 3) as never)
    await catalog.updateTableSchemaMetadata({ id, metadata: { on: 'main' } })
    await catalog.createTableBranch({ id, name: 'dev' })
    await catalog.updateTableSchemaMetadata({ id, branch: 'dev', metadata: { on: 'dev' } })
    await catalog.insertIntoTable({ id, branch: 'dev', data: some(3, 1) as never })
    await catalog.updateTableSchemaMetadata({ id, branch: 'dev', metadata: { on: 'dev', again: 'yes' } })
    await catalog.createTableTag({ id, tag: 'before', version: 1 })
    const of = async (wanted: object) =>
      (await catalog.describeTable({ id, load_detailed_metadata: true, ...wanted })).metadata
    expect(await of({ branch: 'dev' })).toEqual({ on: 'dev', again: 'yes' })
    expect(await of({})).toEqual({ on: 'main' })
    expect(await of({ tag: 'before' })).toEqual({})
    await catalog.restoreTable({ id, tag: 'before' })
    expect(await of({})).toEqual({})
    for (const python of await foundPythons()) {
      const code = `
import lance, lance_namespace, sys
ns = lance_namespace.connect("rest", {"uri": sys.argv[1]})
t = lance.dataset(namespace_client=ns, table_id=["t"]).checkout_version(("dev", None))
print(sorted(t.schema.metadata.items()), t.count_rows())`
      const { stdout } = await promisify(execFile)(python, ['-c', code, server.url])
      expect(stdout.trim()).toBe("[(b'again', b'yes'), (b'on', b'dev')] 4")
    }
    expect(await countOf(catalog, id, { branch: 'dev' })).toBe(4)
  })

  lanceIt('a transaction over tables of both engines is there whole, or not at all', async () => {
    const { catalog, db } = await managed()
    const names = ['x', 'y', 'own']
    for (const name of ['x', 'y']) await db.createTable(name, some(0, 3) as never)
    await catalog.createTable({ id: ['own'], data: some(0, 3) as never })
    const held = (from: Pick<typeof catalog, 'describeTable' | 'countTableRows'>) =>
      Promise.all(
        names.map(async (name) => {
          const { metadata } = await from.describeTable({ id: [name], load_detailed_metadata: true })
          return [metadata, await countOf(from as never, [name])]
        }),
      )
    const change = (end: () => void) =>
      catalog.transaction(async (tx) => {
        for (const name of names) {
          await tx.insertIntoTable({ id: [name], data: some(3, 1) as never })
          await tx.updateTableSchemaMetadata({ id: [name], metadata: { by: name } })
          await tx.insertIntoTable({ id: [name], data: some(4, 1) as never })
        }
        expect(await held(tx as never)).toEqual(names.map((by) => [{ by }, 5]))
        expect(await held(catalog)).toEqual(names.map(() => [{}, 3]))
        end()
      })
    const undone = change(() => {
      throw new Error('never mind')
    })
    await expect(undone).rejects.toThrow('never mind')
    expect(await held(catalog)).toEqual(names.map(() => [{}, 3]))
    await change(() => {})
    expect(await held(catalog)).toEqual(names.map((by) => [{ by }, 5]))
    for (const name of ['x', 'y']) {
      const read = await readByNode(await db.openTable(name))
      expect(read.map(({ metadata, rows }) => [metadata.by, rows.length])).toEqual([
        [undefined, 3],
        [undefined, 4],
        [name, 4],
        [name, 5],
      ])
    }
  })

  lanceIt('beside writers of several Lances, every change that is acknowledged is there once', async () => {
    const { catalog, server, db } = await managed()
    const rounds = 4
    const found = await foundPythons()
    const names = ['node', ...found.map((_, i) => `python ${i}`)]
    const isOver = { rows: false }
    const work = async (name: string, writing: (name: string) => Promise<unknown>) => {
      await db.createTable(name, [{ n: 0, name: 'python' }])
      let made = 0
      const writer = writing(name).finally(() => {
        isOver.rows = true
      })
      isOver.rows = false
      while (!isOver.rows || made < 8) {
        await catalog.updateTableSchemaMetadata({ id: [name], metadata: { made: String(++made) } })
        await sleep(30)
      }
      await writer
      return made
    }
    const byNode = async (name: string) => {
      for (let round = 0; round < rounds; round++) {
        const stale = await Promise.all([1, 2].map(() => db.openTable(name)))
        await sleep(60)
        await stale[0]!.update({ valuesSql: { n: 'n + 1' }, where: "name = 'python'" })
        await stale[1]!.add([{ n: 1_000 + round, name: 'appended' }])
        const merging = await db.openTable(name)
        await sleep(60)
        const merge = merging.mergeInsert('n').whenMatchedUpdateAll().whenNotMatchedInsertAll()
        await merge.execute([{ n: 1_000 + round, name: 'merged' }])
        if (round % 2 === 0) await (await db.openTable(name)).delete(`n = ${1_000 + round}`)
      }
      const last = await db.openTable(name)
      await last.createIndex('n')
      await last.optimize()
    }
    const byPython = (python: string) => async (name: string) => {
      const script = fileURLToPath(new URL('clients/metadata_writer.py', import.meta.url))
      const { stdout } = await promisify(execFile)(python, [script, server.url, name, String(rounds)])
      expect(stdout).toBe('done\n')
    }
    for (const [i, name] of names.entries()) {
      const made = await work(name, i === 0 ? byNode : byPython(found[i - 1]!))
      const rows = [{ n: rounds, name: 'python' }, ...[1, 3].map((n) => ({ n: 1_000 + n, name: 'merged' }))]
      const table = await db.openTable(name)
      const read = await readByNode(table)
      expect(read.at(-1)).toEqual({ metadata: { made: String(made) }, rows: cells(rows) })
      // Each change of metadata is one version, and all that follow have it, up to the next one.
      const seen = read.map(({ metadata }) => Number(metadata.made ?? 0))
      expect(seen).toEqual([...seen].sort((a, b) => a - b))
      expect(new Set(seen)).toEqual(new Set(Array.from({ length: made + 1 }, (_, n) => n)))
      if (found[0] === undefined) continue
      const told = (await readByPython(found[0], server.url, name)).flatMap((one) => one.told ?? [])
      expect(told).toEqual(
        Array.from({ length: made }, (_, n) => ({ updates: { made: String(n + 1) }, replace: true })),
      )
    }
  })
})

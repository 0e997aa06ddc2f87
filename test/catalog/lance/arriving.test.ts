import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { int32, type Table, tableFromArrays, tableToIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, onTestFinished } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { fails } from '../../support/refusals.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { batchOf, filesAt, numbersFrom, numbersOf } from './arriving-support.ts'
import { LanceDuckdb } from './clients/duckdb.ts'
import { releases, requirePython } from './clients/python.ts'

limitEach(300)

const run = promisify(execFile)

/* Rows that arrive for tables of Lance, in more portions than one. */

async function opened() {
  const folder = join(await freshFolder(), 'a catalog')
  return closedAfterwards(await openCatalog(folder, { format: 'lance', ...howLanceRuns }))
}
type Opened = Awaited<ReturnType<typeof opened>>

/** What another writer does while rows arrive. */
const meanwhile = fc.constantFrom(
  'nothing',
  'insert',
  'delete',
  'optimize',
  'overwrite',
  'add a column' as const,
)

const step = fc.record({
  batches: fc.array(fc.integer({ min: 0, max: 700_000 }), { minLength: 1, maxLength: 6 }),
  mode: fc.constantFrom('Append' as const, 'Append' as const, 'Overwrite' as const),
  branch: fc.constantFrom('', 'side'),
  /** Before which batch the source fails, if there are so many. */
  failsAt: fc.option(fc.nat(12)),
  at: fc.nat(6),
  meanwhile,
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class Model {
  readonly catalog: Opened
  readonly branches = new Map<string, number[][]>([['', [[1, 2, 3]]]])
  next = 10
  constructor(catalog: Opened) {
    this.catalog = catalog
  }

  async does(id: string[], asked: Step): Promise<void> {
    const { branch, mode, failsAt } = asked
    const before = this.branches.get(branch)!
    const batches = asked.batches.map((count) => {
      this.next += count
      return numbersFrom(this.next - count, count)
    })
    let columnsChanged = false
    const count = async () => (await this.catalog.listTableVersions({ id, branch })).versions.length
    const versions = await count()
    const source = async function* (this: Model): AsyncGenerator<Table> {
      for (const [i, batch] of batches.entries()) {
        if (failsAt === i) throw new Error('the source broke')
        if (asked.at === i) columnsChanged = await this.other(id, asked)
        yield batchOf(batch)
      }
    }.call(this)
    const willFail = failsAt !== null && failsAt < batches.length
    const made = this.catalog.insertIntoTable({ id, data: source, mode, branch })
    if (willFail) await fails(made, 'InvalidInput', /the source broke/)
    else {
      const { num_inserted_rows, version } = await made.catch((error) => {
        // Rows that arrived cannot be read again. Those of one portion are handed to Lance, which may know better.
        if (!columnsChanged || error.code !== 'ConcurrentModification') throw error
        return { num_inserted_rows: -1, version: -1 }
      })
      if (version >= 0) {
        const rows = batches.flatMap((batch) => [...batch])
        expect(num_inserted_rows).toBe(rows.length)
        before.push(mode === 'Overwrite' ? rows : [...before.at(-1)!, ...rows])
      }
    }
    const isAlone = asked.meanwhile === 'nothing' || asked.at >= Math.min(batches.length, failsAt ?? 6)
    if (isAlone) expect(await count()).toBe(versions + (willFail ? 0 : 1))
    const found = await numbersOf(this.catalog, id, { branch })
    expect(Buffer.compare(bytes(found), bytes(Int32Array.from(before.at(-1)!)))).toBe(0)
  }

  /** Answers whether it changed the columns. */
  async other(id: string[], { meanwhile, branch }: Step): Promise<boolean> {
    const versions = this.branches.get(branch)!
    const last = versions.at(-1)!
    if (meanwhile === 'insert') {
      await this.catalog.insertIntoTable({ id, branch, data: batchOf([-5, -6]) })
      versions.push([...last, -5, -6])
    } else if (meanwhile === 'overwrite') {
      await this.catalog.insertIntoTable({ id, branch, data: batchOf([-7]), mode: 'Overwrite' })
      versions.push([-7])
    } else if (meanwhile === 'delete') {
      await this.catalog.deleteFromTable({ id, branch, predicate: 'n % 2 = 0' })
      versions.push(last.filter((n) => n % 2 !== 0))
    } else if (meanwhile === 'optimize' && branch === '') await this.catalog.optimizeTable({ id })
    else if (meanwhile === 'add a column') {
      const name = `c${versions.length}_${this.next}`
      await this.catalog.alterTableAddColumns({ id, branch, new_columns: [{ name, expression: 'n + 1' }] })
      return true
    }
    return false
  }
}

const bytes = (numbers: Int32Array) => Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)

describe('rows that arrive for a table of Lance', () => {
  lanceIt('are as a model says, whatever fails and whoever writes meanwhile', async () => {
    const catalog = await opened()
    let number = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 4 }), async (steps) => {
        const id = [`t${number++}`]
        await catalog.createTable({ id, data: batchOf([1, 2, 3]) })
        await catalog.createTableBranch({ id, name: 'side' })
        const model = new Model(catalog)
        model.branches.set('side', [[1, 2, 3]])
        for (const asked of steps) await model.does(id, asked)
        const { location } = await catalog.describeTable({ id })
        expect(await filesAt(location!)).toEqual({ arriving: [], lost: [] })
      }),
      { numRuns: 5 },
    )
    expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
  })

  lanceIt('are read by Lance and by DuckDB, and keep ids of rows that are stable', async ({ skip }) => {
    const catalog = await opened()
    const folder = await freshFolder()
    const location = join(folder, 'stable.lance')
    const native = (await lance.connect(folder)) as unknown as { inner: NativeConnection }
    const ipc = Buffer.from(tableToIPC(batchOf([-1, -2]), { format: 'file' })!)
    await native.inner.createTable('stable', ipc, 'create', [], { new_table_enable_stable_row_ids: 'true' })
    await using registering = await openCatalog(join(folder, 'catalog'), {
      locationRoots: [folder],
      ...howLanceRuns,
    })
    const id = ['stable']
    await registering.registerTable({ id, location: pathToFileURL(location).href })
    async function* source() {
      yield batchOf(numbersFrom(0, 900_000))
      await registering.insertIntoTable({ id, data: batchOf([-3]) })
      yield batchOf(numbersFrom(900_000, 900_000))
    }
    await registering.insertIntoTable({ id, data: source() })
    await registering.deleteFromTable({ id, predicate: 'n >= 100000 and n < 1700000' })
    await registering.updateTable({ id, predicate: 'n = -3', updates: [['n', '-4']] })
    await registering.optimizeTable({ id })
    await registering.insertIntoTable({ id, data: [{ n: -5 }] })
    const rows = await rowsOf(registering, id, { columns: ['n'], with_row_id: true })
    expect(new Set(rows.map(({ _rowid }) => _rowid)).size).toBe(200_004)

    await catalog.createTable({ id: ['made'], data: parts(0) })
    await catalog.insertIntoTable({ id: ['made'], data: parts(1_800_000), mode: 'Append' })
    await catalog.insertIntoTable({ id: ['made'], data: parts(7), mode: 'Overwrite' })
    const { location: made } = await catalog.describeTable({ id: ['made'] })
    const python = await requirePython(releases[0], skip)
    const read = async (path: string) => JSON.parse((await run(python, ['-c', reading, path])).stdout)
    expect(await read(fileURLToPath(made!))).toMatchObject({
      versions: [
        [1, 1_800_000, 0, 1_799_999, 'Overwrite'],
        [2, 3_600_000, 0, 3_599_999, 'Append'],
        [3, 1_800_000, 7, 1_800_006, 'Overwrite'],
      ],
    })
    const { versions, madeIn } = await read(location)
    expect(versions[2].slice(1, 2)).toEqual([1_800_003])
    expect(madeIn).toMatchObject({ 1: 2, 2: 1, 3: 200_000 })
    const duckdb = await LanceDuckdb.start()
    if (typeof duckdb === 'string') return skip(duckdb)
    onTestFinished(() => duckdb.end())
    async function* named() {
      for (let first = 0; first < 1_200_000; first += 600_000) {
        const name = Array.from({ length: 600_000 }, () => 'a')
        yield tableFromArrays({ id: numbersFrom(first, 600_000), name }, { types: { id: int32() } })
      }
    }
    await catalog.createTable({ id: ['named'], data: named() })
    await catalog.deleteFromTable({ id: ['named'], predicate: 'id >= 3' })
    const { location: there } = await catalog.describeTable({ id: ['named'] })
    expect(await duckdb.rows(fileURLToPath(there!))).toEqual([
      [0, 'a'],
      [1, 'a'],
      [2, 'a'],
    ])
  })

  lanceIt('are refused where the columns change meanwhile, and leave nothing', async () => {
    const catalog = await opened()
    const id = ['t']
    await catalog.createTable({ id, data: batchOf([1]) })
    async function* source() {
      yield* parts(0)
      await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'c', expression: 'n + 1' }] })
    }
    for (const mode of ['Append', 'Overwrite'] as const) {
      const made = catalog.insertIntoTable({ id, data: source(), mode })
      await fails(made, 'ConcurrentModification', /changed the columns of the table while the rows arrived/)
      await catalog.alterTableDropColumns({ id, columns: ['c'] })
    }
    expect(await numbersOf(catalog, id)).toEqual(Int32Array.of(1))
    const { location } = await catalog.describeTable({ id })
    expect(await filesAt(location!)).toEqual({ arriving: [], lost: [] })
    expect((await catalog.listTableVersions({ id })).versions.length).toBe(5)
  })

  lanceIt(
    'travel from clients, which may go in the middle, and are one version of a transaction',
    async () => {
      const catalog = await opened()
      const server = await serve(catalog, { auth: false, port: 0, log: false, limits: { eventLoopDelay: 0 } })
      onTestFinished(() => server.close())
      await using client = connect(server.url)
      const id = ['t']
      await client.createTable({ id, data: parts(0) })
      const { location } = await catalog.describeTable({ id })
      const leaving = new AbortController()
      async function* broken() {
        yield* parts(1)
        leaving.abort(new Error('gone'))
        yield* parts(2)
      }
      await expect(
        client.insertIntoTable({ id, data: broken() }, { signal: leaving.signal }),
      ).rejects.toThrow('gone')
      await expect.poll(() => filesAt(location!)).toEqual({ arriving: [], lost: [] })
      await expect(
        catalog.transaction(async (tx) => {
          await tx.insertIntoTable({ id, data: parts(1) })
          expect(await countOf(tx as never, id)).toBe(3_600_000)
          throw new Error('not so')
        }),
      ).rejects.toThrow('not so')
      expect(await countOf(client, id)).toBe(1_800_000)
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id, data: parts(1_800_000) })
        await tx.createTable({ id: ['second'], data: parts(5) })
        await tx.insertIntoTable({ id: ['second'], data: [{ n: 1 }] })
      })
      expect(await countOf(client, id)).toBe(3_600_000)
      expect(await countOf(client, ['second'], { predicate: 'n >= 1' })).toBe(1_800_001)
      const { versions } = await client.listTableVersions({ id })
      expect(versions.map(({ version }) => version)).toEqual([1, 2])
      await client.declareTable({ id: ['declared'] })
      await client.insertIntoTable({ id: ['declared'], data: parts(3) })
      expect(await countOf(client, ['declared'])).toBe(1_800_000)
    },
  )

  lanceIt('that a killed process leaves behind go with a vacuum', async () => {
    const catalog = await opened()
    const id = ['t']
    await catalog.createTable({ id, data: parts(0) })
    const { location } = await catalog.describeTable({ id })
    const folder = fileURLToPath(location!)
    const left = `_staged/01M8FX3B3RDQ5GB4S9X69DFEK8.${randomUUID()}.rows`
    await cp(join(folder, 'data'), join(folder, left, 'data'), { recursive: true })
    async function* source() {
      yield* parts(0)
      // Files of the last minute stay, as do those that arrive.
      await catalog.vacuum({ graceMillis: 0 })
      expect((await filesAt(location!)).arriving.length).toBeGreaterThan(3)
      yield* parts(0)
    }
    await catalog.insertIntoTable({ id, data: source() })
    const now = () => Date.now() + 61_000
    await using later = await openCatalog(join(folder, '../..'), { ...howLanceRuns, now })
    await later.vacuum({ graceMillis: 0 })
    expect(await countOf(later, id)).toBe(5_400_000)
    expect(await filesAt(location!)).toEqual({ arriving: [], lost: [] })
  })
})

interface NativeConnection {
  createTable(name: string, rows: Buffer, mode: 'create', at: string[], options: object): Promise<unknown>
}

/** Rows in three portions. */
function* parts(first: number) {
  for (let i = 0; i < 3; i++) yield batchOf(numbersFrom(first + i * 600_000, 600_000))
}

/** The rows of all versions, and in which versions those of the latest one were made. */
const reading = `
import json, sys, lance, collections
dataset = lance.dataset(sys.argv[1])
versions = []
for version in dataset.versions():
    at = dataset.checkout_version(version["version"])
    n = at.to_table(columns=["n"])["n"].to_numpy()
    done = type(at.read_transaction(version["version"]).operation).__name__
    versions.append([at.version, len(n), int(n.min()), int(n.max()), done])
try:
    made = dataset.to_table(columns=["n", "_row_created_at_version"])["_row_created_at_version"].to_pylist()
except Exception as error:
    made = []
print(json.dumps({"versions": versions, "madeIn": dict(collections.Counter(made))}))
`

import { int16, int32, int64, type Schema } from '@uwdata/flechette'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  type Change,
  decodeArrow,
  type SchemaChange,
  type Snapshot,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { plain } from '../../arrow/fixtures.ts'

// It reads every version after each step of random histories.
limitEach(60)

type Row = Readonly<Record<string, unknown>>

/** The content of one version, as it should be. */
interface Expected {
  readonly snapshot: Snapshot
  readonly names: readonly string[]
  readonly rows: readonly Row[]
}

interface Step {
  readonly act:
    | 'insert'
    | 'delete'
    | 'merge'
    | 'add'
    | 'nulls'
    | 'rename'
    | 'drop'
    | 'cast'
    | 'optimize'
    | 'restore'
  /** How many versions before the newest one the change is prepared on. */
  readonly behind: number
  readonly pick: number
}

const steps = fc.array(
  fc.record({
    act: fc.constantFrom<Step['act']>(
      'insert',
      'insert',
      'delete',
      'merge',
      'add',
      'nulls',
      'rename',
      'drop',
      'cast',
      'optimize',
      'restore',
    ),
    behind: fc.nat(2),
    pick: fc.nat(30),
  }),
  { minLength: 4, maxLength: 14 },
)

const types = [int16(), int32(), int64()]

/** A history of one table, beside rows of a model. */
class History {
  readonly engine: TableEngine
  readonly versions: Expected[] = []
  #made = 0

  constructor(engine: TableEngine) {
    this.engine = engine
  }

  get head(): Expected {
    return this.versions.at(-1)!
  }

  async begin(): Promise<void> {
    const rows = this.#newRows(['a', 'b'], 150)
    const table = await toArrowTable(rows, { schema: numbers(['a', 'b']) })
    const snapshot = await this.engine.create('t', table)
    this.versions.push({ snapshot, names: ['a', 'b'], rows })
  }

  async step({ act, behind, pick }: Step): Promise<void> {
    const base = this.versions[Math.max(0, this.versions.length - 1 - behind)]!
    const { head } = this
    const column = base.names[pick % base.names.length]!
    switch (act) {
      case 'insert': {
        const rows = this.#newRows(base.names, 1 + (pick % 70))
        const table = await toArrowTable(rows, { schema: base.snapshot.schema })
        const change = await this.engine.insertRows(base.snapshot, table)
        return this.#apply(change, head.names, [...head.rows, ...rows.map((row) => filled(row, head.names))])
      }
      case 'delete': {
        const change = this.engine.deleteRows(`${column} % 7 = ${pick % 7}`)
        await change.apply(base.snapshot)
        const kept = head.rows.filter((row) => !isRest(row[column], pick % 7))
        return this.#apply(change, head.names, kept)
      }
      case 'merge': {
        const rows = [0, 1, 2].map((n): Row => ({ [column]: 3 * (pick + n) }))
        const table = await toArrowTable(rows, { schema: only(base.snapshot.schema, column) })
        const change = await this.engine.mergeRows(base.snapshot, table, {
          on: [column],
          matched: 'update',
          inserts: true,
          orphans: 'keep',
        })
        await change.apply(base.snapshot).catch(refusal)
        const keys = rows.map((row) => row[column])
        const kept = head.rows.filter((row) => !keys.includes(row[column]))
        const added = rows.filter((row) => !head.rows.some((one) => one[column] === row[column]))
        const moved = head.rows.filter((row) => keys.includes(row[column]))
        return this.#apply(change, head.names, [
          ...kept,
          ...moved,
          ...added.map((row) => filled(row, head.names)),
        ])
      }
      case 'add': {
        const name = this.#newName()
        const change = this.engine.addColumns([{ name, expression: `${column} + 1` }])
        const rows = head.rows.map((row) => ({ ...row, [name]: plusOne(row[column]) }))
        return this.#alter(change, base, [...head.names, name], rows)
      }
      case 'nulls': {
        const name = this.#newName()
        const field = numbers([name], pick).fields[0]!
        const rows = head.rows.map((row) => ({ ...row, [name]: null }))
        return this.#alter(this.engine.addColumns([{ field }]), base, [...head.names, name], rows)
      }
      case 'rename': {
        const name = this.#newName()
        const change = this.engine.alterColumns([{ path: column, rename: name }])
        const names = head.names.map((one) => (one === column ? name : one))
        const rows = head.rows.map(({ [column]: value, ...row }) => ({ ...row, [name]: value }))
        return this.#alter(change, base, names, rows)
      }
      case 'drop': {
        const names = head.names.filter((one) => one !== column)
        const rows = head.rows.map((row) => filled(row, names))
        return this.#alter(this.engine.dropColumns([column]), base, names, rows)
      }
      case 'cast': {
        const change = this.engine.alterColumns([{ path: column, type: types[pick % 3]! }])
        return this.#alter(change, base, head.names, head.rows)
      }
      case 'optimize':
        return this.#apply(await this.engine.optimizeRows(base.snapshot), head.names, head.rows)
      case 'restore':
        return this.#apply(this.engine.restoreTo(base.snapshot), base.names, base.rows)
    }
  }

  async #alter(change: SchemaChange, base: Expected, names: readonly string[], rows: readonly Row[]) {
    await change.prepare(base.snapshot).catch(refusal)
    await this.#apply(change, names, rows)
  }

  /** Applies a change to the newest version. One that no longer fits is refused and changes nothing. */
  async #apply(change: Change, names: readonly string[], rows: readonly Row[]): Promise<void> {
    try {
      const { snapshot } = await change.apply(this.head.snapshot)
      this.versions.push({ snapshot, names, rows })
    } catch (error) {
      refusal(error)
    }
  }

  #newRows(names: readonly string[], count: number): Row[] {
    return Array.from({ length: count }, () => {
      const n = this.#made++
      return Object.fromEntries(names.map((name, i) => [name, (n + i) % 5 === 0 ? null : (n * 3 + i) % 3000]))
    })
  }

  #newName(): string {
    return `c${this.#made++}`
  }
}

function numbers(names: readonly string[], pick = 1): Schema {
  const none = null as unknown as Map<string, string>
  return { fields: names.map((name) => ({ name, type: types[pick % 3]!, nullable: true, metadata: none })) }
}

function only(schema: Schema, name: string): Schema {
  return { ...schema, fields: schema.fields.filter((field) => field.name === name) }
}

function filled(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
}

const plusOne = (value: unknown) => (typeof value === 'number' ? value + 1 : null)
const isRest = (value: unknown, rest: number) => typeof value === 'number' && value % 7 === rest

/** A change may be refused because columns that it needs are gone. Anything else is a fault. */
function refusal(error: unknown): void {
  const codes = [
    'ConcurrentModification',
    'TableColumnNotFound',
    'TableSchemaValidationError',
    'InvalidInput',
  ]
  if (!(error instanceof CatalogError && codes.includes(error.code))) throw error
}

async function read(engine: TableEngine, snapshot: Snapshot, query = {}): Promise<Row[]> {
  const rows = (await decodeArrow(await engine.queryRows(snapshot, query))).toArray().map(plain) as Row[]
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : Number(value)]),
    ),
  )
}

test('every version of a table whose columns change reads as it was', async () => {
  const runs = 25 * Number(process.env.HISTORY_RUNS ?? 1)
  let refused = 0
  let made = 0
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const content = memoryContent()
      const it = new History(tableEngine({ content, fragmentRows: 64 }))
      await it.begin()
      for (const step of history) {
        const before = it.versions.length
        await it.step(step)
        if (it.versions.length === before) refused++
        else made++
      }
      // A second engine knows nothing but the files.
      const fresh = tableEngine({ content, fragmentRows: 64, cacheBytes: 0 })
      const reachable = new Set<string>()
      for await (const path of fresh.reachable(
        't',
        it.versions.map(({ snapshot }) => snapshot.manifest),
      ))
        reachable.add(path)
      for await (const { path, problem } of fresh.check(
        't',
        it.versions.map(({ snapshot }) => snapshot.manifest),
      )) {
        expect(problem).toBeUndefined()
        expect(reachable).toContain(path)
      }
      for (const { snapshot, names, rows } of it.versions) {
        const opened = await fresh.open('t', snapshot.manifest)
        expect(opened.schema.fields.map(({ name }) => name)).toEqual(names)
        expect(await read(fresh, opened)).toEqual(rows.map((row) => filled(row, names)))
        const last = names.at(-1)!
        const nulls = rows.filter((row) => (row[last] ?? null) === null).length
        expect(await fresh.countRows(opened, { predicate: `${last} IS NULL` })).toBe(nulls)
        const small = rows.filter((row) => typeof row[last] === 'number' && (row[last] as number) < 100)
        expect(await fresh.countRows(opened, { predicate: `${last} < 100` })).toBe(small.length)
        expect(await read(fresh, opened, { columns: [last], limit: 40, offset: 50 })).toEqual(
          rows.slice(50, 90).map((row) => filled(row, [last])),
        )
      }
      for await (const { path } of content.list('t/data/')) {
        if (reachable.has(path)) await decodeArrow((await content.get(path))!)
      }
    }),
    { numRuns: runs, seed: Number(process.env.FC_SEED ?? 20261120) },
  )
  expect(made).toBeGreaterThan(refused)
})

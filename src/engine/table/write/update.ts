import type { Schema } from '@uwdata/flechette'
import { CatalogError, invalid, unsupported } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { allRows, type Bitmap, countRows, intersect, noRows } from '../../arrow/bitmap.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import { assembleColumns, part } from '../../arrow/take/assemble-columns.ts'
import { wholeOf } from '../../arrow/take/take.ts'
import type { Predicate, ValueExpression } from '../../predicate/index.ts'
import { contentKey, type FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { haveSameColumns, type TableFiles, type TableSchema } from '../format/table-schema.ts'
import { Job } from '../job.ts'
import { rowIn } from '../read/answer-reader.ts'
import { resolve } from '../read/projection.ts'
import { piecesOf, type RowSelection, selectRows } from '../read/row-selection.ts'
import { readSelected } from '../read/selected-columns.ts'
import { type Compiling, compile, compileValues } from '../scan/compile.ts'
import { liveRowsOf, refuseOffsets, rowNumbers } from '../scan/row-columns.ts'
import type { Storage } from '../storage/storage.ts'
import type { ApplyOptions, Change, ChangeResult, Snapshot, UpdateOptions } from '../table-engine.ts'
import { matchFinder } from './delete.ts'
import { Growth } from './growth.ts'
import { type Assignment, type MatchingRows, NewValues } from './new-values.ts'
import { Removal, type RowFinder } from './remove-rows.ts'
import { LivePositions, RowWriter } from './row-writer.ts'
import { ValueHold } from './value-memory.ts'
import { reviseManifest } from './write-manifest.ts'

/**
 * Updates columns of the rows that match a predicate. Updated rows are written again, after all others. Rows that later
 * commits inserted or changed are updated, too, and rows that they deleted are not restored.
 */
export async function updateRows(job: Job, base: LoadedSnapshot, options: UpdateOptions): Promise<Change> {
  const update = new Update(job.storage, options)
  // Report all errors that can be found now.
  await update.prepare(base, job)
  return update
}

/** The state for the columns of a base, reused for later bases with the same columns. */
interface Prepared {
  readonly schema: TableSchema
  readonly predicate: Predicate | undefined
  /** By the index of the column. */
  readonly assignments: ReadonlyMap<number, Assignment>
  readonly removal: Removal
  readonly writer: RowWriter
  readonly matches: Map<string, Matched>
}

/** The matching rows of a fragment, and the position of the first of them among the updated rows. */
interface Matched {
  readonly rows: Bitmap
  start: number
}

class Update implements Change {
  readonly #storage: Storage
  readonly #options: UpdateOptions
  /** All bases use the same time. */
  readonly #now: number
  #prepared: Prepared | undefined

  constructor(storage: Storage, options: UpdateOptions) {
    this.#storage = storage
    this.#options = options
    this.#now = storage.now()
  }

  async prepare({ prefix, schema }: TableFiles, job: Compiling): Promise<Prepared> {
    const known = this.#prepared
    if (known && haveSameColumns(known.schema, schema)) return known
    const { updates, predicate: text } = this.#options
    const assignments = new Map<number, Assignment>()
    for (const [column, value] of updates) {
      const index = columnOf(schema, column)
      if (assignments.has(index)) {
        throw invalid(`Column ${quote(column)} is updated twice. Give it one value.`)
      }
      const expression = await compileFor(value, schema, index, this.#now, job)
      refuseOffsets(schema, expression.columns)
      assignments.set(index, { expression, budget: expression.budget() })
    }
    if (assignments.size === 0) throw invalid('There is nothing to update. Name a column and its new value.')
    const predicate = text === undefined ? undefined : await compile(text, schema, this.#now, job)
    this.#prepared = {
      schema,
      predicate,
      assignments,
      removal: new Removal(),
      writer: new RowWriter({ prefix, schema }),
      matches: new Map(),
    }
    return this.#prepared
  }

  async apply(base: Snapshot, options?: ApplyOptions): Promise<ChangeResult> {
    const snapshot = base as LoadedSnapshot
    const job = new Job(this.#storage, options)
    const prepared = await this.prepare(snapshot, job)
    const { predicate, removal, writer } = prepared
    const finder = predicate ? await matchFinder(job, snapshot, predicate) : everyRow
    const baseUpdate = new BaseUpdate(job, snapshot, prepared, finder)
    try {
      return await removal.from(job, snapshot, baseUpdate, async ({ removed, ...left }) => {
        const added = await writer.fragmentsOf(job, baseUpdate.livePositions)
        baseUpdate.memory.release()
        const parts = { ...left, tail: [...left.tail, ...added] }
        return { snapshot: await reviseManifest(job, snapshot, parts), affected: removed }
      })
    } finally {
      baseUpdate.memory.release()
    }
  }
}

const everyRow: RowFinder = {
  depth: 2,
  verdict: () => 'all',
  begin: async () => {
    throw new TypeError('all rows are known')
  },
  end: () => {},
}

/** Matching rows of a fragment of a base. */
interface FoundRows {
  readonly entry: FragmentEntry
  readonly live: Bitmap | undefined
  readonly matched: Matched
  readonly count: number
}

/** An update of one base. */
class BaseUpdate implements RowFinder {
  readonly livePositions = new LivePositions()
  /** Held from the first long values on, until all rows are written. */
  readonly memory = new ValueHold()
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot
  readonly #prepared: Prepared
  readonly #finder: RowFinder
  readonly #found: FoundRows[] = []
  readonly #values: NewValues
  /** How many live rows precede each fragment, for errors. */
  readonly #firstRows = new Map<string, number>()
  #rows = 0
  /** The least position of the next rows. */
  #next = 0

  constructor(job: Job, snapshot: LoadedSnapshot, prepared: Prepared, finder: RowFinder) {
    this.#job = job
    this.#snapshot = snapshot
    this.#prepared = prepared
    this.#finder = finder
    this.#values = new NewValues(prepared.assignments, this.memory, job)
  }

  get depth(): number {
    return this.#finder.depth
  }

  verdict(entry: FragmentEntry): 'none' | 'some' {
    const verdict = this.#finder.verdict(entry)
    if (verdict !== 'none') this.#firstRows.set(entry.path, this.#rows)
    this.#rows += liveRowsOf(entry)
    return verdict === 'none' ? 'none' : 'some'
  }

  async begin(entry: FragmentEntry, live: Bitmap | undefined): Promise<() => Promise<Bitmap>> {
    const all = this.#finder.verdict(entry) === 'all'
    const find = all ? async () => live ?? allRows(entry.rows) : await this.#finder.begin(entry, live)
    return async () => {
      const rows = await find()
      this.#prepared.matches.set(contentKey(entry), { rows, start: -1 })
      return rows
    }
  }

  async onFound(entry: FragmentEntry, live: Bitmap | undefined): Promise<void> {
    const matched = this.#prepared.matches.get(contentKey(entry))!
    const count = countRows(matched.rows)
    if (count > 0) this.#found.push({ entry, live, matched, count })
    else this.#firstRows.delete(entry.path)
  }

  async onAllFound(): Promise<void> {
    await this.#measure()
    for (const found of this.#found) await this.#add(found)
  }

  /** Adds the matching rows of a fragment. Writes them, unless that was done for an earlier base. */
  async #add({ entry, live, matched, count }: FoundRows): Promise<void> {
    // Rows keep their order. Rows written for an earlier base may now belong before others.
    if (matched.start < this.#next) {
      matched.start = this.#prepared.writer.rows
      await this.#write(entry, matched.rows, live)
    }
    this.#next = matched.start + count
    this.#firstRows.delete(entry.path)
    const left = live ? noRows(entry.rows) : matched.rows
    if (live) intersect(matched.rows, live, left, left.length)
    this.livePositions.add(matched.start, matched.rows, left)
  }

  end(): void {
    this.#finder.end()
  }

  /** Refuses new values with too many bytes in all. Computes them for that only if the size is not known in advance. */
  async #measure(): Promise<void> {
    const fresh = this.#found.filter(({ matched }) => matched.start < 0)
    const rows = fresh.reduce((sum, { count }) => sum + count, 0)
    const assignments = Array.from(this.#prepared.assignments.values())
    const growth = new Growth(this.#job.storage, this.#snapshot)
    const expressions = assignments.map(({ expression }) => expression)
    if (rows === 0 || (await growth.fits(expressions, rows))) return
    const indices = expressions.flatMap(({ columns }) => columns)
    // These values are computed again when they are written.
    const budgets = new Map(assignments.map((one) => [one, one.expression.budget()]))
    let bytes = 0
    for (const { entry, live, matched } of fresh) {
      const { matching } = await this.#read(entry, indices, matched.rows, live)
      const budgetOf = (one: Assignment) => budgets.get(one)!
      for await (const { made, count: part } of this.#values.parts(matching, budgetOf)) {
        for (const batch of made.values()) bytes += bytesInUse(batch) * (part / Math.max(1, batch.length))
        growth.check(bytes)
      }
    }
  }

  /** Reads columns of a fragment for its matching rows, and where these are in the columns. */
  async #read(
    entry: FragmentEntry,
    indices: Iterable<number>,
    matches: Bitmap,
    live: Bitmap | undefined,
  ): Promise<{ matching: MatchingRows; selection: RowSelection }> {
    const given = selectRows(matches, entry.rows, 0, entry.rows)
    const read = await readSelected(this.#job.storage, this.#snapshot, entry, indices, given)
    const { rows, selection, isAlone } = read
    const numberIn = rowNumbers(this.#firstRows.get(entry.path) ?? 0, live)
    const matching = {
      rows,
      matches: isAlone ? allRows(rows.length) : matches,
      count: given.rows,
      numberOf: isAlone ? (row: number) => numberIn(rowIn(given.runs, row)) : numberIn,
    }
    return { matching, selection }
  }

  /** Writes the rows of a fragment with their new values. Expressions see no other rows. */
  async #write(entry: FragmentEntry, matches: Bitmap, live: Bitmap | undefined): Promise<void> {
    const { assignments, writer } = this.#prepared
    // Other writers may have written rows with other layouts, so the schema is that of this base.
    const { schema } = this.#snapshot
    const indices = new Set<number>()
    for (const index of schema.fields.keys()) {
      const assignment = assignments.get(index)
      for (const one of assignment ? assignment.expression.columns : [index]) indices.add(one)
    }
    const { matching, selection } = await this.#read(entry, indices, matches, live)
    const { rows, count: total } = matching
    const budgetOf = ({ budget }: Assignment) => budget
    for await (const { made, done, count } of this.#values.parts(matching, budgetOf)) {
      const pieces = Array.from(schema.fields.keys(), (index) => {
        const batch = made.get(index)
        if (batch) return part([wholeOf(batch)], 0, count)
        const all = piecesOf(rows.columns[index]!, selection)
        return count === total ? all : part(all, done, done + count)
      })
      for (const batches of assembleColumns(schema.fields, pieces)) await writer.add(this.#job, batches)
      if (this.#job.due) await this.#job.rest()
    }
  }
}

function columnOf(schema: Schema, name: string): number {
  const { path } = resolve(schema, name)
  if (path.length > 1) {
    throw unsupported(
      `${quote(name)} is a field of a struct, and this catalog updates whole columns only.`,
      'Insert the rows again with the struct that you want.',
    )
  }
  if (path[0]! >= schema.fields.length)
    throw invalid(`${name} tells rows apart and cannot be updated. Name a column of the table.`)
  return path[0]!
}

/** Compiles the new value of a column. Errors include the column's name. */
async function compileFor(
  text: string,
  schema: Schema,
  index: number,
  now: number,
  job: Compiling,
): Promise<ValueExpression> {
  const field = schema.fields[index]!
  try {
    return await compileValues(text, schema, now, job, field)
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    throw new CatalogError(error.code, `The new value of column ${quote(field.name)}: ${error.message}`, {
      cause: error,
    })
  }
}

import { type Field, type Schema, Table } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { makeColumn } from '../../arrow/batch.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { requireWellFormed } from '../../arrow/schema.ts'
import type { ArrowTable } from '../../arrow/types.ts'
import { validateBatch } from '../../arrow/validate.ts'
import { damagedFile, ReadBudget } from '../damage.ts'
import { arrowSchemaKey, keptSchema } from './arrow-schema.ts'
import { assembleColumn } from './assemble.ts'
import { type Footer, type RowGroup, readFooter } from './footer.ts'
import { LeafReader } from './leaf-reader.ts'
import type { ReadContext } from './pages.ts'
import { fieldOf, type Shape, shapeOf } from './shape.ts'
import { openSource, type ParquetSource } from './source.ts'

export interface ParquetReadOptions {
  /** Most rows of a batch. Default: 65,536. */
  readonly batchRows?: number | undefined
  /** Most memory that pages and a batch may take at once; a file that needs more is refused. Default: 512 MiB. */
  readonly maxBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const defaultRows = 65_536
const defaultBytes = 512 << 20
/** About how many bytes a batch has at most. */
const batchBytes = 32 << 20
const maxAhead = 1 << 20

/**
 * Reads a Parquet file as Arrow tables of some thousand rows, in order. There is one table at least, so the columns are
 * known. Memory holds a page of each column and one table, whatever the size of the file. Leaving the loop closes it.
 *
 * ```ts
 * for await (const table of readParquet('flights.parquet')) console.log(table.numRows)
 * ```
 *
 * Types come as the file's Arrow schema says, if its writer kept one, and otherwise as Parquet says.
 *
 * Throws `InvalidInput` for a file that is damaged or none, and for one that was changed while it was read. Throws
 * `Unsupported` for what cannot be read, such as an encrypted file, and `TableSchemaValidationError` for two columns of
 * one name.
 */
export async function* readParquet(
  source: ParquetSource,
  options: ParquetReadOptions = {},
): AsyncGenerator<ArrowTable, undefined> {
  const { batchRows = defaultRows, maxBytes = defaultBytes, signal } = options
  for (const [name, value] of Object.entries({ batchRows, maxBytes }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(`${name} is ${value}. Give a whole number above 0.`)
  signal?.throwIfAborted()
  const open = await openSource(source)
  try {
    const footer = await readFooter(open)
    const { schema, shapes } = columnsOf(footer)
    const ahead = Math.max(1 << 13, Math.min(maxAhead, Math.floor(maxBytes / 8 / footer.root.leaves.length)))
    const context: ReadContext = { source: open, budget: new ReadBudget(maxBytes), ahead }
    const reader = new GroupReader(context, schema, shapes, batchRows, new TimeSlice(signal))
    let yielded = false
    for (const group of footer.groups) {
      for await (const table of reader.tables(footer, group)) {
        yielded = true
        yield table
      }
    }
    if (!yielded)
      yield tableOf(
        schema,
        shapes.map(({ type }) => nullBatch(type, 0)),
      )
    await open.requireUnchanged()
    return undefined
  } catch (cause) {
    // A part that was overwritten seems to be damaged.
    if (!signal?.aborted) await open.requireUnchanged()
    if (cause instanceof CatalogError || signal?.aborted) throw cause
    throw damagedFile('cannot be read', { cause })
  } finally {
    await open.close()
  }
}

function columnsOf({ root, metadata }: Footer): { schema: Schema; shapes: Shape[] } {
  if (root.children.length === 0)
    throw invalid('The Parquet file has no columns. Give one with at least one.')
  const kept = keptSchema(metadata)
  const known = new Map(kept?.fields.map((field) => [field.name, field]))
  const shapes = root.children.map((node) => shapeOf(node, known.get(node.name)))
  const fields: Field[] = shapes.map((shape) => fieldOf(shape, known.get(shape.node.name)?.metadata))
  requireWellFormed(fields)
  const about = new Map([...metadata].filter(([key]) => key !== arrowSchemaKey))
  const schema: Schema = {
    version: 4,
    endianness: 0,
    fields,
    metadata: (about.size > 0 ? about : null) as Schema['metadata'],
  }
  return { schema, shapes }
}

function tableOf(schema: Schema, batches: readonly ReturnType<typeof assembleColumn>[]): ArrowTable {
  return new Table(
    schema,
    schema.fields.map(({ type }, i) => makeColumn(type, [batches[i]!])),
  )
}

class GroupReader {
  readonly #context: ReadContext
  readonly #schema: Schema
  readonly #shapes: readonly Shape[]
  readonly #batchRows: number
  readonly #timeSlice: TimeSlice

  constructor(
    context: ReadContext,
    schema: Schema,
    shapes: readonly Shape[],
    batchRows: number,
    timeSlice: TimeSlice,
  ) {
    this.#context = context
    this.#schema = schema
    this.#shapes = shapes
    this.#batchRows = batchRows
    this.#timeSlice = timeSlice
  }

  async *tables({ root }: Footer, group: RowGroup): AsyncGenerator<ArrowTable> {
    const { leaves } = root
    const readers = leaves.map((leaf, i) => new LeafReader(this.#context, leaf, group.chunks[i]!))
    const bytes = Math.max(1 << 16, Math.floor(batchBytes / leaves.length))
    for (let left = group.rows; left > 0; ) {
      let rows = Math.min(left, this.#batchRows)
      for (const [i, reader] of readers.entries()) {
        rows = Math.min(rows, await reader.ready(rows, bytes))
        if (rows === 0) throw damagedFile(`lacks ${left} rows of column ${leaves[i]!.label} in a row group`)
        if (this.#timeSlice.due) await this.#timeSlice.rest()
      }
      yield await this.#table(readers, rows)
      left -= rows
    }
    for (const [i, reader] of readers.entries())
      if (!(await reader.isDone()))
        throw damagedFile(`has more rows of column ${leaves[i]!.label} than its row group`)
  }

  async #table(readers: readonly LeafReader[], rows: number): Promise<ArrowTable> {
    let next = 0
    const batches: ReturnType<typeof assembleColumn>[] = []
    for (const shape of this.#shapes) {
      const count = shape.node.leaves.length
      const batch = assembleColumn(
        shape,
        readers.slice(next, next + count).map((reader) => reader.take(rows)),
        rows,
      )
      next += count
      await validateBatch(batch, shape.node.name, this.#timeSlice)
      batches.push(batch)
      if (this.#timeSlice.due) await this.#timeSlice.rest()
    }
    return tableOf(this.#schema, batches)
  }
}

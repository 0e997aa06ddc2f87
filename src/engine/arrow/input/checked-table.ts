import { type DataType, type Field, type Schema, Table, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, type BatchParts, dataOf, dictionaryOf, makeColumn } from '../batch.ts'
import { type BodyContext, BodyReader } from '../ipc/body.ts'
import { checkRowCount } from '../ipc/decode.ts'
import type { BatchHeader } from '../ipc/message.ts'
import { numberDictionaries, prepareBatches } from '../ipc/prepare.ts'
import { bufferNamesOf, childFields, layoutOf } from '../layout.ts'
import { checkColumns, decodeSchema, encodeSchema, requireWellFormed } from '../schema.ts'
import { validateBatch } from '../validate.ts'

/**
 * A table over the buffers of a flechette table. Any copy of the package, or a caller by hand, may have created it, so
 * each batch passes the checks for bytes from outside. The buffers are not copied.
 */
export async function checkedTable(table: Table): Promise<Table> {
  assembled(() => requireWellFormed(table.schema.fields))
  const { schema, batches } = assembled(() => prepare(table))
  const { fields } = schema
  checkColumns(schema)
  const checker = new BatchChecker()
  const columns: AnyBatch[][] = fields.map(() => [])
  for (const b of batches[0]!.keys()) {
    const part = batches.map((column) => column[b]!)
    const checked = await checker.check(fields, part)
    for (const [i, batch] of checked.entries()) columns[i]!.push(batch)
  }
  return new Table(
    schema,
    fields.map(({ type }, i) => makeColumn(type, columns[i]!)),
  )
}

/** The batches, with one dictionary for all batches of a column, and the schema as a reader of IPC would see it. */
function prepare({ schema, children }: Table): { schema: Schema; batches: (readonly AnyBatch[])[] } {
  const { fields } = schema
  if (children.length !== fields.length)
    throw new Error(`${children.length} columns, ${fields.length} fields`)
  const [first] = children
  for (const { data } of children) {
    if (data.length !== first!.data.length || data.some(({ length }, i) => length !== first!.data[i]!.length))
      throw new Error('the batches of the columns differ in length')
  }
  const prepared = fields.map(({ type }, i) => prepareBatches(type, children[i]!.data as readonly AnyBatch[]))
  const shared = { ...schema, fields: fields.map((field, i) => ({ ...field, type: prepared[i]!.type })) }
  return {
    schema: numberDictionaries(decodeSchema(encodeSchema(shared))),
    batches: prepared.map(({ batches }) => batches),
  }
}

/** Checks the record batches of one table. */
class BatchChecker {
  readonly #dictionaries = new Map<number, AnyColumn>()
  readonly #context: BodyContext = { dictionary: (id) => this.#dictionaries.get(id) }
  readonly #timeSlice = new TimeSlice(undefined)

  /** The batches of columns, which have as many rows each. */
  async check(fields: readonly NamedType[], batches: readonly AnyBatch[]): Promise<AnyBatch[]> {
    const { header, buffers, dictionaries } = assembled(() => disassemble(fields, batches))
    checkRowCount(
      header.length,
      buffers.reduce((sum, { length }) => sum + length, 0),
    )
    for (const { id, entries, ...field } of dictionaries) {
      if (this.#dictionaries.has(id)) continue
      const checked: AnyBatch[] = []
      for (const part of entries.data) checked.push(...(await this.check([field], [part as AnyBatch])))
      this.#dictionaries.set(id, makeColumn(field.type, checked))
    }
    const reader = new BodyReader(header, buffers, this.#context)
    const checked: AnyBatch[] = []
    for (const { type, name } of fields) {
      const batch = reader.read(type, name)
      await validateBatch(batch, name, this.#timeSlice)
      checked.push(batch)
      if (this.#timeSlice.due) await this.#timeSlice.rest()
    }
    return checked
  }
}

/** A type, and the name that errors call its column. */
type NamedType = Pick<Field, 'name' | 'type'>

/** A dictionary that a batch refers to, and the type of its entries. */
interface Dictionary extends NamedType {
  readonly id: number
  readonly entries: AnyColumn
}

interface Disassembled {
  /** The metadata that the message of a record batch would have. */
  readonly header: BatchHeader
  /** The buffers that the body of the message would hold. */
  readonly buffers: readonly Uint8Array[]
  readonly dictionaries: readonly Dictionary[]
}

function disassemble(fields: readonly NamedType[], batches: readonly AnyBatch[]): Disassembled {
  const nodes: { length: number; nullCount: number }[] = []
  const variadic: number[] = []
  const buffers: Uint8Array[] = []
  const dictionaries: Dictionary[] = []
  const add = (array: unknown) => {
    const { buffer, byteOffset, byteLength } = array as Uint8Array
    const bytes = new Uint8Array(buffer, byteOffset, byteLength)
    // Another thread could write to shared memory after the check.
    buffers.push(buffer instanceof ArrayBuffer ? bytes : bytes.slice())
  }
  const visit = (type: DataType, batch: AnyBatch, name: string): void => {
    const { length, nullCount } = batch
    if (!Number.isSafeInteger(length) || !Number.isSafeInteger(nullCount)) throw new Error('no length')
    nodes.push({ length, nullCount })
    const layout = layoutOf(type)
    for (const buffer of bufferNamesOf(layout)) add((batch as unknown as BatchParts)[buffer])
    if (layout.kind === 'views') {
      const data = dataOf(batch)
      variadic.push(data.length)
      for (const buffer of data) add(buffer)
    }
    if (type.typeId === Type.Dictionary)
      dictionaries.push({ id: type.id, type: type.dictionary, name, entries: dictionaryOf(batch) })
    for (const [i, field] of childFields(type).entries())
      visit(field.type, batch.children[i]!, `${name}.${field.name}`)
  }
  for (const [i, { type, name }] of fields.entries()) visit(type, batches[i]!, name)
  const regions = buffers.map(({ length }) => ({ offset: 0, length }))
  const about = { length: batches[0]!.length, compression: undefined, unionsHaveValidity: false }
  return { header: { ...about, nodes, buffers: regions, variadic }, buffers, dictionaries }
}

/** Runs code that fails when the parts of a table do not match. */
function assembled<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw invalid(
      'The Arrow table cannot be written: its columns or batches do not fit together. Build it again.',
      { cause },
    )
  }
}

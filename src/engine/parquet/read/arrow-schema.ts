import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { type AnyBatch, makeBatch, makeColumn, partsOf, type Values } from '../../arrow/batch.ts'
import { castBatch } from '../../arrow/cast/cast.ts'
import { childFields, isList } from '../../arrow/layout.ts'
import { decodeSchema } from '../../arrow/schema.ts'
import { assemble } from '../../arrow/take/take.ts'
import { typeName } from '../../arrow/type-name.ts'
import { requireValid } from '../../arrow/validate.ts'
import { damagedFile } from '../damage.ts'

/** The entry of a file's metadata in which writers of Arrow data keep their schema. */
export const arrowSchemaKey = 'ARROW:schema'

/** The Arrow schema that the writer kept in a file. Undefined if there is none, or none that can be read. */
export function keptSchema(metadata: ReadonlyMap<string, string>): Schema | undefined {
  const text = metadata.get(arrowSchemaKey)
  if (text === undefined) return undefined
  try {
    return decodeSchema(new Uint8Array(Buffer.from(text, 'base64')))
  } catch {
    // The columns of Parquet are complete without it.
    return undefined
  }
}

/** The field of a struct with a name. */
export function fieldIn(arrow: Field | undefined, name: string): Field | undefined {
  if (arrow?.type.typeId !== Type.Struct) return undefined
  return arrow.type.children.find((field) => field.name === name)
}

/** The type that the Arrow schema names, if the values of a natural type can be brought there; else the natural type. */
export function retyped(natural: DataType, kept: DataType | undefined): DataType {
  if (kept === undefined) return natural
  if (kept.typeId === Type.Dictionary) {
    const values = retyped(natural, kept.dictionary)
    if (typeName(values, true) !== typeName(kept.dictionary, true) || !isPlain(values)) return natural
    return { ...kept, dictionary: values } as DataType
  }
  if (isList(natural) && isList(kept)) return { ...kept, children: childFields(natural) } as DataType
  if (isSame(natural, kept)) return kept
  // Writers bring times to a unit that readers know.
  if (
    natural.typeId === Type.Timestamp &&
    kept.typeId === Type.Timestamp &&
    natural.timezone &&
    kept.timezone
  )
    return { ...natural, timezone: kept.timezone }
  return natural
}

/** Whether a type has no children: values of others are not looked up in a dictionary. */
function isPlain(type: DataType): boolean {
  const { typeId } = type
  return !isList(type) && typeId !== Type.Struct && typeId !== Type.Map && typeId !== Type.Null
}

const texts: readonly number[] = [Type.Utf8, Type.LargeUtf8, Type.Utf8View]
const bytes: readonly number[] = [Type.Binary, Type.LargeBinary, Type.BinaryView]

function isSame(natural: DataType, kept: DataType): boolean {
  if (texts.includes(natural.typeId) && texts.includes(kept.typeId)) return true
  if (bytes.includes(natural.typeId) && bytes.includes(kept.typeId)) return true
  if (natural.typeId === Type.Timestamp && kept.typeId === Type.Timestamp) {
    if ((natural.timezone == null) !== (kept.timezone == null)) return false
    return natural.unit === kept.unit || (kept.unit === 0 && natural.unit === 1)
  }
  if (natural.typeId === Type.Time && kept.typeId === Type.Time)
    return natural.unit === kept.unit || (kept.unit === 0 && natural.unit === 1)
  if (natural.typeId === Type.Decimal && kept.typeId === Type.Decimal)
    return natural.precision === kept.precision && natural.scale === kept.scale
  if (natural.typeId === Type.Int && natural.bitWidth === 64) return kept.typeId === Type.Duration
  if (natural.typeId === Type.Date && kept.typeId === Type.Date) return true
  return natural.typeId === Type.Interval && kept.typeId === Type.Interval
}

/** The values of a batch in the type that {@link retyped} gave. */
export function toKept(batch: AnyBatch, type: DataType, label: string): AnyBatch {
  if (batch.type === type || typeName(batch.type) === typeName(type)) return makeBatch(type, partsOf(batch))
  if (type.typeId === Type.Dictionary) return toDictionary(toKept(batch, type.dictionary, label), type, label)
  if (type.typeId === Type.Duration) return makeBatch(type, partsOf(batch))
  if (type.typeId === Type.Interval) return toInterval(batch, type)
  if (type.typeId === Type.Timestamp || type.typeId === Type.Time) requireWhole(batch, type, label)
  return castBatch(batch, type)
}

/** Parquet has no seconds: writers bring them to milliseconds, and back they lose nothing. */
function requireWhole({ type, values }: AnyBatch, kept: DataType, label: string): void {
  if (!('unit' in type) || !('unit' in kept) || type.unit === kept.unit) return
  if (
    values instanceof BigInt64Array
      ? values.some((at) => at % 1000n !== 0n)
      : (values as Int32Array).some((at) => at % 1000 !== 0)
  )
    throw damagedFile(`has parts of seconds in column ${label}, where its Arrow schema has seconds`)
}

/** Intervals of months, or of days and milliseconds, of those with all parts. */
function toInterval(batch: AnyBatch, type: DataType): AnyBatch {
  const all = batch.values as Uint8Array
  const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
  const isMonths = type.typeId === Type.Interval && type.unit === 0
  const values = new Int32Array(batch.length * (isMonths ? 1 : 2))
  for (let i = 0; i < batch.length; i++) {
    if (isMonths) values[i] = view.getInt32(i * 16, true)
    else {
      values[i * 2] = view.getInt32(i * 16 + 4, true)
      values[i * 2 + 1] = Number(view.getBigInt64(i * 16 + 8, true) / 1_000_000n)
    }
  }
  return makeBatch(type, { ...partsOf(batch), values })
}

/** A batch whose values are looked up in a dictionary of its different ones. */
function toDictionary(plain: AnyBatch, type: DataType, label: string): AnyBatch {
  if (type.typeId !== Type.Dictionary) throw new TypeError('no dictionary')
  const known = new Map<unknown, number>()
  const firsts: number[] = []
  const indices = new type.indices.values(plain.length) as Values
  const isWide = indices instanceof BigInt64Array || indices instanceof BigUint64Array
  for (let i = 0; i < plain.length; i++) {
    if (plain.nullCount > 0 && !plain.isValid(i)) continue
    const value: unknown = plain.at(i)
    const key = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : keyOf(value)
    let at = known.get(key)
    if (at === undefined) {
      at = firsts.length
      known.set(key, at)
      firsts.push(i)
    }
    indices[i] = (isWide ? BigInt(at) : at) as never
    if (Number(indices[i]) !== at)
      throw damagedFile(`has more values in column ${label} than its Arrow schema has numbers for`)
  }
  const values = pick(plain, firsts)
  requireValid(values, label)
  const dictionary = makeColumn(type.dictionary, [values])
  const { length, nullCount, validity } = partsOf(plain)
  return makeBatch(type, { length, nullCount, validity, values: indices, dictionary })
}

function keyOf(value: unknown): unknown {
  if (value === 0) return Object.is(value, -0) ? '-0' : value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') return value
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part))
    : value
}

function pick(batch: AnyBatch, rows: readonly number[]): AnyBatch {
  return assemble(
    batch.type,
    rows.length === 0 ? [] : [{ batch, runs: rows.flatMap((row) => [row, row + 1]) }],
  )
}

import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, isNullAt, makeBatch, type Offsets, partsOf, type Values } from '../batch.ts'
import { childFields, layoutOf } from '../layout.ts'
import { nullBatch } from '../null-batch.ts'
import { assemble } from '../take/take.ts'
import { typeName } from '../type-name.ts'
import { type Convert, decimals, floats, fromIntegers, integers, times, toIntegers } from './fixed-width.ts'
import { decoded, laidOut, listsOf, viewed } from './layouts.ts'

/** A value that does not fit the new type. `row` is its index in the batch that was cast. */
export class CastFailure extends Error {
  readonly row: number

  constructor(row: number) {
    super(`row ${row} does not fit`)
    this.row = row
  }
}

/** Families of types whose values convert into one another. Source: Lance's `is_upcast_downcast`. */
function familyOf(type: DataType): string | undefined {
  switch (type.typeId) {
    case Type.Int:
      return 'integer'
    case Type.Float:
      return 'float'
    case Type.Decimal:
      return 'decimal'
    case Type.Date:
    case Type.Timestamp:
      return 'moment'
    case Type.Time:
      return 'time'
    case Type.Duration:
      return 'duration'
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return 'text'
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
      return 'bytes'
    case Type.List:
    case Type.LargeList:
    case Type.FixedSizeList:
    case Type.ListView:
    case Type.LargeListView:
      return 'list'
  }
  return undefined
}

/** Whether values of one type can be converted to another one, judged by the types alone. */
export function canCast(from: DataType, to: DataType): boolean {
  if (typeName(from, true) === typeName(to, true)) return true
  const family = familyOf(from)
  if (family === undefined || family !== familyOf(to)) return false
  if (family !== 'list') return true
  if (from.typeId === Type.FixedSizeList && to.typeId === Type.FixedSizeList && from.stride !== to.stride)
    return false
  return canCast(childFields(from)[0]!.type, childFields(to)[0]!.type)
}

/**
 * Whether a column of one type accepts values of another type, judged by the types alone. True for types that
 * `canCast`, for integers and floats in both directions, texts to binary, views and their plain types, and dictionaries
 * of such values.
 */
export function canAssign(from: DataType, to: DataType): boolean {
  if (typeName(from, true) === typeName(to, true)) return true
  if (from.typeId === Type.Dictionary) return canAssign(from.dictionary, to)
  if (isNumber(from) && isNumber(to)) return true
  if (familyOf(from) === 'text' && familyOf(to) === 'bytes') return true
  if (familyOf(from) !== 'list' || familyOf(to) !== 'list') return canCast(from, to)
  if (from.typeId === Type.FixedSizeList && to.typeId === Type.FixedSizeList && from.stride !== to.stride)
    return false
  const [item, into] = [childFields(from)[0]!.type, childFields(to)[0]!.type]
  // Structs in lists of the same kind are matched field by field.
  return canAssign(item, into) || (from.typeId !== to.typeId && areAlike(item, into))
}

/** Whether two structs have fields of the same names in the same order, whose values can be assigned. */
function areAlike(from: DataType, to: DataType, fits = canAssign): boolean {
  const [given, wanted] = [childFields(from), childFields(to)]
  if (from.typeId !== Type.Struct || to.typeId !== Type.Struct || given.length !== wanted.length) return false
  return given.every(({ name, type }, i) => {
    const { name: into, type: other } = wanted[i]!
    return name === into && (fits(type, other) || areAlike(type, other, fits))
  })
}

function isListView({ typeId }: DataType): boolean {
  return typeId === Type.ListView || typeId === Type.LargeListView
}

/**
 * Whether two types hold the same values and differ in layout only: texts and bytes with offsets of any width or as
 * views, lists likewise, decimals of one precision and scale, and timestamps of one unit in any zone.
 */
export function differsInLayout(from: DataType, to: DataType): boolean {
  if (typeName(from, true) === typeName(to, true)) return true
  const family = familyOf(from)
  if (family !== familyOf(to)) return false
  if (family === 'text' || family === 'bytes') return true
  if (from.typeId === Type.Decimal && to.typeId === Type.Decimal)
    return from.precision === to.precision && from.scale === to.scale
  if (from.typeId === Type.Timestamp && to.typeId === Type.Timestamp)
    return from.unit === to.unit && (from.timezone == null) === (to.timezone == null)
  if (family !== 'list' || from.typeId === Type.FixedSizeList || to.typeId === Type.FixedSizeList)
    return false
  const [item, into] = [childFields(from)[0]!.type, childFields(to)[0]!.type]
  return differsInLayout(item, into) || areAlike(item, into, differsInLayout)
}

function isNumber({ typeId }: DataType): boolean {
  return typeId === Type.Int || typeId === Type.Float
}

/** A value's row in the batch that is cast, and whether an enclosing value makes it null. */
interface Context {
  readonly rowOf: (index: number) => number
  readonly isHidden: (index: number) => boolean
}

/**
 * The values of a batch in another type. Fields of structs may differ in their types. Throws `CastFailure` for the
 * first value that the type cannot hold.
 */
export function castBatch(batch: AnyBatch, to: DataType): AnyBatch {
  return cast(batch, to, { rowOf: (i) => i, isHidden: () => false })
}

function cast(batch: AnyBatch, to: DataType, context: Context): AnyBatch {
  const from = batch.type
  if (typeName(from) === typeName(to)) return batch
  if (from.typeId === Type.Dictionary) return cast(decoded(batch), to, context)
  if (from.typeId === Type.Struct && to.typeId === Type.Struct) {
    const within = inside(batch, context, (i) => i)
    const children = batch.children.map((child, i) => cast(child, to.children[i]!.type, within))
    return makeBatch(to, { ...partsOf(batch), children })
  }
  const family = familyOf(from)
  if (family === 'list') return castList(batch, to, context)
  if (family === 'text' || family === 'bytes') return castBytes(batch, to)
  const convert = converter(batch, to)
  if (convert === undefined) return makeBatch(to, partsOf(batch))
  return castFixed(batch, to, convert, context)
}

function converter(batch: AnyBatch, to: DataType): Convert | undefined {
  const isWhole = batch.type.typeId === Type.Int
  if (to.typeId === Type.Int) return isWhole ? integers(batch, to) : toIntegers(batch, to)
  if (to.typeId === Type.Float) return isWhole ? fromIntegers(batch, to) : floats(batch, to)
  if (to.typeId === Type.Decimal) return decimals(batch, to)
  return familyOf(to) === undefined ? undefined : times(batch, to)
}

function castFixed(batch: AnyBatch, to: DataType, convert: Convert, context: Context): AnyBatch {
  const layout = layoutOf(to)
  if (layout.kind !== 'fixed') throw new TypeError('not a type of fixed width')
  const values = new layout.array((batch.length * layout.bytes) / layout.array.BYTES_PER_ELEMENT) as Values
  for (let i = 0; i < batch.length; i++) {
    if (isNullAt(batch, i) || convert(i, values) || context.isHidden(i)) continue
    throw new CastFailure(context.rowOf(i))
  }
  return makeBatch(to, { ...partsOf(batch), values })
}

/** Texts and bytes differ in layout only. */
function castBytes(batch: AnyBatch, to: DataType): AnyBatch {
  const isView = layoutOf(batch.type).kind === 'views'
  if (layoutOf(to).kind === 'views') return isView ? makeBatch(to, partsOf(batch)) : castToViews(batch, to)
  if (isView) return laidOut(batch, to)
  return makeBatch(to, { ...partsOf(batch), offsets: castOffsets(offsetsOf(batch), to) })
}

function castToViews(batch: AnyBatch, to: DataType): AnyBatch {
  // A view stores its offset in 32 bits.
  if ((batch.values as Uint8Array).length >= 2 ** 31) throw new CastFailure(0)
  return viewed(batch, to)
}

function offsetsOf({ offsets, length }: AnyBatch): Offsets {
  return (offsets as Offsets).subarray(0, length + 1)
}

function castOffsets(offsets: Offsets, to: DataType): Offsets {
  const layout = layoutOf(to)
  if (!('offsets' in layout)) throw new TypeError('a type without offsets')
  if (offsets instanceof layout.offsets) return offsets
  if (layout.offsets === BigInt64Array) return BigInt64Array.from(offsets as Int32Array, BigInt)
  if (Number(offsets.at(-1) ?? 0) >= 2 ** 31) throw new CastFailure(0)
  return Int32Array.from(offsets as BigInt64Array, Number)
}

/** Offsets of lists in the layout of their type: list views have a size for each list. */
function listParts(offsets: Offsets, to: DataType): { offsets: Offsets; sizes?: Offsets } {
  const cast = castOffsets(offsets, to)
  if (!isListView(to)) return { offsets: cast }
  const sizes = cast.slice(1)
  for (let i = 0; i < sizes.length; i++) sizes[i] = ((cast[i + 1] as number) - (cast[i] as number)) as never
  return { offsets: cast.subarray(0, sizes.length), sizes }
}

function castList(batch: AnyBatch, to: DataType, context: Context): AnyBatch {
  const from = batch.type
  const item = childFields(to)[0]!.type
  const { offsets: _, sizes: __, children: ___, ...parts } = partsOf(batch)
  if (from.typeId === Type.FixedSizeList) {
    const { stride } = from
    const items = cast(
      batch.children[0]!,
      item,
      inside(batch, context, (i) => Math.floor(i / stride)),
    )
    if (to.typeId === Type.FixedSizeList) return makeBatch(to, { ...parts, children: [items] })
    const offsets = Int32Array.from({ length: batch.length + 1 }, (_, i) => i * stride)
    return makeBatch(to, { ...parts, ...listParts(offsets, to), children: [items] })
  }
  const { offsets, items: given } = isListView(from)
    ? listsOf(batch)
    : { offsets: offsetsOf(batch), items: batch.children[0]! }
  const items = cast(
    given,
    item,
    inside(batch, context, (i) => holderOf(offsets, i)),
  )
  if (to.typeId !== Type.FixedSizeList) {
    return makeBatch(to, { ...parts, ...listParts(offsets, to), children: [items] })
  }
  const { stride } = to
  const runs: number[] = []
  for (let i = 0; i < batch.length; i++) {
    const [start, end] = [Number(offsets[i]), Number(offsets[i + 1])]
    const isAbsent = isNullAt(batch, i)
    if (!isAbsent && end - start !== stride && !context.isHidden(i)) throw new CastFailure(context.rowOf(i))
    runs.push(isAbsent || end - start !== stride ? -1 : start)
  }
  return makeBatch(to, { ...parts, children: [strided(items, item, runs, stride)] })
}

/** The items of fixed-size lists. Each list begins at its entry of `starts`, which is -1 for a null list. */
function strided(items: AnyBatch, type: DataType, starts: readonly number[], stride: number): AnyBatch {
  const none = { batch: nullBatch(type, stride), runs: [0, stride] }
  const pieces = starts.map((start) => (start < 0 ? none : { batch: items, runs: [start, start + stride] }))
  return assemble(type, pieces)
}

/** The context of a batch's children, whose values at `i` belong to its own at `parentOf(i)`. */
function inside(batch: AnyBatch, { rowOf, isHidden }: Context, parentOf: (i: number) => number): Context {
  return {
    rowOf: (i) => rowOf(Math.max(0, parentOf(i))),
    isHidden: (i) => {
      const parent = parentOf(i)
      return parent < 0 || isNullAt(batch, parent) || isHidden(parent)
    },
  }
}

/** The list that has the item at `i`; -1 when none has. */
function holderOf(offsets: Offsets, i: number): number {
  let low = 0
  for (let high = offsets.length - 1; low < high; ) {
    const middle = (low + high) >> 1
    if (Number(offsets[middle + 1]) <= i) low = middle + 1
    else high = middle
  }
  return low < offsets.length - 1 && Number(offsets[low]) <= i ? low : -1
}

import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, type BatchParts, makeBatch, makeColumn, partsOf } from './batch.ts'
import { countBits } from './bitmap.ts'
import { childFields, layoutOf } from './layout.ts'

/** Most nulls in one batch from outside. Without a limit, a few bytes could claim any number of them. */
const maxNulls = 2 ** 26

/** A batch of nulls. Throws `RangeError` when there are too many. */
export function nullBatch(type: DataType, length: number, max = maxNulls): AnyBatch {
  if (length > max) throw new RangeError(`${length} nulls`)
  const layout = layoutOf(type)
  const children = (size: number) => childFields(type).map((field) => nullBatch(field.type, size, max))
  const make = (parts: Partial<BatchParts>) =>
    makeBatch(type, { length, nullCount: length, validity: new Uint8Array(Math.ceil(length / 8)), ...parts })
  switch (layout.kind) {
    case 'null':
      return makeBatch(type, { length, nullCount: length })
    case 'bits':
      return make({ values: new Uint8Array(Math.ceil(length / 8)) })
    case 'fixed':
      return make({ values: new layout.array((length * layout.bytes) / layout.array.BYTES_PER_ELEMENT) })
    case 'bytes':
      return make({ offsets: new layout.offsets(length + 1), values: new Uint8Array(0) })
    case 'views':
      return make({ values: new Uint8Array(length * 16), data: [] })
    case 'list':
      return make({ offsets: new layout.offsets(length + 1), children: children(0) })
    case 'listView':
      return make({
        offsets: new layout.offsets(length),
        sizes: new layout.offsets(length),
        children: children(0),
      })
    case 'fixedList':
      return make({ children: children(length * layout.stride) })
    case 'struct':
      return make({ children: children(length) })
    case 'dictionary': {
      const values = type.typeId === Type.Dictionary ? type.dictionary : type
      return make({
        values: new layout.array(length),
        dictionary: makeColumn(values, [nullBatch(values, 0)]),
      })
    }
    case 'union': {
      if (type.typeId !== Type.Union) break
      const typeIds = new Int8Array(length).fill(type.typeIds[0] ?? 0)
      if (!layout.dense) return makeBatch(type, { length, typeIds, children: children(length) })
      const [first, ...rest] = type.children
      const one = first ? [nullBatch(first.type, Math.min(1, length))] : []
      const none = rest.map((field) => nullBatch(field.type, 0))
      return makeBatch(type, {
        length,
        typeIds,
        offsets: new Int32Array(length),
        children: [...one, ...none],
      })
    }
    case 'runEnds': {
      const [ends, value] = childFields(type)
      const run = numberBatch(ends!.type, length)
      return makeBatch(type, { length, children: [run, nullBatch(value!.type, run.length, max)] })
    }
  }
  throw new TypeError('a layout that cannot be null')
}

/** The end of one run of `length` rows; no run for no rows. */
function numberBatch(type: DataType, length: number): AnyBatch {
  const layout = layoutOf(type)
  if (layout.kind !== 'fixed') throw new TypeError('run ends are no integers')
  const values = new layout.array(length === 0 ? 0 : 1)
  if (length > 0) values[0] = (values instanceof BigInt64Array ? BigInt(length) : length) as never
  return makeBatch(type, { length: values.length, values })
}

/** A child of a struct, null wherever the struct is: the bytes there have no meaning. */
export function nullWithin(struct: AnyBatch, child: AnyBatch): AnyBatch {
  const { length } = child
  const validity = new Uint8Array(Math.ceil(length / 8))
  for (let i = 0; i < validity.length; i++)
    validity[i] = struct.validity[i]! & (child.nullCount > 0 ? child.validity[i]! : 255)
  return makeBatch(child.type, {
    ...partsOf(child),
    validity,
    nullCount: length - countBits(validity, length),
  })
}

import { Type } from '@uwdata/flechette'
import type { SchemaElement } from 'hyparquet'
import { type AnyBatch, isNullAt, type Offsets } from '../../arrow/batch.ts'
import { castBatch } from '../../arrow/cast/cast.ts'
import { decoded, listsOf } from '../../arrow/cast/layouts.ts'
import { assemble } from '../../arrow/take/take.ts'
import { type Column, repeatedOf, valueTypeOf } from './elements.ts'
import { readerOf } from './read-values.ts'

/** What one leaf has of some rows: its values, null where there is none, and the levels of each. */
export interface LeafPart {
  readonly values: unknown[]
  readonly defs: Uint8Array
  readonly reps: Uint8Array
}

/** A leaf of a column: the elements from the root of the schema down to it. */
export interface Leaf {
  readonly path: readonly SchemaElement[]
  readonly column: Column
  readonly maxDef: number
  readonly maxRep: number
}

/** The leaves of a column, in the order of the schema. */
export function leavesOf(column: Column, root: SchemaElement): Leaf[] {
  const found: Leaf[] = []
  const visit = (at: Column, before: readonly SchemaElement[]): void => {
    const path = [...before, at.element]
    if (at.kind === 'leaf') {
      const count = (kept: (element: SchemaElement) => boolean) => path.slice(1).filter(kept).length
      found.push({
        path,
        column: at,
        maxDef: count(({ repetition_type }) => repetition_type !== 'REQUIRED'),
        maxRep: count(({ repetition_type }) => repetition_type === 'REPEATED'),
      })
      return
    }
    const within = at.kind === 'struct' ? path : [...path, repeatedOf(at.kind)]
    for (const child of at.children) visit(child, within)
  }
  visit(column, [root])
  return found
}

/** Places in a batch, -1 where a value above is null or empty, with the levels that are known so far. */
interface Places {
  readonly index: Int32Array
  readonly defs: Uint8Array
  readonly reps: Uint8Array
}

/** Splits a column of a batch into its leaves, in the order of {@link leavesOf}. */
export function shred(column: Column, batch: AnyBatch): LeafPart[] {
  const { length } = batch
  const found: LeafPart[] = []
  const places: Places = {
    index: Int32Array.from({ length }, (_, i) => i),
    defs: new Uint8Array(length),
    reps: new Uint8Array(length),
  }
  visit(column, batch, places, 0, found)
  return found
}

function visit(column: Column, given: AnyBatch, places: Places, rep: number, found: LeafPart[]): void {
  const batch = plainOf(given, column)
  const own = column.element.repetition_type === 'OPTIONAL' ? withNulls(batch, places) : places
  switch (column.kind) {
    case 'leaf': {
      const { index, defs, reps } = own
      const read = readerOf(batch, column)
      const values = new Array<unknown>(index.length)
      for (let i = 0; i < index.length; i++) values[i] = index[i]! < 0 ? null : read(index[i]!)
      found.push({ values, defs, reps })
      return
    }
    case 'struct':
      for (const [i, child] of column.children.entries()) visit(child, batch.children[i]!, own, rep, found)
      return
    default: {
      const { offsets, items } = listOf(batch)
      const within = itemPlaces(offsets, own, rep + 1)
      if (column.kind === 'list') {
        visit(column.children[0]!, items, within, rep + 1, found)
        return
      }
      for (const [i, child] of column.children.entries())
        visit(child, items.children[i]!, within, rep + 1, found)
    }
  }
}

/** A batch without dictionaries, runs and views. */
function plainOf(batch: AnyBatch, column: Column): AnyBatch {
  const { typeId } = batch.type
  if (typeId === Type.Dictionary) return plainOf(decoded(batch), column)
  if (typeId === Type.RunEndEncoded) return plainOf(runsDecoded(batch), column)
  const type = valueTypeOf(column.field.type)
  if (typeId === Type.Utf8View)
    return castBatch(batch, { typeId: Type.LargeUtf8, offsets: BigInt64Array } as typeof type)
  if (typeId === Type.BinaryView)
    return castBatch(batch, { typeId: Type.LargeBinary, offsets: BigInt64Array } as typeof type)
  return batch
}

function runsDecoded(batch: AnyBatch): AnyBatch {
  const [ends, values] = batch.children as [AnyBatch, AnyBatch]
  const runs: number[] = []
  for (let row = 0, run = 0; row < batch.length; row++) {
    while (Number(ends.at(run)) <= row) run++
    runs.push(run, run + 1)
  }
  return assemble(values.type, [{ batch: values, runs }])
}

function withNulls(batch: AnyBatch, { index, defs, reps }: Places): Places {
  const [next, levels] = [Int32Array.from(index), Uint8Array.from(defs)]
  const isNull = batch.type.typeId === Type.Null
  for (let i = 0; i < next.length; i++) {
    if (next[i]! < 0) continue
    if (isNull || isNullAt(batch, next[i]!)) next[i] = -1
    else levels[i]!++
  }
  return { index: next, defs: levels, reps }
}

function listOf(batch: AnyBatch): { offsets: Offsets; items: AnyBatch } {
  const { type } = batch
  if (type.typeId === Type.FixedSizeList) {
    const offsets = Int32Array.from({ length: batch.length + 1 }, (_, i) => i * type.stride)
    return { offsets, items: batch.children[0]! }
  }
  if (type.typeId === Type.ListView || type.typeId === Type.LargeListView) return listsOf(batch)
  return { offsets: batch.offsets as Offsets, items: batch.children[0]! }
}

function itemPlaces(offsets: Offsets, { index, defs, reps }: Places, rep: number): Places {
  let count = 0
  for (const at of index) count += at < 0 ? 1 : Math.max(1, Number(offsets[at + 1]) - Number(offsets[at]))
  const next = { index: new Int32Array(count), defs: new Uint8Array(count), reps: new Uint8Array(count) }
  let to = 0
  const put = (at: number, def: number, level: number) => {
    next.index[to] = at
    next.defs[to] = def
    next.reps[to++] = level
  }
  for (const [i, at] of index.entries()) {
    const [start, end] = at < 0 ? [0, 0] : [Number(offsets[at]), Number(offsets[at + 1])]
    if (start === end) put(-1, defs[i]!, reps[i]!)
    for (let item = start; item < end; item++) put(item, defs[i]! + 1, item === start ? reps[i]! : rep)
  }
  return next
}

import { Type } from '@uwdata/flechette'
import { type AnyBatch, type BatchParts, emptyBytes, makeBatch, partsOf } from '../../arrow/batch.ts'
import { damagedFile } from '../damage.ts'
import { toKept } from './arrow-schema.ts'
import { fillValues } from './fill.ts'
import type { LeafRows } from './leaf-reader.ts'
import type { SchemaNode } from './schema-tree.ts'
import type { Shape } from './shape.ts'

/**
 * Where the values of a field may lie: one for each level of its leaves that is `def` at least, and begins no item of a
 * list deeper than `rep`.
 */
interface Slots {
  readonly def: number
  readonly rep: number
  readonly count: number
}

/** The batch of a column, made of what its leaves have of some rows. `leaves` are taken from the front. */
export function assembleColumn(shape: Shape, leaves: readonly LeafRows[], rows: number): AnyBatch {
  return assembleShape(shape, [...leaves], { def: 0, rep: 0, count: rows })
}

function assembleShape(shape: Shape, leaves: LeafRows[], slots: Slots): AnyBatch {
  switch (shape.kind) {
    case 'leaf':
      return leafBatch(shape, leaves.shift()!, slots)
    case 'struct': {
      const nulls = agreedNulls(shape, leaves, slots)
      const children = shape.children.map((child) => assembleShape(child, leaves, slots))
      return makeBatch(shape.type, { length: slots.count, ...nulls, children })
    }
    default:
      return listBatch(shape, leaves, slots)
  }
}

const noNulls = { validity: emptyBytes, nullCount: 0 }

/** Which slots of a field are null: those whose level does not reach the field. */
function nullsOf(
  { node, nullable, type }: Shape,
  leaf: LeafRows,
  slots: Slots,
): Pick<BatchParts, 'validity' | 'nullCount'> {
  const { defs, reps, count } = leaf
  const validity = new Uint8Array((slots.count + 7) >> 3)
  let slot = 0
  let nullCount = 0
  for (let i = 0; i < count; i++) {
    if (reps !== undefined && reps[i]! > slots.rep) continue
    if (defs !== undefined && defs[i]! < slots.def) continue
    if (defs === undefined || defs[i]! >= node.def) validity[slot >> 3]! |= 1 << (slot & 7)
    else nullCount++
    slot++
  }
  checkSlots(slot, slots.count, node.label)
  // A list of fixed size that may not be null itself has no items where a struct around it is null.
  const isKept = nullable || type.typeId === Type.FixedSizeList
  return nullCount === 0 || !isKept ? noNulls : { validity, nullCount }
}

/** What all leaves below a field tell of it. Damaged ones may tell different things. */
function agreed<T>(
  node: SchemaNode,
  leaves: readonly LeafRows[],
  told: (leaf: LeafRows) => T,
  bytesOf: (told: T) => ArrayBufferView,
): T {
  const first = told(leaves[0]!)
  for (let i = 1; i < node.leaves.length; i++) {
    const other = bytesOf(told(leaves[i]!))
    const { buffer, byteOffset, byteLength } = bytesOf(first)
    if (
      Buffer.from(buffer, byteOffset, byteLength).compare(
        new Uint8Array(other.buffer, other.byteOffset, other.byteLength),
      ) !== 0
    )
      throw damagedFile(`has fields of ${node.label} that disagree on where it is`)
  }
  return first
}

function agreedNulls(
  shape: Shape,
  leaves: readonly LeafRows[],
  slots: Slots,
): Pick<BatchParts, 'validity' | 'nullCount'> {
  if (shape.node.repetition === 'REQUIRED' && shape.type.typeId !== Type.FixedSizeList) return noNulls
  return agreed(
    shape.node,
    leaves,
    (leaf) => nullsOf(shape, leaf, slots),
    ({ validity }) => validity ?? emptyBytes,
  )
}

function checkSlots(found: number, wanted: number, label: string): void {
  if (found !== wanted)
    throw damagedFile(`has ${found} values of ${label}, where the fields beside it have ${wanted}`)
}

/** Where the items of each list begin, and of the last one end. */
function offsetsOf({ node }: Shape, repeated: SchemaNode, leaf: LeafRows, slots: Slots): Int32Array {
  const { defs, reps, count } = leaf
  const offsets = new Int32Array(slots.count + 1)
  let slot = -1
  let items = 0
  // Whether the level before was of an item, which others can follow.
  let isOpen = false
  for (let i = 0; i < count; i++) {
    const rep = reps === undefined ? 0 : reps[i]!
    if (rep > repeated.rep) continue
    const isItem = defs === undefined || defs[i]! >= repeated.def
    if (rep > slots.rep) {
      if (!isOpen || !isItem) throw damagedFile(`has a list ${node.label} that goes on after its end`)
    } else {
      isOpen = isItem
      if (defs !== undefined && defs[i]! < slots.def) continue
      slot++
      // A fault is reported below.
      if (slot < slots.count) offsets[slot] = items
    }
    if (isItem) items++
  }
  checkSlots(slot + 1, slots.count, node.label)
  offsets[slots.count] = items
  return offsets
}

function listBatch(shape: Shape, leaves: LeafRows[], slots: Slots): AnyBatch {
  const { node, kind } = shape
  const repeated = shape.repeated!
  const nulls = repeated === node ? noNulls : agreedNulls(shape, leaves, slots)
  const offsets = agreed(
    repeated,
    leaves,
    (leaf) => offsetsOf(shape, repeated, leaf, slots),
    (told) => told,
  )
  const items = offsets[slots.count]!
  const within: Slots = { def: repeated.def, rep: repeated.rep, count: items }
  const children = shape.children.map((child) => assembleShape(child, leaves, within))
  if (kind === 'map' && children[0]!.nullCount > 0) throw damagedFile(`has null keys in ${node.label}`)
  const common = { length: slots.count, ...nulls, offsets }
  if (kind === 'list') {
    const made = toKept(makeBatch(shape.natural, { ...common, children }), shape.type, node.label)
    return shape.nullable ? made : makeBatch(shape.type, { ...partsOf(made), ...noNulls })
  }
  const [entries] = (shape.natural as { children: readonly { type: AnyBatch['type'] }[] }).children
  return makeBatch(shape.type, {
    ...common,
    children: [makeBatch(entries!.type, { length: items, children })],
  })
}

function leafBatch(shape: Shape, leaf: LeafRows, slots: Slots): AnyBatch {
  const { node, natural, nullable } = shape
  const { defs, count } = leaf
  let positions: Int32Array | undefined
  let nulls: Pick<BatchParts, 'validity' | 'nullCount'> = noNulls
  if (defs === undefined) checkSlots(count, slots.count, node.label)
  else {
    positions = new Int32Array(count)
    const validity = new Uint8Array((slots.count + 7) >> 3)
    let slot = 0
    let present = 0
    for (let i = 0; i < count; i++) {
      const def = defs[i]!
      if (def < slots.def) continue
      if (def === node.def) {
        positions[present++] = slot
        if (slot < slots.count) validity[slot >> 3]! |= 1 << (slot & 7)
      }
      slot++
    }
    checkSlots(slot, slots.count, node.label)
    if (present === slot) positions = undefined
    else if (nullable) nulls = { validity, nullCount: slot - present }
  }
  const batch = makeBatch(natural, {
    length: slots.count,
    ...nulls,
    ...fillValues(shape, leaf.runs, positions, slots.count),
  })
  return toKept(batch, shape.type, node.label)
}

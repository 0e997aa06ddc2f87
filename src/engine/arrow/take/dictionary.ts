import type { DataType } from '@uwdata/flechette'
import { type AnyBatch, type AnyColumn, makeColumn } from '../batch.ts'
import { layoutOf } from '../layout.ts'
import { ValueMap } from '../value-map.ts'
import { assemble, type Piece } from './take.ts'

/** One dictionary merged from several, and the new index of each old entry (undefined: unchanged). */
export interface MergedDictionary {
  readonly dictionary: AnyColumn
  readonly moved: readonly (Int32Array | undefined)[]
}

/**
 * Merges dictionaries of one type. Entries keep their order, and equal entries of plain types become one. A dictionary
 * that extends another one (an Arrow delta) is used as it is.
 */
export function mergeDictionaries(type: DataType, dictionaries: readonly AnyColumn[]): MergedDictionary {
  let longest = dictionaries[0]!
  for (const one of dictionaries) if (one.data.length > longest.data.length) longest = one
  if (dictionaries.every((one) => one.data.every((batch, i) => batch === longest.data[i]))) {
    return { dictionary: longest, moved: dictionaries.map(() => undefined) }
  }
  const indices = new ValueMap()
  const pieces: Piece[] = []
  const done = new Map<AnyColumn, Int32Array>()
  let length = 0
  const moved = dictionaries.map((one) => {
    const known = done.get(one)
    if (known) return known
    const target = new Int32Array(one.length)
    let at = 0
    for (const batch of one.data) {
      const fresh: number[] = []
      for (let i = 0; i < batch.length; i++, at++) {
        const key = keyAt(batch, i)
        // Nested values are not compared.
        target[at] = key === undefined ? length : indices.add(key, length)
        if (target[at] !== length) continue
        length++
        if (fresh.at(-1) === i) fresh[fresh.length - 1] = i + 1
        else fresh.push(i, i + 1)
      }
      if (fresh.length > 0) pieces.push({ batch, runs: fresh })
    }
    done.set(one, target)
    return target
  })
  return { dictionary: makeColumn(type, [assemble(type, pieces)]), moved }
}

/** A value that stands for an entry among those of its type; undefined for nested values. */
function keyAt(batch: AnyBatch, row: number): unknown {
  if (batch.nullCount > 0 && !batch.isValid(row)) return null
  const layout = layoutOf(batch.type)
  if (layout.kind === 'fixed' && layout.bytes === layout.array.BYTES_PER_ELEMENT) {
    const value = batch.values[row]
    return Object.is(value, -0) ? minusZero : value
  }
  if (layout.kind === 'bytes')
    return (batch.values as Uint8Array).subarray(Number(batch.offsets[row]), Number(batch.offsets[row + 1]))
  const value = batch.at(row)
  const isPlain = value === null || typeof value !== 'object' || value instanceof Uint8Array
  return isPlain ? value : undefined
}

const minusZero = Symbol('-0')

/** Thrown if a merged dictionary has too many entries for its index type. */
export class DictionaryFull extends RangeError {
  override readonly name = 'DictionaryFull'
}

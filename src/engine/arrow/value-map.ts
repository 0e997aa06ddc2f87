import { createHash } from 'node:crypto'
import { maxHashed } from '../../base/model/utf8.ts'
import { textOfBytes } from './text-of-bytes.ts'

/** A map by values of cells: by their content, also for bytes and for texts of any length. -0 and 0 are the same. */
export class ValueMap {
  readonly #indices = new Map<unknown, number>()
  /** The indices of long values, by their digests. */
  readonly #long = new Map<string, number>()

  /** The index of an equal value, if there is one. */
  get(value: unknown): number | undefined {
    return isLong(value) ? this.#long.get(digestOf(value)) : this.#indices.get(keyOf(value))
  }

  /** The index of an equal value. If there is none, the value gets this index. */
  add(value: unknown, index: number): number {
    const map: Map<unknown, number> = isLong(value) ? this.#long : this.#indices
    const key = isLong(value) ? digestOf(value) : keyOf(value)
    const known = map.get(key)
    if (known === undefined) map.set(key, index)
    return known ?? index
  }
}

function isLong(value: unknown): value is string | Uint8Array {
  return (typeof value === 'string' || value instanceof Uint8Array) && value.length > maxHashed
}

/** Values of one map have one type, so the text of bytes means bytes. */
function keyOf(value: unknown): unknown {
  return value instanceof Uint8Array ? textOfBytes(value) : value
}

function digestOf(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('base64')
}

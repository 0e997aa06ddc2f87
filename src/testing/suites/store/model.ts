import { compareKeys } from '../../../base/store/key.ts'
import type { Entry, Key, Range, Value, Writer } from '../../../base/store/store.ts'

/** A model of a store, which computes the expected results: a list of entries in key order. */
export class Model implements Writer {
  #entries: Entry[]

  constructor(entries: readonly Entry[] = []) {
    this.#entries = [...entries]
  }

  copy(): Model {
    return new Model(this.#entries)
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    return this.#entries.find((entry) => compareKeys(entry.key, key) === 0)?.value as V | undefined
  }

  range<V extends Value = Value>(range: Range): Entry<V>[] {
    const { prefix = [], start, end, limit = Number.POSITIVE_INFINITY, reverse } = range
    const found = this.#entries.filter(
      ({ key }) =>
        key.length > prefix.length &&
        prefix.every((part, i) => part === key[i]) &&
        (!start || compareKeys(key, start) >= 0) &&
        (!end || compareKeys(key, end) < 0),
    )
    if (reverse) found.reverse()
    return found.slice(0, limit) as Entry<V>[]
  }

  put(key: Key, value: Value): void {
    this.remove(key)
    const at = this.#entries.findIndex((entry) => compareKeys(entry.key, key) > 0)
    this.#entries.splice(at < 0 ? this.#entries.length : at, 0, { key, value })
  }

  remove(key: Key): void {
    this.#entries = this.#entries.filter((entry) => compareKeys(entry.key, key) !== 0)
  }
}

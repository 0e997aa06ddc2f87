import type { Entry, Key, Range, Value, Writer } from '../../src/base/store/store.ts'

/**
 * What a store should answer, computed the plain way: a list of entries, kept in the order of the bytes that
 * `encode` gives.
 */
export class Model implements Writer {
  #entries: { readonly bytes: Buffer; readonly key: Key; readonly value: Value }[]
  readonly #encode: (key: Key) => Buffer

  constructor(encode: (key: Key) => Buffer, from?: Model) {
    this.#encode = encode
    this.#entries = from ? from.#entries.slice() : []
  }

  copy(): Model {
    return new Model(this.#encode, this)
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    const bytes = this.#encode(key)
    return this.#entries.find((entry) => entry.bytes.equals(bytes))?.value as V | undefined
  }

  range<V extends Value = Value>(range: Range): Entry<V>[] {
    const { prefix = [], start, end, limit = Number.POSITIVE_INFINITY, reverse } = range
    const found = this.#entries.filter(
      ({ key, bytes }) =>
        key.length > prefix.length &&
        prefix.every((part, i) => part === key[i]) &&
        (!start || bytes.compare(this.#encode(start)) >= 0) &&
        (!end || bytes.compare(this.#encode(end)) < 0),
    )
    if (reverse) found.reverse()
    return found.slice(0, limit).map(({ key, value }) => ({ key, value: value as V }))
  }

  put(key: Key, value: Value): void {
    this.remove(key)
    const bytes = this.#encode(key)
    const at = this.#entries.findIndex((entry) => entry.bytes.compare(bytes) > 0)
    this.#entries.splice(at < 0 ? this.#entries.length : at, 0, { bytes, key, value })
  }

  remove(key: Key): void {
    const bytes = this.#encode(key)
    this.#entries = this.#entries.filter((entry) => !entry.bytes.equals(bytes))
  }
}

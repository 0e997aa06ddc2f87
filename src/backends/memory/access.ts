import { checkedKey } from '../../store/key.ts'
import { spanOf } from '../../store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../store/store.ts'
import { endedError } from '../body.ts'
import { codeOf } from './code.ts'
import type { HashIndex } from './hash-index.ts'
import { protect } from './protect.ts'
import { type OrderedTree, TreeEdit } from './tree.ts'

/** Reads one tree, until it is ended. */
export class TreeReader implements Reader {
  readonly #tree: OrderedTree
  readonly #index: HashIndex
  ended = false

  constructor(tree: OrderedTree, index: HashIndex) {
    this.#tree = tree
    this.#index = index
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    return this.#index.get(codeOf(checkedKey(key)), this.#tree) as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? (this.#tree.walk(span, this) as Iterable<Entry<V>>) : []
  }
}

/**
 * Changes a tree, and the index of it, until it is ended. A range shows the entries there were when it was asked
 * for.
 */
export class TreeWriter implements Writer {
  readonly #tree: OrderedTree
  readonly #edit: TreeEdit
  readonly #index: HashIndex
  /** The codes of keys that were put or removed. */
  readonly #touched: string[] = []
  ended = false

  constructor(tree: OrderedTree, index: HashIndex) {
    this.#tree = tree
    this.#edit = new TreeEdit(tree)
    this.#index = index
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    return this.#index.get(codeOf(checkedKey(key)), this.#edit) as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? (this.#edit.tree().walk(span, this) as Iterable<Entry<V>>) : []
  }

  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    const kept = protect(value)
    this.#touched.push(code)
    this.#edit.put(code, kept)
    this.#index.put(code, kept)
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#touched.push(code)
    this.#edit.remove(code)
    this.#index.remove(code)
  }

  /** The tree with all changes. */
  tree(): OrderedTree {
    return this.#edit.tree()
  }

  /** Brings the index back to what the tree held before. */
  undo(): void {
    for (const code of this.#touched) {
      const before = this.#tree.find(code)
      if (before === undefined) this.#index.remove(code)
      else this.#index.put(code, before.value)
    }
  }
}

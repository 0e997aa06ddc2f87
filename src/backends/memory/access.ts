import { checkedKey } from '../../store/key.ts'
import { spanOf } from '../../store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../store/store.ts'
import { endedError } from '../body.ts'
import type { LookUps } from './look-ups.ts'
import { protect } from './protect.ts'
import { type OrderedTree, TreeEdit } from './tree.ts'

/** Reads one tree, until it is ended. */
export class TreeReader implements Reader {
  readonly #tree: OrderedTree
  readonly #lookUps: LookUps
  ended = false

  constructor(tree: OrderedTree, lookUps: LookUps) {
    this.#tree = tree
    this.#lookUps = lookUps
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    return this.#tree.lookUp(checkedKey(key), this.#lookUps) as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? (this.#tree.walk(span, this) as Iterable<Entry<V>>) : []
  }
}

/** Changes a tree, until it is ended. A range shows the entries there were when it was asked for. */
export class TreeWriter implements Writer {
  readonly #edit: TreeEdit
  ended = false

  constructor(tree: OrderedTree) {
    this.#edit = new TreeEdit(tree)
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    return this.#edit.get(checkedKey(key)) as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    return span ? (this.#edit.tree().walk(span, this) as Iterable<Entry<V>>) : []
  }

  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    this.#edit.put(checkedKey(key), protect(value))
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    this.#edit.remove(checkedKey(key))
  }

  /** The tree with all changes. */
  tree(): OrderedTree {
    return this.#edit.tree()
  }

  /** The codes of keys that hold another value now, or none. */
  get changed(): readonly string[] {
    return this.#edit.changed
  }
}

import { endedError } from '../body.ts'
import { checkedKey } from '../key.ts'
import { spanOf } from '../range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../store.ts'
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

/** Changes a tree, until it is ended. A range shows the entries there were when it was asked for. */
export class TreeWriter implements Writer {
  readonly #edit: TreeEdit
  readonly #index: HashIndex
  readonly #codes: string[] = []
  readonly #values: (Value | undefined)[] = []
  ended = false

  constructor(tree: OrderedTree, index: HashIndex) {
    this.#edit = new TreeEdit(tree)
    this.#index = index
  }

  /** From the tree alone: the index knows nothing of changes that may come to nothing. */
  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#index.expect(code)
    return this.#edit.find(code)?.value as V | undefined
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
    this.#edit.put(code, kept)
    this.#note(code, kept)
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#edit.remove(code)
    this.#note(code, undefined)
  }

  #note(code: string, value: Value | undefined): void {
    this.#codes.push(code)
    this.#values.push(value)
  }

  /** The tree with all changes. */
  tree(): OrderedTree {
    return this.#edit.tree()
  }

  /** Tells the index of all changes, once they are made. */
  updateIndex(): void {
    for (let i = 0; i < this.#codes.length; i++) this.#index.set(this.#codes[i]!, this.#values[i])
  }
}

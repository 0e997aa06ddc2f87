import { compareStrings } from '../../base/store/key.ts'
import { keys } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'

/** The names in a namespace: namespaces and tables apart, each in order. */
export interface Children {
  readonly namespaces: NameCursor
  readonly tables: NameCursor
}

/** The names in a namespace, those after `after` if given, read in batches of at most `batchSize`. */
export function childrenAfter(
  reader: Reader,
  parent: string,
  after: string | undefined,
  batchSize: number,
): Children {
  const namespaces = new NameCursor(reader, keys.namespaceNames(parent), after, batchSize)
  const tables = new NameCursor(reader, keys.tables(parent), after, batchSize)
  if (after === undefined) readFirst(reader, parent, batchSize, { namespaces, tables })
  return { namespaces, tables }
}

/**
 * Reads the first names of both kinds in one range. A listing of many small namespaces spends its time in reads
 * that find little: one read instead of two saves a third of the time on disk.
 */
function readFirst(reader: Reader, parent: string, batchSize: number, children: Children): void {
  const namespaces: string[] = []
  const tables: string[] = []
  const prefix = keys.names(parent)
  for (const { key } of reader.range({ prefix, limit: batchSize, keysOnly: true })) {
    const kind = key[2] === 't' ? tables : namespaces
    kind.push(key[3] as string)
  }
  const isAll = namespaces.length + tables.length < batchSize
  // Keys order all namespaces before all tables.
  const hasAllNamespaces = isAll || tables.length > 0
  children.namespaces.fill(namespaces, hasAllNamespaces)
  if (hasAllNamespaces) children.tables.fill(tables, isAll)
}

/** Whether the next table sorts before the next namespace. */
export function isTableNext({ namespaces, tables }: Children): boolean {
  const table = tables.peek()
  if (table === undefined) return false
  const namespace = namespaces.peek()
  return namespace === undefined || compareStrings(table, namespace) < 0
}

/**
 * Walks the names that follow `prefix` in keys. Reads with a limit, batch by batch, so that the store reads no
 * more than it must: that saves a fifth of the time of a page of a hundred on disk.
 */
export class NameCursor {
  readonly #reader: Reader
  readonly #prefix: Key
  readonly #batchSize: number
  #batch: readonly string[] = []
  #at = 0
  #last: string | undefined
  #isLastBatch = false

  constructor(reader: Reader, prefix: Key, after: string | undefined, batchSize: number) {
    this.#reader = reader
    this.#prefix = prefix
    this.#batchSize = batchSize
    this.#last = after
  }

  /** Sets the names to walk next, which were already read; `isAll` says that no more follow. */
  fill(names: readonly string[], isAll: boolean): void {
    this.#batch = names
    this.#at = 0
    this.#last = names.at(-1)
    this.#isLastBatch = isAll
  }

  /** The next name, or undefined after the last. */
  peek(): string | undefined {
    if (this.#at === this.#batch.length && !this.#isLastBatch) this.#read()
    return this.#batch[this.#at]
  }

  /** Returns the next name and moves past it. */
  take(): string | undefined {
    const name = this.peek()
    if (name !== undefined) this.#at++
    return name
  }

  #read(): void {
    const batch: string[] = []
    const prefix = this.#prefix
    // A key sorts right before the longer keys that begin with it, so no key lies between `last` and this start.
    const start = this.#last === undefined ? undefined : { start: [...prefix, this.#last, 0] }
    for (const { key } of this.#reader.range({ prefix, limit: this.#batchSize, keysOnly: true, ...start })) {
      batch.push(key[prefix.length] as string)
    }
    this.fill(batch, batch.length < this.#batchSize)
  }
}

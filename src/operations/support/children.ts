import { compareStrings } from '../../store/key.ts'
import { keys } from '../../store/records.ts'
import type { Key, Reader } from '../../store/store.ts'

/** Something with a name in a namespace. */
export interface Child {
  readonly name: string
  readonly isTable: boolean
}

/** A namespace that holds no more than this is read in one step. */
const few = 16

/**
 * The namespaces and tables in a namespace, together in the order of their names, after one of them; read in
 * pieces of at most `atOnce`.
 */
export function childrenAfter(
  reader: Reader,
  parent: string,
  after: string | undefined,
  atOnce: number,
): Iterable<Child> {
  // A listing of many small namespaces spends its time in reads that find next to nothing: one is faster than
  // two, by a third on disk.
  const all = after === undefined ? fewChildren(reader, parent) : undefined
  return all ?? merged(reader, parent, after, atOnce)
}

/** All children in order, if they are few. */
function fewChildren(reader: Reader, parent: string): Child[] | undefined {
  const children: Child[] = []
  const prefix = keys.names(parent)
  for (const { key } of reader.range({ prefix, limit: few + 1, keysOnly: true })) {
    children.push({ name: key[3] as string, isTable: key[2] === 't' })
  }
  if (children.length > few) return undefined
  return children.sort((a, b) => compareStrings(a.name, b.name))
}

function* merged(
  reader: Reader,
  parent: string,
  after: string | undefined,
  atOnce: number,
): Generator<Child> {
  const namespaces = namesAfter(reader, keys.namespaceNames(parent), after, atOnce)
  let next = namespaces.next()
  for (const name of namesAfter(reader, keys.tables(parent), after, atOnce)) {
    for (; !next.done && compareStrings(next.value, name) < 0; next = namespaces.next()) {
      yield { name: next.value, isTable: false }
    }
    yield { name, isTable: true }
  }
  for (; !next.done; next = namespaces.next()) yield { name: next.value, isTable: false }
}

/**
 * The names that follow `prefix` in keys, after one of them. Read in pieces: a store that is told how many it is
 * to read reads no more than that, which on disk is a fifth of the time of a page of a hundred.
 */
export function* namesAfter(
  reader: Reader,
  prefix: Key,
  after: string | undefined,
  atOnce: number,
): Generator<string, undefined> {
  let last = after
  for (let count = atOnce; count === atOnce; ) {
    count = 0
    // A key comes right before the longer keys that begin with it, so this start is the nearest one after it.
    const start = last === undefined ? undefined : [...prefix, last, 0]
    for (const { key } of reader.range({ prefix, limit: atOnce, keysOnly: true, ...(start && { start }) })) {
      count++
      last = key[prefix.length] as string
      yield last
    }
  }
}

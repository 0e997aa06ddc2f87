import { isNamespaceName, keys } from '../store/records.ts'
import type { Key, Value, Writer } from '../store/store.ts'

/** After so many names asked for in one namespace, all of them are read. */
const firstReading = 16

/** What is known of the names of namespaces in one namespace. */
interface Names {
  /** Where names led, or that they led nowhere. */
  readonly found: Map<string, Value | undefined>
  /** Names that are not among the found ones lead nowhere. */
  complete: boolean
  asked: number
  /** When as many were asked for, as many are read. */
  next: number
}

/**
 * The same writer, which remembers where names of namespaces lead, for changes that leave namespaces as they are.
 * Each table declared asks where its namespace is and whether a namespace has its name. In a batch nearly all of
 * that is asked of few namespaces, and on disk a look costs a microsecond also where nothing is.
 */
export function rememberingNamespaces(writer: Writer): Writer {
  const known = new Map<string, Names>()
  const namesIn = (parent: string): Names => {
    let names = known.get(parent)
    if (names === undefined) {
      names = { found: new Map(), complete: false, asked: 0, next: firstReading }
      known.set(parent, names)
    }
    return names
  }
  return {
    get: <V extends Value>(key: Key) => {
      if (!isNamespaceName(key)) return writer.get<V>(key)
      const names = namesIn(key[1] as string)
      const name = key[3] as string
      const found = names.found.get(name)
      if (found !== undefined || names.complete || names.found.has(name)) return found as V | undefined
      return lookUp(writer, key, names) as V | undefined
    },
    range: (range) => writer.range(range),
    put: (key, value) => writer.put(key, value),
    remove: (key) => writer.remove(key),
  }
}

function lookUp(writer: Writer, key: Key, names: Names): Value | undefined {
  const name = key[3] as string
  if (++names.asked >= names.next) {
    readAll(writer, key[1] as string, names)
    if (names.complete) return names.found.get(name)
  }
  const value = writer.get(key)
  names.found.set(name, value)
  return value
}

/** Reads the names unless they are more than were asked for: so reading takes no more time than asking did. */
function readAll(writer: Writer, parent: string, names: Names): void {
  const prefix = keys.namespaceNames(parent)
  const entries = [...writer.range({ prefix, limit: names.asked })]
  for (const { key, value } of entries) names.found.set(key[3] as string, value)
  names.complete = entries.length < names.asked
  names.next *= 4
}

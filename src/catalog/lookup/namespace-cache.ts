import { isNamespaceName, keys } from '../../base/store/records.ts'
import type { Key, Value, Writer } from '../../base/store/store.ts'

/** After this many lookups in one namespace, the cache reads all names of that namespace. */
const firstFullRead = 16

/** The cached names of the namespaces directly in one namespace. */
interface CachedNames {
  /** The value of each name that was looked up; undefined when the name does not exist. */
  readonly found: Map<string, Value | undefined>
  /** Whether `found` holds all names that exist. */
  complete: boolean
  lookups: number
  /** The number of lookups at which the cache tries to read all names. */
  nextFullRead: number
}

/**
 * Wraps a writer with a cache of namespace names, for changes that do not change namespaces. Declaring a table
 * looks up its namespace, and looks up whether a namespace already has the table's name. A batch repeats these
 * lookups for few namespaces, and on disk each costs a microsecond, even for a name that does not exist.
 */
export function withNamespaceCache(writer: Writer): Writer {
  const known = new Map<string, CachedNames>()
  const namesIn = (parent: string): CachedNames => {
    let names = known.get(parent)
    if (names === undefined) {
      names = { found: new Map(), complete: false, lookups: 0, nextFullRead: firstFullRead }
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

function lookUp(writer: Writer, key: Key, names: CachedNames): Value | undefined {
  const name = key[3] as string
  if (++names.lookups >= names.nextFullRead) {
    readAll(writer, key[1] as string, names)
    if (names.complete) return names.found.get(name)
  }
  const value = writer.get(key)
  names.found.set(name, value)
  return value
}

/** Reads all names, unless there are more than lookups so far: the read must not cost more than the lookups did. */
function readAll(writer: Writer, parent: string, names: CachedNames): void {
  const prefix = keys.namespaceNames(parent)
  const entries = [...writer.range({ prefix, limit: names.lookups })]
  for (const { key, value } of entries) names.found.set(key[3] as string, value)
  names.complete = entries.length < names.lookups
  names.nextFullRead *= 4
}

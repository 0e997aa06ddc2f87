/*
 * A store that wraps another one, and tells which records each transaction reads and writes: the whole contract
 * in forty lines, and a way to see what an operation does.
 */
import { describe, test } from 'node:test'
import {
  type Key,
  openCatalog,
  type Range,
  type Reader,
  type Store,
  type Value,
  type Writer,
} from 'tabularium'
import { memoryStore } from 'tabularium/backends/memory'
import { memoryContent } from 'tabularium/content/memory'
import { storeSuite } from 'tabularium/testing'

type Trace = (what: string) => void

function tracedStore(inner: Store, trace: Trace): Store {
  return {
    // What the wrapped store promises, this one keeps; but it cannot be forked.
    features: { ...inner.features, snapshots: false },
    read: (body) => inner.read((reader) => body(tracedReader(reader, trace))),
    write: (body) => inner.write((writer) => body(tracedWriter(writer, trace))),
    close: () => inner.close(),
  }
}

function tracedReader(reader: Reader, trace: Trace): Reader {
  return {
    get<V extends Value>(key: Key) {
      trace(`get ${name(key)}`)
      return reader.get<V>(key)
    },
    range<V extends Value>(range: Range) {
      trace(`range ${name(range.prefix ?? [])}`)
      return reader.range<V>(range)
    },
  }
}

function tracedWriter(writer: Writer, trace: Trace): Writer {
  return {
    ...tracedReader(writer, trace),
    put(key, value) {
      trace(`put ${name(key)}`)
      writer.put(key, value)
    },
    remove(key) {
      trace(`remove ${name(key)}`)
      writer.remove(key)
    },
  }
}

/** The kind of record that a key is of, as `src/base/store/records.ts` has them: `n` names, `t` tables, `x` transactions. */
function name(key: Key): string {
  return String(key[0] ?? 'everything')
}

const seen: string[] = []
const store = tracedStore(memoryStore(), (what) => seen.push(what))
await using catalog = await openCatalog({ store, content: memoryContent() })
await catalog.createNamespace({ id: ['prod'] })

seen.length = 0
await catalog.declareTable({ id: ['prod', 'flights'] })
if (!seen.includes('put n') || !seen.includes('put x')) throw new Error(`Declaring did: ${seen.join(', ')}`)

// The suite judges whether the wrapper still is a store.
storeSuite({ describe, test }, () => ({ open: () => tracedStore(memoryStore(), () => {}) }), {
  name: 'the traced store',
})

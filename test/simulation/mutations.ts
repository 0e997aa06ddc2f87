import type { TransactionRecord } from '../../src/base/store/records.ts'
import type { Entry, Key, Reader, Store, Value, Writer } from '../../src/base/store/store.ts'
import { wallClock } from '../../src/base/time.ts'
import { finishRemovals } from '../../src/catalog/locations/removal.ts'
import { clearFeed, clearTransactions } from '../../src/catalog/transactions/retention.ts'
import { hasLapsed } from '../../src/catalog/transactions/transaction-record.ts'
import { coreOf } from '../../src/tabularium/local-handle.ts'
import { beginEnvironment, directoryStore } from './directory.ts'
import type { Mutation } from './fleet.ts'
import { HastyUpkeep } from './hasty-upkeep.ts'

/*
 * Former bugs of the catalog, reintroduced by wrappers of the parts of every process. They prove that the simulation
 * would find such bugs.
 */

/** Opening LMDB resets the last commit to the one it read. Without the lock, others commit in between. */
const openingWithoutLock: Mutation = {
  async openStore(directory, actor) {
    await beginEnvironment(directory, actor)
    return directoryStore(directory, actor)
  },
}

/** A vacuum judges the end of a lease by its own clock and does not record it, so the work may still commit. */
const vacuumByClock: Mutation = {
  store: (store) => {
    let isVacuum = false
    return wrapped(store, {
      reader: (reader) => ({
        get: (key) => reader.get(key),
        range(range) {
          // A vacuum reads the running work right after the record of its own begin.
          const isWork = isVacuum && range.prefix?.[0] === 'x'
          isVacuum = false
          return isWork ? lapsing(reader.range(range), nowOf(store)) : reader.range(range)
        },
      }),
      writer: (writer) => ({
        ...writer,
        put(key, value) {
          if (key[0] === 'w') isVacuum = true
          if (!(isVacuum && key[0] === 'x')) writer.put(key, value)
        },
      }),
    })
  },
}

/** A claim of a location does not check for waiting content of a deregistered table. */
const waitingContentIsFree: Mutation = {
  store: (store) =>
    wrapped(store, {
      writer(writer) {
        let isClaiming = false
        return {
          ...writer,
          get<V extends Value>(key: Key) {
            // The check begins at the shortest prefix, and ends with a scan below the location.
            if (key[0] === 'd' && key.length === 2) isClaiming = true
            return isClaiming && key[0] === 'd' ? undefined : writer.get<V>(key)
          },
          range(range) {
            if (!isClaiming || range.prefix?.[0] !== 'd') return writer.range(range)
            isClaiming = false
            return []
          },
        }
      },
    }),
}

/** A reader derives the status of a transaction with an expired lease from its own clock, and does not record it. */
const lapseByClock: Mutation = {
  store: (store) =>
    wrapped(store, {
      reader(reader) {
        const now = nowOf(store)
        return {
          get: <V extends Value>(key: Key) => {
            const value = reader.get<V>(key)
            return value === undefined ? undefined : lapsed(key, value, now)
          },
          range: <V extends Value>(range: Parameters<Reader['range']>[0]) =>
            lapsing(reader.range<V>(range), now),
        }
      },
    }),
}

/** A turn of the upkeep removes some records, pauses, and ends, even if records are left. */
const upkeepThatEnds: Mutation = {
  opened(catalog) {
    const core = coreOf(catalog)
    const tasks = [clearTransactions(core), clearFeed(core), finishRemovals(core)]
    Object.assign(core, { upkeep: new HastyUpkeep(core, core.upkeep.interval, tasks) })
  },
}

export const mutations = {
  'opening without the lock': openingWithoutLock,
  'a vacuum that believes its clock': vacuumByClock,
  'waiting content that anybody may claim': waitingContentIsFree,
  'lapses that are reported and not recorded': lapseByClock,
  'upkeep that ends before it is done': upkeepThatEnds,
} as const satisfies Readonly<Record<string, Mutation>>

function nowOf(store: Store): number {
  return store.now?.() ?? wallClock()
}

/** Adjusts entries to a clock. */
function* lapsing<V extends Value>(entries: Iterable<Entry<V>>, now: number): Generator<Entry<V>> {
  for (const { key, value } of entries) yield { key, value: lapsed(key, value, now) }
}

function lapsed<V extends Value>(key: Key, value: V, now: number): V {
  const record = value as unknown as TransactionRecord
  return key[0] === 'x' && hasLapsed(record, now) ? (failed(record) as unknown as V) : value
}

function failed({ lease_until: _, ...record }: TransactionRecord): TransactionRecord {
  return {
    ...record,
    status: 'Failed',
    failure: { code: 'ServiceUnavailable', message: 'Its lease has ended.' },
  }
}

/** A store whose bodies use wrapped readers and writers. */
function wrapped(
  store: Store,
  {
    reader = (reader) => reader,
    writer = (writer) => writer,
  }: { readonly reader?: (reader: Reader) => Reader; readonly writer?: (writer: Writer) => Writer },
): Store {
  return {
    features: store.features,
    read: (body) => store.read((given) => body(reader(given))),
    write: (body) => store.write((given) => body(writer(plain(given)))),
    ...(store.state && { state: () => store.state!() }),
    ...(store.now && { now: () => store.now!() }),
    close: () => store.close(),
  }
}

/** A writer with own members, so that they can be spread. */
function plain(writer: Writer): Writer {
  return {
    get: (key) => writer.get(key),
    range: (range) => writer.range(range),
    put: (key, value) => writer.put(key, value),
    remove: (key) => writer.remove(key),
    ...(writer.append && { append: (prefix: Key, value: Value) => writer.append!(prefix, value) }),
  }
}

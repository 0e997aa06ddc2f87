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
 * Faults that the catalog once had, put back by wrapping what every process is given. So the tests know that the
 * simulation would find them again.
 */

/** LMDB sets the last commit back to what it read when it opened. Without the lock, others commit in between. */
const openingWithoutLock: Mutation = {
  async openStore(directory, actor) {
    await beginEnvironment(directory, actor)
    return directoryStore(directory, actor)
  },
}

/** A vacuum takes the end of a lease from its clock, and records nothing: the work may commit all the same. */
const vacuumByClock: Mutation = {
  store: (store) => {
    let isVacuum = false
    return wrapped(store, {
      reader: (reader) => ({
        get: (key) => reader.get(key),
        range(range) {
          // The work under way is read right behind what says that a vacuum has begun.
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

/** Nobody looks whether the content of a deregistered table waits at a location that is claimed. */
const waitingContentIsFree: Mutation = {
  store: (store) =>
    wrapped(store, {
      writer(writer) {
        let isClaiming = false
        return {
          ...writer,
          get<V extends Value>(key: Key) {
            // The look begins at the shortest place, and ends with a walk below the location.
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

/** What is told of a transaction whose lease has ended follows from the clock of who tells it. Nothing is recorded. */
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

/** A turn of the upkeep removes some records, rests, and ends, whatever is left. */
const upkeepThatEnds: Mutation = {
  opened(catalog) {
    const upkeep = new HastyUpkeep([clearTransactions, clearFeed, finishRemovals()])
    Object.assign(coreOf(catalog), { upkeep })
  },
}

export const mutations = {
  'opening without the lock': openingWithoutLock,
  'a vacuum that believes its clock': vacuumByClock,
  'waiting content that anybody may claim': waitingContentIsFree,
  'lapses that are told and not recorded': lapseByClock,
  'upkeep that ends before it is done': upkeepThatEnds,
} as const satisfies Readonly<Record<string, Mutation>>

function nowOf(store: Store): number {
  return store.now?.() ?? wallClock()
}

/** Entries as a clock has them. */
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

/** A store whose bodies read and write through others. */
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

/** A writer whose members are its own, so that they can be spread. */
function plain(writer: Writer): Writer {
  return {
    get: (key) => writer.get(key),
    range: (range) => writer.range(range),
    put: (key, value) => writer.put(key, value),
    remove: (key) => writer.remove(key),
    ...(writer.append && { append: (prefix: Key, value: Value) => writer.append!(prefix, value) }),
  }
}

import { keyedQueue } from '../../../src/base/scheduling/keyed-queue.ts'
import type {
  Entry,
  Key,
  Range,
  Reader,
  Store,
  StoreFeatures,
  Value,
  Writer,
} from '../../../src/base/store/store.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import type { StorePlace } from '../../../src/testing/suites/store/trial.ts'

/** A correct store with some members replaced. */
interface Breaks {
  readonly features?: Partial<StoreFeatures>
  readonly read?: (store: Store) => Store['read']
  readonly write?: (store: Store) => Store['write']
  readonly close?: (store: Store) => Store['close']
  readonly state?: (store: Store) => () => number | undefined
  readonly guess?: (store: Store) => NonNullable<Store['guess']>
  readonly turns?: Required<Pick<Store, 'inTurn' | 'isTurnTaken'>>
  readonly writer?: (writer: Writer) => Partial<Writer>
  readonly reader?: (reader: Reader) => Partial<Reader>
}

/** The members of `of`, with some of them replaced. */
function with_<T extends Reader>(of: T, others: object): T {
  return new Proxy(of, {
    get: (target, name) => {
      if (name in others) return others[name as keyof typeof others]
      const member = Reflect.get(target, name, target) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

function broken(breaks: Breaks, store: Store = memoryStore()): Store {
  const change = (writer: Writer) => with_(writer, { ...breaks.reader?.(writer), ...breaks.writer?.(writer) })
  const look = (reader: Reader) => with_(reader, { ...breaks.reader?.(reader) })
  const inner: Store = {
    features: { ...store.features, snapshots: false, ...breaks.features },
    read: (body) => store.read((reader) => body(look(reader))),
    write: (body) => store.write((writer) => body(change(writer))),
    close: () => store.close(),
  }
  return {
    ...inner,
    ...(breaks.state ? { state: breaks.state(store) } : {}),
    ...(breaks.guess ? { guess: breaks.guess(store) } : {}),
    ...breaks.turns,
    ...(breaks.read ? { read: breaks.read(inner) } : {}),
    ...(breaks.write ? { write: breaks.write(inner) } : {}),
    ...(breaks.close ? { close: breaks.close(inner) } : {}),
  }
}

/** Broken ranges, computed from all entries. */
function ranging(wrong: (entries: Entry[], range: Range, reader: Reader) => Entry[]) {
  return (reader: Reader): Partial<Reader> => ({
    range: <V extends Value>(range: Range) => wrong([...reader.range(range)], range, reader) as Entry<V>[],
  })
}

const byUtf16 = (a: Key, b: Key) => {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i]!, b[i]!]
    if (x === y) continue
    if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1
    return x < y ? -1 : 1
  }
  return a.length - b.length
}

let writes = 0

/** Stores each broken in one way, with the case that must notice. */
export const brokenStores: readonly (readonly [name: string, rule: string, make: () => Store])[] = [
  [
    'loses every third write',
    'store.read-after-write',
    () =>
      broken({
        write: (store) => (body) => {
          if (++writes % 3) return store.write(body)
          return store.write((writer) => body(with_(writer, { put: () => {} })))
        },
      }),
  ],
  [
    'keeps what a body did before it threw',
    'store.undone',
    () =>
      broken({
        write: (store) => async (body) => {
          let failed: { error: unknown } | undefined
          const result = await store.write((writer) => {
            try {
              return body(writer)
            } catch (error) {
              failed = { error }
              return undefined
            }
          })
          if (failed) throw failed.error
          return result as Awaited<ReturnType<typeof body>>
        },
      }),
  ],
  [
    'swallows the error of a body',
    'store.throw',
    () => broken({ write: (store) => (body) => store.write(body).catch(() => undefined as never) }),
  ],
  [
    'wraps the error of a body in its own',
    'store.throw',
    () =>
      broken({
        read: (store) => (body) =>
          store.read(body).catch((cause) => Promise.reject(new Error('read failed', { cause }))),
      }),
  ],
  [
    'acts on what was there before it waited, so that updates are lost',
    'store.lost-update',
    () => broken({ write: (store) => onOldState(store) }),
  ],
  [
    'checks what was written but not what was read: write skew',
    'store.write-skew',
    () => broken({ write: (store) => onOldState(store) }),
  ],
  [
    'lets reads see a write that is half done',
    'store.whole-write',
    () => broken({ write: (store) => inTwoParts(store) }),
  ],
  [
    'orders keys as JavaScript does',
    'store.key-text',
    () =>
      broken({
        reader: ranging((entries, { reverse }) =>
          entries.sort((a, b) => (reverse ? -1 : 1) * byUtf16(a.key, b.key)),
        ),
      }),
  ],
  [
    'orders numbers as text',
    'store.key-numbers',
    () =>
      broken({
        reader: ranging((entries) => entries.sort((a, b) => (String(a.key) < String(b.key) ? -1 : 1))),
      }),
  ],
  [
    'has the prefix itself in its range',
    'store.range-bounds',
    () =>
      broken({
        reader: ranging((entries, { prefix }, reader) => {
          const own = prefix?.length ? reader.get(prefix) : undefined
          return own === undefined ? entries : [{ key: prefix!, value: own }, ...entries]
        }),
      }),
  ],
  [
    'gives one entry more than the limit',
    'store.range-bounds',
    () =>
      broken({
        reader: (reader) => ({
          range: <V extends Value>({ limit, ...range }: Range) =>
            reader.range<V>(limit === undefined ? range : { ...range, limit: limit + 1 }),
        }),
      }),
  ],
  [
    'has the end in its range',
    'store.range-bounds',
    () =>
      broken({
        reader: ranging((entries, { end, limit, prefix, reverse }, reader) => {
          const own = end?.length && !limit && !prefix && !reverse ? reader.get(end) : undefined
          return own === undefined ? entries : [...entries, { key: end!, value: own }]
        }),
      }),
  ],
  [
    'cuts to the limit before it reverses',
    'store.range-bounds',
    () =>
      broken({
        reader: (reader) => ({
          range: <V extends Value>({ reverse, ...range }: Range) => {
            const found = [...reader.range<V>(range)]
            return reverse ? found.reverse() : found
          },
        }),
      }),
  ],
  [
    'loses the hundredth entry of long ranges',
    'store.range-long',
    () => broken({ reader: ranging((entries) => entries.filter((_, i) => i !== 1024)) }),
  ],
  [
    'does not show a write its own changes in ranges',
    'store.own-changes',
    () =>
      broken({
        write: (store) => (body) =>
          store.write((writer) => {
            const before = [...writer.range({})]
            return body(
              with_(writer, {
                range: ({ prefix = [], reverse }: Range) => {
                  const found = before.filter(({ key }) => prefix.every((part, i) => part === key[i]))
                  return reverse ? found.reverse() : found
                },
              }),
            )
          }),
      }),
  ],
  ['hands out the very objects it keeps', 'store.value-own', () => aliasing()],
  [
    'keeps members that are undefined',
    'store.value-undefined',
    () => broken({ reader: (reader) => ({ get: (key) => withUndefined(reader.get(key)) as never }) }),
  ],
  [
    'gives numbers back as text',
    'store.value',
    () =>
      broken({
        reader: (reader) => ({
          get: (key) => {
            const value = reader.get(key)
            return (typeof value === 'number' ? String(value) : value) as never
          },
        }),
      }),
  ],
  [
    'takes an asynchronous body',
    'store.asynchronous',
    () =>
      broken({
        write: (store) => (body) => {
          let result: unknown
          return store
            .write((writer) => {
              result = body(writer)
              return undefined as never
            })
            .then(() => result as never)
        },
      }),
  ],
  ['works on after it was closed', 'store.closed', () => broken({ close: () => async () => {} })],
  [
    'takes keys that are too long',
    'store.key-longest',
    () =>
      broken({
        writer: (writer) => ({
          put: (key, value) =>
            writer.put(
              key.map((part) => (typeof part === 'string' ? part.slice(0, 900) : part)),
              value,
            ),
        }),
      }),
  ],
  ['tells the same state after a change', 'store.state-new', () => broken({ state: () => () => 1 })],
  [
    'counts the changes that failed in place of those that did not',
    'store.state-around',
    () => {
      let failed = 0
      return broken({
        write: (store) => (body) =>
          store.write(body).catch((error) => {
            failed = (failed + 1) % 4
            throw error
          }),
        state: () => () => failed,
      })
    },
  ],
  [
    'tells a state that is late',
    'store.state-kept',
    () => {
      let changes = 0
      return broken({
        write: (store) => (body) => {
          changes++
          return store.write(body)
        },
        state: () => () => Math.floor(changes / 10),
      })
    },
  ],
  [
    'guesses what was never written',
    'store.guess',
    () => broken({ guess: () => (body) => body({ get: () => 2 as never, range: () => [] }) }),
  ],
  [
    'lets the error of a guess escape',
    'store.guess',
    () => broken({ guess: () => (body) => body({ get: () => undefined, range: () => [] }) }),
  ],
  [
    'hides the error of work in a turn',
    'store.turn-work',
    () =>
      broken({
        turns: {
          inTurn: (_name, work) => work().catch(() => undefined as never),
          isTurnTaken: async () => false,
        },
      }),
  ],
  [
    'gives one turn at a time, whatever its name',
    'store.turn-work',
    () => {
      const inOrder = keyedQueue()
      return broken({
        turns: {
          inTurn: (_name, work) => {
            let isLate = false
            const done = inOrder('', () => (isLate ? Promise.resolve(undefined as never) : work()))
            const late = new Promise<never>((_, reject) => {
              setTimeout(() => {
                isLate = true
                reject(new Error('late'))
              }, 50).unref()
            })
            return Promise.race([done, late])
          },
          isTurnTaken: async () => false,
        },
      })
    },
  ],
  [
    'runs work once for each name of its turn',
    'store.turn-work',
    () =>
      broken({
        turns: {
          inTurn: async (name, work) => {
            for (const _ of [name].flat().slice(1)) await work()
            return work()
          },
          isTurnTaken: async () => false,
        },
      }),
  ],
  [
    'takes none of the turns but the first',
    'store.turn-taken',
    () => {
      const taken = new Set<string>()
      const inOrder = keyedQueue()
      return broken({
        turns: {
          inTurn: (name, work) => {
            const names = [name].flat()
            return inOrder(names[0]!, async () => {
              for (const one of names) taken.add(one)
              return work().finally(() => {
                for (const one of names) taken.delete(one)
              })
            })
          },
          isTurnTaken: async (name) => taken.has(name),
        },
      })
    },
  ],
  [
    'gives a turn that is taken',
    'store.turn-taken',
    () => {
      let taken = 0
      return broken({
        turns: {
          inTurn: (_name, work) => {
            taken++
            return work().finally(() => taken--)
          },
          isTurnTaken: async () => taken > 0,
        },
      })
    },
  ],
  ['says it has snapshots, and has none', 'store.copied', () => broken({ features: { snapshots: true } })],
]

/** Runs a body on a stale snapshot of the records. */
function onOldState(store: Store): Store['write'] {
  return async (body) => {
    const old = new Map<string, Value>()
    const entries = await store.read((reader) => [...reader.range({})])
    for (const { key, value } of entries) old.set(JSON.stringify(key), value)
    await new Promise((resolve) => setImmediate(resolve))
    return store.write((writer) =>
      body(with_(writer, { get: (key: Key) => old.get(JSON.stringify(key)), range: () => entries })),
    )
  }
}

/** Commits the first half of a body's changes some time before the rest. */
function inTwoParts(store: Store): Store['write'] {
  return async (body) => {
    const puts: [Key, Value][] = []
    const result = await store.write((writer) => {
      const answer = body(with_(writer, { put: (key: Key, value: Value) => puts.push([key, value]) }))
      for (const [key, value] of puts.slice(0, puts.length / 2)) writer.put(key, value)
      return answer
    })
    await new Promise((resolve) => setImmediate(resolve))
    await store.write((writer) => {
      for (const [key, value] of puts.slice(puts.length / 2)) writer.put(key, value)
    })
    return result
  }
}

/** A map that returns its values without copies. */
function aliasing(): Store {
  const kept = new Map<string, unknown>()
  return broken({
    writer: (writer) => ({
      put: (key, value) => {
        kept.set(JSON.stringify(key), value)
        writer.put(key, value)
      },
    }),
    reader: (reader) => ({
      get: (key) => (kept.get(JSON.stringify(key)) ?? reader.get(key)) as never,
      range: <V extends Value>(range: Range) =>
        Array.from(reader.range(range), ({ key, value }) => ({
          key,
          value: (kept.get(JSON.stringify(key)) ?? value) as V,
        })),
    }),
  })
}

function withUndefined(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value, not: undefined }
    : value
}

/** Places whose stores violate durability when they are opened again. */
export const brokenPlaces: readonly (readonly [name: string, rule: string, make: () => StorePlace])[] = [
  [
    'says it is durable, and loses its last write when it is closed',
    'store.reopened',
    () => forgetful('close'),
  ],
  ['says it is durable, and has its last write in a buffer only', 'store.crashed', () => forgetful('crash')],
  [
    'is two stores where it says it is one',
    'store.shared',
    () => ({ open: () => broken({ features: { durable: true, multiProcess: true } }) }),
  ],
  [
    'damages the first store when it is opened twice',
    'store.shared',
    () => {
      const shared = memoryStore()
      let opened = 0
      return {
        open: async () => {
          if (opened++) await shared.write((writer) => writer.remove(['first']))
          return broken({ features: { durable: true }, close: () => async () => {} }, shared)
        },
      }
    },
  ],
]

/** A place that loses the last write when it is opened again. */
function forgetful(when: 'close' | 'crash'): StorePlace {
  const live = memoryStore()
  let before = live.snapshot()
  const open = () =>
    broken(
      {
        features: { durable: true },
        write: (store) => (body) => {
          before = live.snapshot()
          return store.write(body)
        },
        close: () => async () => {
          if (when === 'close') live.restore(before)
        },
      },
      live,
    )
  const left = () => {
    const copy = live.fork()
    if (when === 'crash') copy.restore(before)
    return broken({ features: { durable: true } }, copy)
  }
  return { open, afterCrash: async () => ({ open: left }) }
}

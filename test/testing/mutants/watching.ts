import {
  type Changes,
  type CommittedChange,
  openCatalog,
  type WatchRequest,
} from '../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../src/testing/suites/catalog/trial.ts'

type Watch = (request?: WatchRequest) => Changes
type Mutant = readonly [name: string, rule: string, open: () => Promise<CatalogUnderTest>]

/** A correct catalog with an altered feed. */
function broken(change: (changes: Changes, request: WatchRequest) => AsyncGenerator<CommittedChange, void>) {
  return async (): Promise<CatalogUnderTest> => {
    const sound = await openCatalog('memory:')
    return withWatch(sound, (request = {}) => {
      const changes = sound.watch(request)
      const items = change(changes, request)
      return Object.assign(items, { token: () => changes.token() }) as unknown as Changes
    })
  }
}

function withWatch(sound: CatalogUnderTest, watch: Watch, others: object = {}): CatalogUnderTest {
  return new Proxy(sound, {
    get: (target, name) =>
      Reflect.get(name === 'watch' ? { watch } : name in others ? others : target, name) as unknown,
  })
}

/** Catalogs whose feed is broken in one way, with the case that must notice. */
export const brokenFeeds: readonly Mutant[] = [
  [
    'drops a change now and then',
    'watch.once',
    broken(async function* (changes) {
      let count = 0
      for await (const change of changes) if (++count % 3 !== 0) yield change
    }),
  ],
  [
    'tells each change twice',
    'watch.once',
    broken(async function* (changes) {
      for await (const change of changes) yield* [change, change]
    }),
  ],
  [
    'tells of changes that were refused',
    'watch.once',
    async () => {
      const sound = await openCatalog('memory:')
      const refused: CommittedChange[] = []
      const watch = (request: WatchRequest = {}) => {
        const changes = sound.watch(request)
        const items = (async function* () {
          for await (const change of changes) {
            yield change
            yield* refused.splice(0)
          }
        })()
        return Object.assign(items, { token: () => changes.token() }) as unknown as Changes
      }
      const declareTable: CatalogUnderTest['declareTable'] = async (request) => {
        try {
          return await sound.declareTable(request)
        } catch (error) {
          const change = { operation: 'DeclareTable', kind: 'table', effect: 'created' } as const
          const changes = [{ ...change, id: [...(request.id as string[])] }]
          refused.push({
            token: `refused ${refused.length}`,
            timestamp_millis: 0,
            transaction_id: '',
            changes,
          })
          throw error
        }
      }
      return withWatch(sound, watch, { declareTable })
    },
  ],
  [
    'tells the last change again after a resume',
    'watch.resume',
    (() => {
      const given = new Map<string, CommittedChange>()
      return broken(async function* (changes, { since = '' }) {
        const last = given.get(since)
        if (last) yield last
        for await (const change of changes) {
          given.set(change.token, change)
          yield change
        }
      })
    })(),
  ],
  [
    'begins anew when it resumes',
    'watch.resume',
    async () => {
      const sound = await openCatalog('memory:')
      const first = await sound.watch().token()
      return withWatch(sound, (request = {}) =>
        sound.watch({ ...request, ...(request.since !== undefined && { since: first }) }),
      )
    },
  ],
  [
    'skips a change when it resumes',
    'watch.resume',
    (() => {
      const given = new Set<string>()
      return broken(async function* (changes, { since = '' }) {
        let skips = given.has(since)
        for await (const change of changes) {
          given.add(change.token)
          if (!skips) yield change
          skips = false
        }
      })
    })(),
  ],
  [
    'tells changes in another order to each',
    'watch.order',
    (() => {
      let watches = 0
      return broken(async function* (changes) {
        const isOdd = watches++ % 2 === 1
        let held: CommittedChange | undefined
        for await (const change of changes) {
          if (isOdd && held === undefined && change.changes[0]!.id.at(-1) !== 'last') {
            held = change
            continue
          }
          yield change
          if (held) yield held
          held = undefined
        }
      })
    })(),
  ],
  [
    'tells of everything, whatever the subject',
    'watch.subject',
    async () => {
      const sound = await openCatalog('memory:')
      return withWatch(sound, ({ id: _, ...request } = {}) => sound.watch(request))
    },
  ],
  [
    'freezes the names in its events',
    'watch.own',
    broken(async function* (changes) {
      for await (const change of changes) {
        for (const { id } of change.changes) Object.freeze(id)
        yield change
      }
    }),
  ],
  [
    'gives the same event to all who watch',
    'watch.own',
    (() => {
      const given = new Map<string, CommittedChange>()
      return broken(async function* (changes) {
        for await (const change of changes) {
          const { token } = change
          given.set(token, given.get(token) ?? change)
          yield given.get(token)!
        }
      })
    })(),
  ],
  [
    'begins now for any token that it does not know',
    'watch.token',
    async () => {
      const sound = await openCatalog('memory:')
      const watch = (request: WatchRequest = {}) => {
        const changes = sound.watch({ ...request, since: undefined })
        queueMicrotask(() => void sound.declareTable({ id: [`t${Math.random()}`] }))
        return changes
      }
      return withWatch(sound, watch)
    },
  ],
]

import { CatalogError, openCatalog } from '../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../src/testing/suites/catalog/trial.ts'

interface Options {
  readonly transaction?: string
}
type Answer = Record<string, unknown>
type Call = (request: Answer, options?: Options) => Promise<Answer>
type Calls = { readonly [Name in keyof CatalogUnderTest]: Call }

/** Intercepts the calls of a correct catalog. */
type Between = (sound: Calls) => (name: string, real: Call) => Call

function broken(between: Between): () => Promise<CatalogUnderTest> {
  return async () => {
    const sound = await openCatalog('memory:')
    const change = between(sound as unknown as Calls)
    return new Proxy(sound, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function' || typeof name !== 'string') return member
        return change(name, member as Call)
      },
    }) as unknown as CatalogUnderTest
  }
}

/** Changes the calls of some operations. */
function changed(names: RegExp, change: (real: Call, sound: Calls, name: string) => Call): Between {
  return (sound) => (name, real) => (names.test(name) ? change(real, sound, name) : real)
}

const isChange = /^(create|declare|drop|rename|insert|delete)/
const isRead = /^(describe|list)(Table|Namespace)/
const outside = (real: Call): Call => {
  return (request) => real(request)
}

/** Refuses like a correct catalog. */
function refuse(code: CatalogError['code'], id: unknown): never {
  throw new CatalogError(code, `The transaction ${String(id)} is not there.`, { transaction_id: String(id) })
}

/** Replays the calls of the transaction at the commit, in sequence, without a check of its reads. */
function replayed(sound: Calls) {
  const asked = new Map<string, (() => Promise<unknown>)[]>()
  return (name: string, real: Call): Call => {
    if (isChange.test(name)) {
      return async (request, options) => {
        const answer = await real(request, options)
        if (options?.transaction !== undefined) {
          const before = asked.get(options.transaction) ?? []
          asked.set(options.transaction, [...before, () => real(request)])
        }
        return answer
      }
    }
    if (name !== 'commitTransaction') return real
    return async (request) => {
      const [id] = request.id as string[]
      const calls = asked.get(id!)
      if (calls === undefined || calls.length === 0) return real(request)
      asked.set(id!, [])
      await sound.rollbackTransaction({ id: [id] }).catch(() => {})
      for (const call of calls) await call()
      return { transaction_id: id, status: 'Succeeded', properties: {} }
    }
  }
}

type Mutant = readonly [name: string, rule: string, open: () => Promise<CatalogUnderTest>]

/** Catalogs whose open transactions are each broken in one way, with the case that must notice. */
export const brokenSessions: readonly Mutant[] = [
  [
    'forgets one of several tables at the commit',
    'session.all',
    broken(
      changed(/^createTableVersion$/, (real) => async (request, options) => {
        const forgets = options?.transaction !== undefined && (request.id as string[]).at(-1) === 'b'
        return forgets ? { transaction_id: 'x', version: request } : real(request, options)
      }),
    ),
  ],
  ['answers from outside of the transaction', 'session.own', broken(changed(isRead, outside))],
  ['changes what is outside at once', 'session.unseen', broken(changed(isChange, outside))],
  [
    'lets one transaction see another',
    'session.unseen',
    broken((sound) => {
      let first: string | undefined
      return (name, real) => {
        if (name === 'beginTransaction') {
          return async (request, options) => {
            const answer = await real(request, options)
            first ??= String(answer.transaction_id)
            return answer
          }
        }
        if (!isRead.test(name)) return real
        return (request, options) =>
          (sound[name as keyof Calls] as Call)(request, options?.transaction ? { transaction: first! } : {})
      }
    }),
  ],
  [
    'shows an open transaction to who looks twice',
    'session.unseen',
    broken(() => {
      const last: Options[] = []
      return (name, real) => {
        if (isChange.test(name)) {
          return (request, options) => {
            if (options?.transaction !== undefined) last.push(options)
            return real(request, options)
          }
        }
        if (name !== 'listTableVersions') return real
        return (request, options) => real(request, options ?? last.at(-1)).catch(() => real(request, options))
      }
    }),
  ],
  [
    'commits what is rolled back',
    'session.given-up',
    broken(
      changed(/^rollbackTransaction$/, (_real, sound) => async (request) => {
        await sound.commitTransaction(request)
        return { status: 'Canceled', properties: {} }
      }),
    ),
  ],
  [
    'goes on with what was canceled',
    'session.given-up',
    broken(changed(/^alterTransaction$/, () => async () => ({ status: 'Canceled', properties: {} }))),
  ],
  [
    'answers a second commit otherwise than the first',
    'session.again',
    broken((_sound) => {
      const done = new Set<string>()
      return (name, real) =>
        name !== 'commitTransaction'
          ? real
          : async (request) => {
              const id = String(request.id)
              if (done.has(id)) refuse('TransactionNotFound', id)
              const answer = await real(request)
              done.add(id)
              return answer
            }
    }),
  ],
  [
    'does what comes after the commit, outside',
    'session.again',
    broken(
      changed(
        /^declareTable$/,
        (real) => (request, options) =>
          real(request, options).catch((error) => {
            if (error.code !== 'InvalidInput' || !/committed/.test(error.message)) throw error
            return real(request)
          }),
      ),
    ),
  ],
  ['commits without a look at what was read', 'session.lost', broken(replayed)],
  [
    'does not say which transaction lost a race',
    'session.lost',
    broken(
      changed(
        /^commitTransaction$/,
        (real) => (request) =>
          real(request).catch((error) => {
            throw new CatalogError(error.code, error.message)
          }),
      ),
    ),
  ],
  [
    'does again what may be committed, or is',
    'session.retry',
    broken(
      changed(
        /^beginTransaction$/,
        (real) =>
          ({ retry_of: _, ...request }, options) =>
            real(request, options),
      ),
    ),
  ],
  [
    'gives a transaction up when one of its operations is refused',
    'session.refused',
    broken(
      changed(
        /^(declareTable|describeTable)$/,
        (real, sound) => (request, options) =>
          real(request, options).catch(async (error) => {
            if (options?.transaction !== undefined)
              await sound.rollbackTransaction({ id: [options.transaction] }).catch(() => {})
            throw error
          }),
      ),
    ),
  ],
  [
    'does outside what names an unknown transaction',
    'session.unknown',
    broken(
      changed(
        /^declareTable$/,
        (real) => (request, options) =>
          real(request, options).catch((error) => {
            if (error.code !== 'TransactionNotFound') throw error
            return real(request)
          }),
      ),
    ),
  ],
  [
    'takes an empty id for none',
    'session.unknown',
    broken(
      changed(
        /^declareTable$/,
        (real) => (request, options) =>
          options?.transaction === '' ? real(request) : real(request, options),
      ),
    ),
  ],
  [
    'begins a transaction inside of another, beside it',
    'session.nested',
    broken(changed(/^beginTransaction$/, outside)),
  ],
]

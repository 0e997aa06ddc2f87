import { type LocalCatalog, openCatalog, type Transaction } from '../../../src/tabularium/index.ts'
import type { TransactionsUnderTest } from '../../../src/testing/index.ts'

type Transact = LocalCatalog['transaction']
type Work = Parameters<Transact>[0]
type Options = Parameters<Transact>[1]
type Call = (request: Record<string, unknown>, options?: object) => Promise<Record<string, unknown>>

/** A correct catalog whose transactions are broken in one way. */
function broken(
  transact: (sound: LocalCatalog, work: Work, options: Options) => Promise<unknown>,
): () => Promise<TransactionsUnderTest> {
  return async () => {
    const sound = await openCatalog('memory:')
    const transaction = ((work, options) => transact(sound, work, options)) as Transact
    return new Proxy(sound, {
      get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)) as unknown,
    })
  }
}

/** A handle of a transaction with some of its operations replaced. */
function replaced(tx: Transaction, replace: (name: string, real: Call) => Call): Transaction {
  return new Proxy(tx, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' && typeof name === 'string' ? replace(name, member as Call) : member
    },
  })
}

/** Transactions with some operations replaced. */
function within(replace: (name: string, real: Call, sound: Calls, tx: Calls) => Call) {
  return broken((sound, work, options) =>
    sound.transaction(
      (tx) => work(replaced(tx, (name, real) => replace(name, real, callsOf(sound), callsOf(tx)))),
      options,
    ),
  )
}

type Calls = Readonly<Record<string, Call>>

function callsOf(handle: object): Calls {
  return handle as Calls
}

const reads = /^(count|describe|list|query)/

/** Runs the function on the catalog itself. */
function atOnce(sound: LocalCatalog, work: Work): Promise<unknown> {
  return Promise.resolve(work(Object.assign(Object.create(sound) as Transaction, { transactionId: 'none' })))
}

/** Commits the changes before it checks whether the function failed. */
async function despiteErrors(sound: LocalCatalog, work: Work, options: Options): Promise<unknown> {
  let failure: { error: unknown } | undefined
  const result = await sound.transaction(async (tx) => {
    try {
      return await work(tx)
    } catch (error) {
      failure = { error }
      return undefined
    }
  }, options)
  if (failure) throw failure.error
  return result
}

type Mutant = readonly [name: string, rule: string, open: () => Promise<TransactionsUnderTest>]

/** Catalogs whose transactions are each broken in one way, with the case that must notice. */
export const brokenTransactions: readonly Mutant[] = [
  [
    'forgets one of several tables at the commit',
    'tx.all',
    within((name, real, sound) => {
      if (name !== 'insertIntoTable') return real
      return async (request) => ({ ...(await sound.describeTable!({ id: request.id })), version: 2 })
    }),
  ],
  [
    'answers with nothing',
    'tx.all',
    broken(async (sound, work, options) => {
      await sound.transaction(work, options)
    }),
  ],
  [
    'compares everything, whatever the isolation',
    'tx.read-committed',
    broken((sound, work, options) => sound.transaction(work, { ...options, isolation: 'Serializable' })),
  ],
  [
    'reads the catalog itself with the isolation ReadCommitted',
    'tx.read-committed',
    broken((sound, work, options) =>
      options?.isolation === 'ReadCommitted'
        ? sound.transaction(
            (tx) => work(replaced(tx, (name, real) => (reads.test(name) ? callsOf(sound)[name]! : real))),
            options,
          )
        : sound.transaction(work, options),
    ),
  ],
  ['commits although the function threw', 'tx.nothing', broken(despiteErrors)],
  ['changes the catalog at once', 'tx.nothing', broken(atOnce)],
  [
    'wraps the error of the function',
    'tx.nothing',
    broken((sound, work, options) =>
      sound.transaction(work, options).catch((cause: unknown) => {
        throw new Error('The transaction failed.', { cause })
      }),
    ),
  ],
  [
    'gives up when an operation is refused',
    'tx.caught',
    broken(async (sound, work, options) => {
      let refused: unknown
      const result = await sound.transaction(async (tx) => {
        const answer = await work(
          replaced(
            tx,
            (_name, real) => (request, more) =>
              real(request, more).catch((error: unknown) => {
                refused = error
                throw error
              }),
          ),
        )
        if (refused) throw refused
        return answer
      }, options)
      return result
    }),
  ],
  [
    'reads what was there before it began',
    'tx.own',
    within((name, real, sound) => (reads.test(name) ? sound[name]! : real)),
  ],
  ['publishes before the commit', 'tx.unseen', broken(atOnce)],
  [
    'removes content before the commit',
    'tx.content-kept',
    within((name, real, sound) => (name === 'dropTable' ? sound.dropTable! : real)),
  ],
  [
    'forgets registrations',
    'tx.deregistered',
    within((name, real) =>
      name === 'deregisterTable'
        ? async (request) => ({ ...(await real(request)), location: 'memory://elsewhere/tables/x' })
        : real,
    ),
  ],
  [
    'reads each time what is there at that time',
    'tx.moment',
    within((name, real, sound) => (reads.test(name) ? sound[name]! : real)),
  ],
  ['forgets what it read', 'tx.skew', within(forgetful)],
  ['forgets what it read, once it has written', 'tx.lost-update', within(forgetful)],
  [
    'forgets listings',
    'tx.phantom',
    within((name, real, sound) => (name === 'listTables' ? sound.listTables! : real)),
  ],
  ['takes every insert for a read', 'tx.append', within(readingFirst('insertIntoTable'))],
  ['makes a version of each insert', 'tx.one-version', within(readingFirst('insertIntoTable'))],
  ['takes every delete for a read', 'tx.rebase', within(readingFirst('deleteFromTable'))],
  [
    'gives up at the first lost race',
    'tx.read-appended',
    broken((sound, work, options) => sound.transaction(work, { ...options, attempts: 1 })),
  ],
  [
    'does not look at what it told',
    'tx.told-count',
    within((name, real) =>
      name === 'deleteFromTable'
        ? async (request) => ({ ...(await real(request)), num_deleted_rows: 1 })
        : real,
    ),
  ],
  [
    'runs the function as often as it takes',
    'tx.attempts',
    broken((sound, work, options) => {
      const { attempts: _, ...others } = options ?? {}
      return sound.transaction(work, { ...others, attempts: 20 })
    }),
  ],
  [
    'does not run again for a table that is gone',
    'tx.gone',
    broken((sound, work, options) => sound.transaction(work, { ...options, attempts: 1 })),
  ],
  [
    'keeps no record',
    'tx.record',
    broken((sound, work, options) =>
      sound.transaction(
        (tx) => work(new Proxy(tx, { get: (t, n) => (n === 'transactionId' ? 'none' : Reflect.get(t, n)) })),
        options,
      ),
    ),
  ],
  [
    'cannot be canceled',
    'tx.cancel',
    broken(async (sound, work, options) => {
      await atOnce(sound, work)
      return sound.transaction(async () => {}, options)
    }),
  ],
  [
    'tells a reason of its own when it is stopped',
    'tx.signal',
    broken((sound, work, options) =>
      sound.transaction(work, options).catch(() => {
        throw new Error('The transaction was stopped.')
      }),
    ),
  ],
  [
    'lets its handle be used after it ended',
    'tx.ended',
    broken((sound, work, options) =>
      sound.transaction(
        (tx) => work(Object.assign(Object.create(sound) as Transaction, { transactionId: tx.transactionId })),
        options,
      ),
    ),
  ],
  [
    'commits what was done so far when an operation is not awaited',
    'tx.unawaited',
    broken(async (sound, work, options) => {
      const underWay: Promise<unknown>[] = []
      return sound.transaction(async (tx) => {
        const result = await work(
          replaced(tx, (_name, real) => (request, more) => {
            const answer = real(request, more)
            underWay.push(answer)
            return answer
          }),
        )
        await Promise.all(underWay)
        return result
      }, options)
    }),
  ],
  [
    'begins a transaction of its own inside of another',
    'tx.nested',
    broken((sound, work, options) =>
      sound.transaction((tx) => work(Object.assign(tx, { transaction: sound.transaction })), options),
    ),
  ],
  ['takes any options', 'tx.misused', broken((sound, work) => sound.transaction(work))],
]

/** Reads bypass the transaction, so it does not record them. */
function forgetful(name: string, real: Call, sound: Calls): Call {
  return reads.test(name) ? sound[name]! : real
}

/** Reads a table before each change, so that all concurrent changes of it are conflicts. */
function readingFirst(changing: string) {
  return (name: string, real: Call, _sound: Calls, tx: Calls): Call =>
    name !== changing
      ? real
      : async (request) => {
          await tx.countTableRows!({ id: request.id })
          return real(request)
        }
}

import { type Identifier, sameNames } from '../../../src/base/model/identifier.ts'
import { type Actual, doEach, lookUp, type ModelTransaction, Refused, recorded, type State } from './state.ts'
import { declare, deregister } from './tables.ts'
import type { Request } from './types.ts'
import { createVersion, deleteVersions } from './versions.ts'

type BatchStep = {
  readonly [Member in
    | 'declare_table'
    | 'create_table_version'
    | 'delete_table_versions'
    | 'deregister_table']?: NonNullable<Request<'batchCommitTables'>['operations'][number]> | undefined
}

/** Requests for ended transactions. Long work is recorded while it runs, too. */
export const ended: Request<'listTransactions'> = { status: ['Succeeded'] }

type Listed = readonly {
  readonly transaction_id: string
  readonly operation: string
  readonly subject: Identifier
  readonly changes?: unknown
  readonly num_changes?: unknown
}[]

export const transactions = {
  batchCommitTables(state: State, { operations }: Request<'batchCommitTables'>, actual: Actual) {
    const steps = operations as readonly BatchStep[]
    if (steps.length === 0 || steps.some((step) => Object.keys(step).length !== 1)) {
      throw new Refused('InvalidInput')
    }
    const changed = new Set<number | undefined>()
    const results = doEach('operations', steps, actual, (step, actual) => {
      const [asked] = Object.values(step) as unknown as { id: Identifier }[]
      const before = lookUp(state, asked!.id)?.key
      const result = runStep(state, step, actual)
      changed.add(lookUp(state, asked!.id)?.key ?? before)
      return result
    })
    const { transaction_id } = recorded(state, 'BatchCommitTables', [], undefined, changed)
    return {
      results: results.map(([member, result]) => ({ [member]: { ...result, transaction_id } })),
      transaction_id,
    }
  },

  describeTransaction: (state: State, { id }: Request<'describeTransaction'>) => {
    const { own, record } = find(state, id)
    return describe(own, record)
  },

  /**
   * All transactions of the model as a whole, in the order of ids, which only the catalog knows. The id of one whose answer
   * nobody got is that of a listed one that did the same.
   */
  listTransactions(state: State, _: object, { answer }: Actual<{ readonly transactions: Listed }>) {
    const listed = answer?.transactions ?? []
    const ids = new Set(listed.map(({ transaction_id }) => transaction_id))
    const missing = new Map([...state.transactions].filter(([id]) => !ids.has(id)))
    const answered = listed.map((one) => {
      if (one.operation === 'Transaction' || state.transactions.has(one.transaction_id))
        return expected(state, one)
      const id = [...missing.keys()].find((id) => {
        const { operation, subject } = missing.get(id)!
        return operation === one.operation && sameNames(subject, one.subject)
      })
      missing.delete(id ?? '')
      return expected(state, { ...one, transaction_id: id ?? one.transaction_id })
    })
    return { transactions: [...answered, ...missing.keys()] }
  },

  alterTransaction(state: State, { id, actions }: Request<'alterTransaction'>) {
    const { own, record } = find(state, id)
    for (const { setStatusAction, setPropertyAction, unsetPropertyAction } of actions) {
      const { [setPropertyAction?.key ?? unsetPropertyAction?.key ?? '']: current, ...others } =
        record.properties
      if (setStatusAction) {
        if (setStatusAction.status !== 'Succeeded') throw new Refused('ConcurrentModification')
      } else if (setPropertyAction) {
        const { key, value, mode } = setPropertyAction
        if (current !== undefined && mode === 'Fail') throw new Refused('ConcurrentModification')
        if (current === undefined || mode !== 'Skip') record.properties = { ...others, [key]: value }
      } else {
        if (current === undefined && unsetPropertyAction!.mode === 'Fail') throw new Refused('InvalidInput')
        record.properties = others
      }
    }
    return describe(own, record)
  },
}

function runStep(state: State, step: BatchStep, actual: Actual): [member: string, result: object] {
  if (step.declare_table) {
    const { location, properties } = declare(state, step.declare_table as Request<'declareTable'>, actual)
    return ['declare_table', { location, properties }]
  }
  if (step.create_table_version) {
    const entry = step.create_table_version as Request<'createTableVersion'>
    return ['create_table_version', { version: createVersion(state, entry).version }]
  }
  if (step.delete_table_versions) {
    const ranges = step.delete_table_versions as Request<'batchDeleteTableVersions'>
    return ['delete_table_versions', { deleted_count: deleteVersions(state, ranges) }]
  }
  const { id } = step.deregister_table as Request<'deregisterTable'>
  const { location, properties } = deregister(state, id)
  return ['deregister_table', { id, location, properties }]
}

function find(state: State, id: readonly string[]): { own: string; record: ModelTransaction } {
  const own = id.at(-1)!
  const record = state.transactions.get(own)
  if (record === undefined || !concerns(state, id.slice(0, -1), record)) {
    throw new Refused('TransactionNotFound')
  }
  return { own, record }
}

/** Finds a transaction by the current name of its subject, or by a former name that is free now. */
function concerns(state: State, subject: Identifier, record: ModelTransaction): boolean {
  if (subject.length === 0) return true
  const now = lookUp(state, subject)
  if (record.subject.length === 0) return now !== undefined && record.batchKeys?.includes(now.key) === true
  if (now === undefined || record.subjectKey === undefined) return sameNames(subject, record.subject)
  return now.key === record.subjectKey
}

/** The expected form of a listed transaction. */
function expected({ transactions }: State, listed: Listed[number]) {
  const { transaction_id } = listed
  if (listed.operation === 'Transaction') return listed
  const found = transactions.get(transaction_id)
  if (found === undefined) return 'none that is known'
  const { operation, subject, properties } = found
  const times = { created_at: '#any', finished_at: '#any' }
  // watch.test.ts compares changes with those of the feed.
  const { changes, num_changes } = listed
  const told = {
    ...(changes !== undefined && { changes }),
    ...(num_changes !== undefined && { num_changes }),
  }
  return { transaction_id, status: 'Succeeded', operation, subject, properties, ...times, ...told }
}

function describe(id: string, { operation, subject, properties }: ModelTransaction) {
  return {
    status: 'Succeeded',
    properties: {
      ...properties,
      id,
      operation,
      subject: subject.join('$') || '$',
      created_at: '#any',
      finished_at: '#any',
    },
  }
}

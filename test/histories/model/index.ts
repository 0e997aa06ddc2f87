import type { ErrorCode } from '../../../src/base/errors.ts'
import { isKeyed } from '../../../src/catalog/index.ts'
import { operations } from '../../../src/catalog/operations/index.ts'
import { dropped } from './dropped.ts'
import { namespaces } from './namespaces.ts'
import { rows } from './rows.ts'
import { type Actual, Refused, type State } from './state.ts'
import { tables } from './tables.ts'
import { transactions } from './transactions.ts'
import { versions } from './versions.ts'

/** Every operation the model knows. */
const model = { ...namespaces, ...tables, ...dropped, ...versions, ...rows, ...transactions }

export type ModelOperation = keyof typeof model

export const modelOperations = Object.keys(model) as ModelOperation[]

/** One call of an operation. Strings that begin with `#` are symbols for values that the catalog chose. */
export interface Command {
  readonly operation: ModelOperation
  readonly request: object
  /** Its idempotency key. */
  readonly key?: string
  /** When it runs, if it is committed later. */
  readonly now?: number
}

/** The outcome of a call: a response, or the code of an error and, for a batch, the failed item. */
export type Outcome = { readonly answer: unknown } | { readonly error: ErrorCode; readonly at?: string }

/**
 * What the model says a command comes to, and the state after it. The state given stays as it is. `actual` is what it
 * came to, in symbols as far as they are known, for what the catalog alone decides. `removing` are the locations that a
 * call inside of a transaction may find in the middle of their removal.
 */
export function predict(
  before: State,
  command: Command,
  actual?: Outcome,
  removing: readonly string[] = [],
): { state: State; outcome: Outcome } {
  const { operation, request, now = before.now } = command
  const key = isKeyed(operations[operation].definition) ? command.key : undefined
  const state = copy(before)
  state.called = now
  try {
    const kept = key === undefined ? undefined : state.answers.get(key)
    if (kept !== undefined && now - kept.at < day) {
      if (kept.request === bodyOf(command)) return { state, outcome: { answer: kept.answer } }
      // What no state would allow is refused before the key is looked up.
      const isInvalid = actual && 'error' in actual && actual.error === 'InvalidInput' && !actual.at
      if (!isInvalid) throw new Refused('InvalidInput', otherRequest)
    }
    const run = model[operation] as (state: State, request: object, actual: Actual) => unknown
    const answer = run(state, request, { ...actual, removing })
    if (key !== undefined) {
      // The answer that was given, or what is known of one that got lost.
      const given = actual && 'answer' in actual ? actual.answer : answer
      state.answers.set(key, { request: bodyOf(command), answer: given, at: now })
    }
    return { state, outcome: { answer } }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { code, at } = error
    return { state: before, outcome: { error: code, ...(at && { at }) } }
  }
}

/** The place of the failure of a request whose key belongs to another one. */
export const otherRequest = 'key'

const day = 24 * 3_600_000

const bodyOf = ({ operation, request }: Command) => JSON.stringify([operation, request])

/** A copy of a state, all the way down, in a sixth of the time that `structuredClone` takes. */
export function copy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copy) as T
  if (value instanceof Map) {
    const map = new Map()
    for (const [key, item] of value) map.set(key, copy(item))
    return map as T
  }
  const record: Record<string, unknown> = {}
  for (const key in value) record[key] = copy(value[key])
  return record as T
}

import * as v from 'valibot'
import { requestHash } from '../operations/framework/request-hash.ts'
import {
  answerAge,
  type KeyedRequest,
  keepAnswer,
  keptAnswer,
  keyedRequest,
} from '../transactions/answers.ts'
import { adapterOperation } from './internal.ts'

export type { KeyedRequest } from '../transactions/answers.ts'

/*
 * The first answers to changes with an idempotency key, for protocols whose changes are transactions of their own. They are
 * those of the catalog's own operations: kept for as long, and removed by the same upkeep.
 */

/** How long an answer is kept, as an ISO duration. */
export const answerLifetime = `PT${answerAge / 3_600_000}H`

/** A change with an idempotency key. `asked` is all that its answer follows from. Fails with `InvalidInput` for what is no key. */
export async function keyedChange(
  { key, operation, asked }: { readonly key: unknown; readonly operation: string; readonly asked: object },
  { principal, signal }: { readonly principal: string | undefined; readonly signal: AbortSignal | undefined },
): Promise<KeyedRequest> {
  return keyedRequest(key, operation, await requestHash(asked, signal), principal)
}

const keyed = v.custom<KeyedRequest>((value) => typeof value === 'object' && value !== null)
const answer = v.custom<object>((value) => typeof value === 'object' && value !== null)

/** The first answer to a change; undefined if there is none. Throws `KeyReused` for the key of another change. */
export const findAnswer = adapterOperation({
  changes: false,
  request: { keyed },
  run: ({ store, now }, { keyed }) => store.read((reader) => keptAnswer(reader, keyed, now())),
})

/**
 * Keeps the first answer to a change, within the transaction that makes it. Outside of one, it keeps that nothing is to be
 * changed. Returns the answer that is kept already, if there is one.
 */
export const keepFirstAnswer = adapterOperation({
  changes: true,
  request: { keyed, answer },
  run: ({ store, staging, newId, now }, { keyed, answer }) => {
    const transaction = staging?.transactionId ?? newId()
    return store.write((writer) => {
      const kept = keptAnswer(writer, keyed, now())
      if (kept === undefined) keepAnswer(writer, keyed, answer, { transaction, now: now() })
      return kept
    })
  },
})

import { createHash } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { KeyReused, requireKey } from '../../base/model/idempotency-key.ts'
import { quote } from '../../base/model/identifier.ts'
import { type AnswerRecord, answersFormat, keys, recordFormat } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { requireFormat } from '../lookup/catalog-format.ts'

/*
 * The first answers to requests with an idempotency key. An answer is written in the store transaction of its change: so
 * there are both or neither, whenever a process ends and whichever server the request comes to again.
 */

/** How long an answer is kept, in milliseconds. */
export const answerAge = 24 * 60 * 60 * 1_000

/** Longer answers are not kept, in characters of JSON. */
const maxAnswer = 64 * 1_024

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly key: string
  readonly operation: string
  /** A hash of what is asked. */
  readonly hash: string
  /** A hash of the caller and the key. */
  readonly name: string
}

/** Makes a keyed request. Fails with `InvalidInput` for what is no key. */
export function keyedRequest(
  key: unknown,
  operation: string,
  hash: string,
  principal: string | undefined,
): KeyedRequest {
  const name = createHash('sha256')
    .update(JSON.stringify([principal ?? null, requireKey(key)]))
    .digest('base64url')
  return { key: key as string, operation, hash, name }
}

/** The first answer to a request; undefined if it is the first one. Fails with {@link KeyReused} for another request. */
export function keptAnswer(reader: Reader, asked: KeyedRequest, now: number): object | undefined {
  const { key, operation, hash, name } = asked
  const kept = reader.get<AnswerRecord>(keys.answer(name))
  if (kept === undefined || now - kept.at >= answerAge) return undefined
  if (kept.operation !== operation || kept.request !== hash) {
    throw new KeyReused(
      'InvalidInput',
      `The idempotency key ${quote(key)} belongs to another request: ${kept.operation}, at ${new Date(kept.at).toISOString()}. So ${operation} was not run. Give each change a key of its own.`,
    )
  }
  if (kept.answer !== undefined) return JSON.parse(kept.answer) as object
  throw new CatalogError(
    'Unsupported',
    `The change with the idempotency key ${quote(key)} was made before, by the transaction ${kept.transaction}, and its answer was too long to keep. Look at what there is.`,
    { transaction_id: kept.transaction },
  )
}

/** Keeps the first answer to a request, together with its change. */
export function keepAnswer(
  writer: Writer,
  { operation, hash, name }: KeyedRequest,
  answer: unknown,
  { transaction, now }: { readonly transaction: string; readonly now: number },
): void {
  requireFormat(writer, answersFormat)
  const text = JSON.stringify(answer, withoutCredentials)
  const record: AnswerRecord = {
    v: recordFormat,
    operation,
    request: hash,
    at: now,
    transaction,
    ...(text.length <= maxAnswer && { answer: text }),
  }
  writer.put(keys.answer(name), record)
  writer.put(keys.answerTime(transaction, name), now)
}

/** Credentials are for the first caller alone, and expire. */
function withoutCredentials(member: string, value: unknown): unknown {
  return member === 'storage_options' && typeof value === 'object' ? undefined : value
}

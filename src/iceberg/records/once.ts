import { findAnswer, keepFirstAnswer } from '../../catalog/formats/index.ts'
import type { Invocable } from '../../catalog/index.ts'
import { IcebergError, type IcebergErrorType } from '../errors.ts'
import type { Caller } from './metadata-files.ts'

/*
 * A change with an idempotency key is made once. What is kept is written with the change, and is small: a client that asks
 * again gets the metadata as the first one did, read anew.
 */

/** How the result of a change is kept, and made again of what was kept. */
export interface Form<Made> {
  kept(made: Made): object
  again(kept: object): Promise<Made> | Made
}

/** A change that answers with nothing. */
export const nothing: Form<void> = { kept: () => ({}), again: () => {} }

/** What the specification calls deterministic: the same request will be refused again. */
const finalStatuses: ReadonlySet<number> = new Set([404, 409, 422])

interface Refusal {
  readonly refused: { readonly status: number; readonly type: IcebergErrorType; readonly message: string }
}

/** What the first attempt of a change made; undefined if there was none. Throws what it was refused with. */
export async function madeBefore<Made>(
  catalog: Invocable,
  { keyed, options }: Caller,
  form: Form<Made>,
): Promise<{ readonly made: Made } | undefined> {
  const kept = keyed && (await findAnswer(catalog, { keyed }, options))
  if (kept === undefined) return undefined
  if ('refused' in kept) {
    const { type, message, status } = (kept as Refusal).refused
    throw new IcebergError(type, message, { status })
  }
  return { made: await form.again(kept) }
}

/** Makes a change within a transaction, unless it was made before, and keeps what it made with it. */
export async function once<Made>(
  tx: Invocable,
  caller: Caller,
  form: Form<Made>,
  work: () => Promise<Made>,
): Promise<Made> {
  const { keyed, options } = caller
  if (keyed === undefined) return work()
  const before = await madeBefore(tx, caller, form)
  if (before) return before.made
  const made = await work()
  await keepFirstAnswer(tx, { keyed, answer: form.kept(made) }, options)
  return made
}

/** Runs a change to its end. Its refusal is kept, where the same request would be refused again. */
export async function toItsEnd<Answer>(
  catalog: Invocable,
  { keyed, options }: Caller,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    const isFinal = error instanceof IcebergError && finalStatuses.has(error.status)
    // What an open transaction refused is its own, and may be rolled back.
    if (keyed === undefined || !isFinal || options.transaction !== undefined) throw error
    const { status, type, message } = error
    const answer: Refusal = { refused: { status, type, message } }
    const kept = await keepFirstAnswer(catalog, { keyed, answer }, options)
    if (kept === undefined || 'refused' in kept) throw error
    // Another attempt was made meanwhile.
    return work()
  }
}

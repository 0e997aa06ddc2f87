import { principalOf } from '../operations/framework/inside.ts'
import type { AnyOperation } from '../operations/framework/operation.ts'
import { requestHash } from '../operations/framework/request-hash.ts'
import { keepAnswer, keptAnswer, keyedRequest } from '../transactions/answers.ts'

/** The operation up to its work: its checks, its hooks and then the answer that is kept, if any. */
export function foundOnly(operation: AnyOperation, key: string): AnyOperation {
  return {
    ...operation,
    run: async (core, request, { signal }) => {
      const asked = await keyed(operation, key, request, signal)
      return core.store.read((reader) => keptAnswer(reader, asked, core.now()))
    },
  }
}

/** The operation within a transaction, which runs it only if no answer is kept, and keeps that. */
export function onceInside(operation: AnyOperation, key: string, transaction: string): AnyOperation {
  return {
    ...operation,
    run: async (core, request, options) => {
      const asked = await keyed(operation, key, request, options.signal)
      const kept = await core.store.read((reader) => keptAnswer(reader, asked, core.now()))
      if (kept !== undefined) return kept
      const answer = await operation.run(core, request, options)
      await core.store.write((writer) => keepAnswer(writer, asked, answer, { transaction, now: core.now() }))
      return answer
    },
  }
}

async function keyed(
  operation: AnyOperation,
  key: string,
  request: unknown,
  signal: AbortSignal | undefined,
) {
  const hash = await requestHash(request, signal)
  return keyedRequest(key, operation.name, hash, principalOf(request))
}

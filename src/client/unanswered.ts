import { CatalogError } from '../base/errors.ts'
import { insideHeader } from '../catalog/operations/framework/inside.ts'
import type { AnyOperation } from '../catalog/operations/framework/operation.ts'
import type { Outgoing } from './request.ts'
import type { Failure, Received } from './send.ts'

/** Statuses of a proxy whose server did not answer, or not in time. */
const gatewayErrors: ReadonlySet<number> = new Set([502, 504])

/**
 * The error of a change that the server may have made, although no answer arrived. Undefined when the server did not
 * make it, or when the request changes nothing. A caller who retries such a change may make it twice.
 */
export function unansweredChange(
  base: string,
  outcome: Received | Failure,
  operation: AnyOperation,
  { headers }: Outgoing,
): CatalogError | undefined {
  const text = outcomeText(base, outcome)
  if (!operation.changes || text === undefined) return undefined
  const cause = 'error' in outcome ? outcome.error.cause : undefined
  return new CatalogError('ServiceUnavailable', text + adviceFor(operation, insideHeader in headers), {
    cause,
  })
}

function outcomeText(base: string, outcome: Received | Failure): string | undefined {
  if ('error' in outcome) return outcome.maybeReceived
  if (!gatewayErrors.has(outcome.status)) return undefined
  return `What stands before the server at ${base} answered with status ${outcome.status}`
}

function adviceFor(operation: AnyOperation, isInside: boolean): string {
  if (operation.name === 'beginTransaction')
    return '. Begin another transaction: one that nobody uses expires.'
  if (operation.repeatable)
    return '. Ask again, or describe the transaction: its status tells what became of it.'
  if (isInside)
    return ', and the request may have been done inside of its transaction. Give that up, and begin another one.'
  return ', so the change may have been made or not. Look before you make it again.'
}

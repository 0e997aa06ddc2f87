import type { Core } from '../../catalog/core.ts'
import type { AnyOperation, OperationOptions, RawRequest } from './operation.ts'
import { runOperation } from './run.ts'

/** What keeps the answer to one request, in whatever form, for as long as the store stays as it is. */
export interface Keeper {
  /** What was kept in this state; undefined when there is nothing. */
  find(state: number | string): Kept | undefined
  /** Keeps the answer that holds in this state. */
  keep(state: number | string, response: unknown): Kept
}

/** An answer in the form that its keeper gave it. It is handed on in place of the response. */
export class Kept<T = unknown> {
  readonly value: T

  constructor(value: T) {
    this.value = value
  }
}

/** The option by which a keeper is given along. */
export const keeping: unique symbol = Symbol('keeping')

/**
 * Runs an operation, unless a keeper was given along that knows the answer. That takes a store that tells its
 * state, an answer that follows from it alone, and a catalog that lets in everybody: whom a hook lets in, it is
 * to be asked each time.
 */
export function runKeeping(
  core: Core,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const keeper = options[keeping]
  // Not through a further async function: handing a promise on takes it three turns, a twentieth of a describe.
  return keeper === undefined
    ? runOperation(core, operation, request, options)
    : runAndKeep(core, operation, request, options, keeper)
}

async function runAndKeep(
  core: Core,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
  keeper: Keeper,
): Promise<unknown> {
  const state = stateFor(core, operation, request as RawRequest)
  if (state === undefined) return runOperation(core, operation, request, options)
  const found = keeper.find(state)
  if (found !== undefined) return found
  const response = await runOperation(core, operation, request, options)
  // What was read while the store changed may be of either state.
  return core.store.state?.() === state ? keeper.keep(state, response) : response
}

function stateFor(
  { store, settings }: Core,
  operation: AnyOperation,
  request: RawRequest,
): number | string | undefined {
  if (settings.authorize !== undefined || !operation.isFromStore?.(request)) return undefined
  return store.state?.()
}

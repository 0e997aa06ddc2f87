import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { semaphore } from '../../base/scheduling/semaphore.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import type { OptimizeOptions } from '../../engine/table/index.ts'
import { runLeased } from '../transactions/leased.ts'
import type { Background, RowsContext } from './context.ts'
import { optimize, type RunOptimize } from './optimize.ts'

/** When the catalog optimizes tables by itself, and how far. */
export interface BackgroundOptimize {
  /** Checks a table each time its version number is a multiple of this. Default: 64. */
  readonly every?: number
  /** Most rows of a merged fragment. Default: 1,048,576. */
  readonly targetRows?: number
  /** Most bytes of a merged fragment, about. Default: 128 MiB. */
  readonly targetBytes?: number
  /** Share of deleted rows, 0 to 1, from which a fragment is rewritten without them. Default: 0.1. */
  readonly minDeletedShare?: number
}

/** Errors that background work may meet in a sound catalog: another change came first, or the table is gone. */
const harmless = new Set<ErrorCode>(['ConcurrentModification', 'TableNotFound', 'TableBranchNotFound'])

/** Optimizes one table at a time; `onError` gets its errors. */
export function background(
  core: RowsContext,
  options: BackgroundOptimize,
  onError: (error: unknown) => void,
): Background {
  const { every = 64, ...goals } = options
  // A semaphore of its own, so that callers never wait for background work.
  const own: RowsContext = { ...core, slots: semaphore(1) }
  const gentle: OptimizeOptions = { ...goals, gentle: true }
  const stopped = new AbortController()
  const { signal } = stopped
  const waiting = new Map<string, Parameters<Background['changed']>[0]>()
  let working: Promise<void> | undefined

  /** No caller waits for this work, so an error of the listener would end the process. */
  function reportError(error: unknown): void {
    try {
      onError(error)
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown))
    }
  }

  /** Of all processes of the catalog, only one optimizes a branch at a time. Others do not wait for it. */
  function onlyHere(branch: string): RunOptimize {
    return async (tableId, work) => {
      const done = await runLeased(core, ['optimize', tableId, branch], (lost) =>
        work({ signal: anySignal(signal, lost) }),
      )
      return done?.result
    }
  }

  async function work(): Promise<void> {
    for (const [key, table] of waiting) {
      waiting.delete(key)
      try {
        await optimize(own, table, gentle, { signal }, onlyHere(table.branch))
      } catch (error) {
        if (signal.aborted) break
        if (!(error instanceof CatalogError && harmless.has(error.code))) reportError(error)
      }
    }
    working = undefined
  }

  return {
    changed(table, version) {
      if (version % every !== 0 || signal.aborted) return
      waiting.set(JSON.stringify([table.id, table.branch]), table)
      working ??= work()
    },
    async stop() {
      stopped.abort()
      await working
    },
  }
}

import { CommanderError } from 'commander'
import { CatalogError } from '../index.ts'
import type { Io } from './io.ts'
import { program } from './program.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

/** Exit codes: what a script can tell apart. */
const exitCodes = { done: 0, refused: 1, usage: 2, interrupted: 130 } as const

/**
 * Runs the command that `args` say and answers with the exit code. An error is one line on the error stream:
 * its code, if it is the catalog's, and what to do next.
 */
export async function main(args: readonly string[], io: Io, signal: AbortSignal): Promise<number> {
  try {
    await program(io, signal).parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    const [text, code] = tell(error, signal)
    io.stderr.write(`tabularium: ${visible(text)}\n`)
    return code
  }
}

function tell(error: unknown, signal: AbortSignal): [text: string, code: number] {
  if (signal.aborted && error === signal.reason) return ['interrupted', exitCodes.interrupted]
  if (error instanceof UsageError) return [error.message, exitCodes.usage]
  if (error instanceof CatalogError)
    return [`${error.code}: ${error.message}${underneath(error)}`, exitCodes.refused]
  return [error instanceof Error ? error.message : String(error), exitCodes.refused]
}

/** What lies under an error that says nothing by itself. */
function underneath({ code, cause }: CatalogError): string {
  return code === 'Internal' && cause instanceof Error ? ` Cause: ${cause.message}` : ''
}

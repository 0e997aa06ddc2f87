import type { OperationName } from '../index.ts'
import type { Io } from './io.ts'
import { openLocation } from './open.ts'
import { operate, queryToFile } from './operate.ts'
import { printerOf } from './print.ts'
import { progressBar } from './progress.ts'
import type { AnyOperation } from './record.ts'

/** What every command on a catalog takes. */
export interface Shared {
  readonly delimiter: string
  readonly token?: string
  readonly apiKey?: string
  readonly json?: boolean
  readonly output?: string
}

/** A command that was typed, read and ready to run. */
export interface Task {
  readonly operation: AnyOperation
  readonly location: string
  readonly request: Readonly<Record<string, unknown>>
  readonly options: Shared
  /** Whether a catalog may be begun where there is none. */
  readonly mayBegin: boolean
}

/** Opens the catalog, runs the operation and prints its answer. */
export async function perform(task: Task, io: Io, signal: AbortSignal): Promise<void> {
  const { operation, location, request, options, mayBegin } = task
  const bar = progressBar(io.stderr)
  const printer = printerOf(io, options.json)
  await using catalog = await openLocation(location, mayBegin, options)
  const work = { signal, onProgress: bar.onProgress }
  try {
    if (options.output !== undefined) await queryToFile(catalog, request, work, options.output, io)
    else await operate(catalog, operation.name as OperationName, request, work, printer, io)
  } finally {
    bar.clear()
  }
}

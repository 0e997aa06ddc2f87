import type { OperationName } from '../index.ts'
import type { Io } from './io.ts'
import { openLocation } from './open.ts'
import { operate, queryToFile } from './operate.ts'
import { printerOf } from './print.ts'
import { progressBar } from './progress.ts'
import type { AnyOperation } from './record.ts'

/** The options that all operation commands share. */
export interface Shared {
  readonly delimiter: string
  readonly token?: string
  readonly apiKey?: string
  readonly json?: boolean
  readonly output?: string
}

/** A parsed command. */
export interface Task {
  readonly operation: AnyOperation
  readonly location: string
  readonly request: Readonly<Record<string, unknown>>
  readonly options: Shared
  /** Whether the command may create a catalog. */
  readonly mayCreate: boolean
}

/** Opens the catalog, runs the operation and prints its answer. */
export async function perform(task: Task, io: Io, signal: AbortSignal): Promise<void> {
  const { operation, location, request, options, mayCreate } = task
  const bar = progressBar(io.stderr)
  const printer = printerOf(io, options.json)
  await using catalog = await openLocation(location, mayCreate, options)
  const work = { signal, onProgress: bar.onProgress }
  try {
    if (options.output !== undefined) await queryToFile(catalog, request, work, options.output, io)
    else await operate(catalog, operation.name as OperationName, request, work, printer, io)
  } finally {
    bar.clear()
  }
}

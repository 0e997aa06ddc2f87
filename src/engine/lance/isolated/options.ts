import { totalmem } from 'node:os'

/** How Lance runs in a process of its own. Everything has a default. */
export interface IsolationOptions {
  /** Most bytes of memory of the process; it is ended when it takes more. Default: half of the machine's. */
  readonly memoryBytes?: number | undefined
  /** How long one call of Lance may take, in milliseconds. Then the process is ended. Default: an hour. */
  readonly callMillis?: number | undefined
  /** After how many milliseconds without a request the process ends; the next one starts another. Default: 5 minutes. */
  readonly idleMillis?: number | undefined
}

export interface Isolation {
  readonly memoryBytes: number
  readonly callMillis: number
  readonly idleMillis: number
}

/** The options with their defaults. */
export function isolationOf({ memoryBytes, callMillis, idleMillis }: IsolationOptions): Isolation {
  return {
    memoryBytes: memoryBytes ?? defaultMemory(),
    callMillis: callMillis ?? 60 * 60_000,
    idleMillis: idleMillis ?? 5 * 60_000,
  }
}

function defaultMemory(): number {
  const constrained = process.constrainedMemory?.() ?? 0
  const total = totalmem()
  // Without a limit, this is a number beyond all memory, or 0.
  return Math.floor((constrained > 0 && constrained < total ? constrained : total) / 2)
}

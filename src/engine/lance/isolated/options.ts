import { totalmem } from 'node:os'

/** The bounds of a process of Lance. */
export interface Isolation {
  readonly memoryBytes: number
  readonly callMillis: number
  readonly idleMillis: number
}

/** The same, where each has a default. The options of a catalog document them. */
export type IsolationOptions = { readonly [Name in keyof Isolation]?: Isolation[Name] | undefined }

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

import type { Hold } from './byte-budget.ts'

/** The option by which a transport lets an operation take memory for a request. */
export const requestMemory = Symbol('requestMemory')

export interface RequestMemory {
  /** The request's hold of the server's memory. The transport releases it after the response. */
  readonly hold: Hold
  /** Whether rows are returned as an iterable of parts, made as the client reads them. */
  readonly inParts: boolean
  /** Whether the process reads the rows once, so that none of them need stay in memory. */
  readonly isOnce?: boolean
}

import type { Hold } from './byte-budget.ts'

/** The member of the options by which a transport lets an operation take memory for a request. */
export const requestMemory = Symbol('requestMemory')

/** The memory of a request that came over a transport. */
export interface RequestMemory {
  /** What the request holds of the server's memory. The transport releases it when the request is answered. */
  readonly hold: Hold
  /** Whether rows are answered as an iterable of parts, which are made as the client reads them. */
  readonly inParts: boolean
}

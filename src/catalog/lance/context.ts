import type { LocationContext, LocationStaging } from '../locations/context.ts'

/** What work on datasets of Lance needs of its catalog. */
export interface LanceContext extends LocationContext {
  /** Runs work under one key one after the other. */
  readonly inTurn: <T>(key: string, work: () => Promise<T>) => Promise<T>
  readonly staging?: LanceStaging
}

/** As `Staging`, for work on datasets of Lance. */
export interface LanceStaging extends LocationStaging {
  readonly outside: LanceContext
}

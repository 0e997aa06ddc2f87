import { type LancePackage, loadLance } from './native.ts'

/** Where Lance runs: in this process, or in one of its own. */
export interface LanceRuntime {
  /** Lance's package, or what stands for it. */
  load(): Promise<LancePackage>
  /** Whether it has ended by itself. What was made there is of no use then. */
  readonly hasEnded: boolean
  /** Whether it would better begin anew once nothing is asked of it. */
  readonly isWorn: boolean
  /** After so many milliseconds without a request it ends. */
  readonly idleMillis: number
  /** Ends work that nobody waits for, where that is possible. */
  abandon(): void
  /** Leaves nothing behind. */
  close(): Promise<void>
}

/** Lance in this process: what its native code does cannot be stopped. */
export const inThisProcess: LanceRuntime = {
  load: loadLance,
  hasEnded: false,
  isWorn: false,
  idleMillis: Number.POSITIVE_INFINITY,
  abandon: () => {},
  close: async () => {},
}

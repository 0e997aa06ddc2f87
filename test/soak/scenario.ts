/** A repeated random test with counters. */
export interface Scenario {
  /** The counters so far, by name. */
  readonly counts: Readonly<Record<string, number>>
  /** Remarks for the report at the end. They are no failures. */
  readonly notes?: readonly string[]
  /**
   * Runs it once. Fails with the violated guarantee of the catalog. A search for a smaller failing case ends at the
   * time `until`.
   */
  round(until: number): Promise<void>
  /** Runs the final checks, and releases all resources. */
  end(): Promise<void>
}

/** How to start each scenario. `seed` determines its random choices, if any. */
export type Begin = (seed: number) => Promise<Scenario>

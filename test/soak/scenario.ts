/** Something that is tried over and over, and what was counted meanwhile. */
export interface Scenario {
  /** What was counted so far, by what it counts. */
  readonly counts: Readonly<Record<string, number>>
  /** What broke no promise, and a person should read at the end. */
  readonly notes?: readonly string[]
  /**
   * Tries it once. Fails when a promise of the catalog is broken, and tells which. What looks for a smaller case that
   * breaks it ends at the moment `until`.
   */
  round(until: number): Promise<void>
  /** Checks what can be checked at the end only, and lets go of everything. */
  end(): Promise<void>
}

/** How to begin each scenario; `seed` makes its choices, as far as it makes any. */
export type Begin = (seed: number) => Promise<Scenario>

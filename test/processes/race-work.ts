/* The work of the racing processes, shared by parent and child. */

export const seats = ['s0', 's1', 's2', 's3', 's4', 's5']
export const balls = ['b0', 'b1', 'b2']

/** How often each process repeats each task. */
export const sizes = {
  creates: 600,
  createsWithRows: 10,
  renames: 400,
  drops: 200,
  commits: 60,
  inserts: 40,
}

/** The results that one process prints at the end. */
export interface Report {
  readonly won: string[]
  readonly wonWithRows: string[]
  /** How many calls were refused, by code. */
  readonly refused: Record<string, number>
  /** For each name, how often a table got it, and how often a table lost it. */
  readonly arrivals: Record<string, number>
  readonly departures: Record<string, number>
  /** Batches in commit order. */
  readonly commits: string[]
  readonly inserted: string[]
  readonly deleted: string[]
  /** Versions that merged fragments of all processes. */
  readonly merged: number[]
}

/* What the racing processes do; parent and child agree on it here. */

export const seats = ['s0', 's1', 's2', 's3', 's4', 's5']
export const balls = ['b0', 'b1', 'b2']

/** How often each process tries each thing. */
export const sizes = {
  creates: 600,
  createsWithRows: 10,
  renames: 400,
  drops: 200,
  commits: 60,
  inserts: 40,
}

/** What one process tells at the end. */
export interface Report {
  readonly won: string[]
  readonly wonWithRows: string[]
  /** How many calls were refused, by code. */
  readonly refused: Record<string, number>
  /** How often a table came to a name, and how often one left it. */
  readonly arrivals: Record<string, number>
  readonly departures: Record<string, number>
  /** Batches in the order they were committed. */
  readonly commits: string[]
  readonly inserted: string[]
  readonly deleted: string[]
  /** Versions that merged the rows of all. */
  readonly merged: number[]
}

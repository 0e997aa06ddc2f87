/** A violation of an invariant. */
export class Violation extends Error {}

/** A change of one key in one table. One client makes all changes of a key, in sequence. */
export interface Change {
  readonly table: string
  readonly key: string
  /** The value afterwards; undefined if the row is deleted. */
  readonly value: number | undefined
  readonly start: number
  end: number
  /** The outcome. It is unknown without a response, or if the response says that it is unknown. */
  outcome: 'under way' | 'done' | 'refused' | 'unknown'
}

/** The rows of a read. */
export interface ReadRow {
  readonly k: string
  readonly v: number
}

/** The model of the tables according to responses: a register for each key. */
export class Ledger {
  readonly #changes = new Map<string, Map<string, Change[]>>()

  begin(table: string, key: string, value: number | undefined, now: number): Change {
    const change: Change = {
      table,
      key,
      value,
      start: now,
      end: Number.POSITIVE_INFINITY,
      outcome: 'under way',
    }
    const keys = this.#changes.get(table) ?? new Map<string, Change[]>()
    this.#changes.set(table, keys)
    const known = keys.get(key)
    if (known === undefined) keys.set(key, [change])
    else known.push(change)
    return change
  }

  /**
   * Checks a read of a table, between two moments, against the possible values of each key. Acknowledged changes must
   * be visible, refused ones must not, and running ones may be.
   */
  check(table: string, rows: readonly ReadRow[], start: number, end: number): void {
    const found = new Map<string, number>()
    for (const { k, v } of rows) {
      if (found.has(k)) throw new Violation(`${table} holds the row ${k} twice.`)
      found.set(k, v)
    }
    const keys = this.#changes.get(table) ?? new Map<string, Change[]>()
    for (const k of found.keys()) {
      if (!keys.has(k)) throw new Violation(`${table} holds the row ${k}, which nobody inserted.`)
    }
    for (const [key, changes] of keys) {
      const allowed = valuesOf(changes, start, end)
      if (allowed.has(found.get(key))) continue
      throw new Violation(
        `${table} holds ${found.get(key) ?? 'nothing'} under ${key}, read from ${start} to ${end}; ` +
          `it may hold ${[...allowed].map((value) => value ?? 'nothing').join(' or ')} after ${JSON.stringify(changes)}.`,
      )
    }
  }
}

function valuesOf(changes: readonly Change[], start: number, end: number): Set<number | undefined> {
  let values = new Set<number | undefined>([undefined])
  for (const change of changes) {
    if (change.outcome === 'refused' || change.start > end) continue
    if (change.outcome === 'done' && change.end <= start) values = new Set([change.value])
    else values.add(change.value)
  }
  return values
}

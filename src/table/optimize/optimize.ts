import { Pace } from '../../scheduling/time-slice.ts'
import type { FragmentEntry, SegmentEntry } from '../format/manifest.ts'
import { fragmentsOf, groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { Storage } from '../storage/objects.ts'
import type { ApplyOptions, Change, Changed, OptimizeGoals, Snapshot, WorkOptions } from '../table-engine.ts'
import { reviseManifest } from '../write/write-manifest.ts'
import { merge } from './merge.ts'
import { cut, pays } from './plan.ts'
import { Replacement } from './rebase.ts'

/** Whether there is anything to merge. Reads no rows. */
export async function isOptimized(
  storage: Storage,
  snapshot: LoadedSnapshot,
  mostRows: number,
  goals: OptimizeGoals,
): Promise<boolean> {
  for await (const group of cut(fragmentsOf(storage, snapshot), mostRows, goals)) {
    if (group.merge) return false
  }
  return true
}

/**
 * Writes merged fragments in place of small ones and of those with many deleted rows, one after the other.
 * The change puts them in the place of the old ones in any later version, whose own rows it keeps.
 */
export async function optimizeRows(
  storage: Storage,
  base: LoadedSnapshot,
  mostRows: number,
  goals: OptimizeGoals,
  { signal, onProgress }: WorkOptions,
): Promise<Change> {
  const pace = new Pace(signal)
  const rowsTotal = base.rows + base.deletedRows
  let rowsDone = 0
  const onRows = (rows: number) => {
    rowsDone += rows
    onProgress?.({ rowsDone, rowsTotal })
  }
  const replacements: Replacement[] = []
  for await (const group of cut(fragmentsOf(storage, base), mostRows, goals)) {
    if (group.merge) {
      const merged = await merge(storage, base, group.entries, pace, onRows)
      if (pays(group.entries, merged.written))
        replacements.push(new Replacement(storage, base.prefix, merged))
    } else {
      for (const { rows } of group.entries) onRows(rows)
    }
    if (pace.due) await pace.rest()
  }
  return new Optimization(storage, replacements)
}

class Optimization implements Change {
  readonly #storage: Storage
  readonly #byPath = new Map<string, Replacement>()

  constructor(storage: Storage, replacements: readonly Replacement[]) {
    this.#storage = storage
    for (const one of replacements) for (const path of one.paths) this.#byPath.set(path, one)
  }

  /** Gives the base back as it is when nothing of it is replaced. */
  async apply(base: Snapshot, options: ApplyOptions = {}): Promise<Changed> {
    const snapshot = base as LoadedSnapshot
    const pace = new Pace(options.signal)
    const walk = new Walk(this.#byPath)
    const segments: SegmentEntry[] = []
    for await (const { segment, entries } of groupsOf(this.#storage, snapshot)) {
      // What comes before the first change stays in its segments; what comes after is packed anew.
      if (segment && walk.untouched && entries.every(({ path }) => !this.#byPath.has(path))) {
        segments.push(segment)
        continue
      }
      for (const entry of entries) await walk.next(entry)
      if (pace.due) await pace.rest()
    }
    await walk.finish()
    options.signal?.throwIfAborted()
    if (walk.affected === 0) return { snapshot: base, affected: 0 }
    const changes = { segments, tail: walk.entries }
    return {
      snapshot: await reviseManifest(this.#storage, snapshot, changes, options.version),
      affected: walk.affected,
    }
  }
}

/** Goes through the fragments of a version and puts new ones in the place of those that were merged. */
class Walk {
  readonly entries: FragmentEntry[] = []
  /** Rows in fragments that were put in the place of others. */
  affected = 0
  readonly #byPath: ReadonlyMap<string, Replacement>
  readonly #used = new Set<Replacement>()
  #replacement: Replacement | undefined
  #found: FragmentEntry[] = []

  constructor(byPath: ReadonlyMap<string, Replacement>) {
    this.#byPath = byPath
  }

  get untouched(): boolean {
    return this.entries.length === 0 && this.#found.length === 0
  }

  async next(entry: FragmentEntry): Promise<void> {
    const replacement = this.#byPath.get(entry.path)
    // Neighbours that were merged in this order, whatever of them is left.
    if (replacement === undefined || !this.#goesOn(replacement, entry)) await this.finish()
    if (replacement === undefined || this.#used.has(replacement)) {
      this.entries.push(entry)
      return
    }
    this.#replacement = replacement
    this.#found.push(entry)
  }

  async finish(): Promise<void> {
    const replacement = this.#replacement
    if (replacement === undefined) return
    const found = this.#found
    this.#replacement = undefined
    this.#found = []
    this.#used.add(replacement)
    const instead = await replacement.inPlaceOf(found)
    if (instead) for (const { rows, deletions } of instead) this.affected += rows - (deletions?.count ?? 0)
    for (const entry of instead ?? found) this.entries.push(entry)
  }

  #goesOn(replacement: Replacement, { path }: FragmentEntry): boolean {
    return this.#replacement === replacement && replacement.comesAfter(this.#found.at(-1)!.path, path)
  }
}

import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bound, blockRows, FirstKey, isBehind } from './first-key.ts'
import { compareKey, type SortKey, type SortValue, sortReader } from './sort-keys.ts'
import { sortedRows } from './sort-rows.ts'

/** Values between two checks of the clock. */
const valuesAtOnce = 8_192

/** Blocks whose best values are found between two checks of the clock. */
const blocksAtOnce = 16

/** Of so many blocks one is in a sample. */
const sampledOf = 64

/** Least rows that are kept before the worst are dropped. */
const minKept = 1_024

/** Bytes of an entry besides its values. */
const entryBytes = 32

/** A fragment of which rows are added, and the readers of its keys. */
interface Source {
  readonly fragment: number
  readonly readers: readonly ((row: number) => SortValue)[]
}

/** A row that was added, with its values by key. */
interface Row {
  readonly values: readonly SortValue[]
  readonly fragment: number
  readonly row: number
}

/** A block that has selected rows. */
interface Block {
  readonly start: number
  /** The first run with some of its rows. */
  readonly run: number
  /** How many of its rows are selected. */
  readonly rows: number
  /** The best value of all its rows; undefined if it is not known. */
  best: SortValue | undefined
}

/** The blocks of the rows in runs. */
function blocksOf(runs: ArrayLike<number>): Block[] {
  const blocks: Block[] = []
  let run = 0
  let next = 0
  while (run < runs.length) {
    const start = Math.floor(Math.max(next, runs[run]!) / blockRows) * blockRows
    const first = run
    next = start + blockRows
    let rows = 0
    for (; run < runs.length && runs[run]! < next; run += 2) {
      rows += Math.min(next, runs[run + 1]!) - Math.max(start, runs[run]!)
      if (runs[run + 1]! > next) break
    }
    blocks.push({ start, run: first, rows, best: undefined })
  }
  return blocks
}

/**
 * The best rows by some keys: all that are added, or a limited number. Equal rows are in the
 * order of their positions. Only a row's keys and position are kept, and of no more than twice as many rows as are wanted.
 */
export class BestRows {
  readonly #keys: readonly SortKey[]
  readonly #wanted: number
  readonly #maxBytes: number
  /** The values of the rows by key, their fragments, and their positions there. */
  #values: SortValue[][]
  #fragments: number[] = []
  #rows: number[] = []
  #bytes = 0
  /** How many rows were looked at, and how many of them were added. */
  #seen = 0
  #added = 0
  /** The worst of the best rows, once there are as many as are wanted. */
  #worst: Row | undefined
  readonly #given: SortValue | undefined
  readonly #candidates = new Int32Array(blockRows)

  /** `bound` is a value of the first key that at least as many rows do not follow as are wanted. */
  constructor(keys: readonly SortKey[], wanted: number, maxBytes: number, bound?: SortValue) {
    this.#keys = keys
    this.#wanted = wanted
    this.#maxBytes = maxBytes
    this.#given = bound
    this.#values = keys.map(() => [])
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether rows of a fragment may be among the best. None of them precedes `best` by the first key. */
  mayAdd(fragment: number, best: SortValue): boolean {
    const bound = this.#boundFor(fragment, 0)
    return bound === undefined || !isBehind(this.#keys[0]!, best, bound)
  }

  /** Adds rows of a fragment, as runs. */
  async add(
    fragment: number,
    batches: readonly AnyBatch[],
    runs: ArrayLike<number>,
    timeSlice: TimeSlice,
    hold: (bytes: number) => Promise<void> | undefined = () => undefined,
  ): Promise<void> {
    const source = { fragment, readers: batches.map(sortReader) }
    const key = new FirstKey(this.#keys[0]!, batches[0]!, source.readers[0]!)
    const atOnce = Math.max(1, Math.min(blockRows, Math.floor(valuesAtOnce / this.#keys.length)))
    let blocks = blocksOf(runs)
    // With a high limit, few blocks are skipped. Then their best values are not worth finding.
    let mayRank = this.#wanted * 100 < batches[0]!.length
    let sampleAt = 0
    for (let b = 0; b < blocks.length; b++) {
      if (mayRank && (key.isKnown || (this.#worst && this.#added >= sampleAt))) {
        const others = blocks.slice(b)
        sampleAt = this.#added * 2
        if (key.isKnown || this.#isWorthRanking(fragment, key, others)) {
          mayRank = false
          blocks = await this.#ranked(fragment, key, others, timeSlice)
          b = -1
          continue
        }
      }
      const block = blocks[b]!
      this.#seen += block.rows
      if (block.best !== undefined && this.#excludes(fragment, block.start, block.best)) break
      const last = block.start + blockRows
      for (let i = block.run; i < runs.length && runs[i]! < last; i += 2) {
        const runEnd = Math.min(last, runs[i + 1]!)
        for (let start = Math.max(block.start, runs[i]!); start < runEnd; start += atOnce) {
          const full = this.#addRun(source, key, start, Math.min(runEnd, start + atOnce), timeSlice)
          if (full) await full
          const waits = hold(this.#bytes)
          if (waits) await waits
          if (timeSlice.due) await timeSlice.rest()
        }
      }
    }
  }

  /**
   * Whether a sample of the blocks has many more rows that may be among the best than it would have in a random order.
   * In such an order one look at each value finds the few best rows. To rank the blocks first takes another look.
   */
  #isWorthRanking(fragment: number, key: FirstKey, blocks: readonly Block[]): boolean {
    let rows = 0
    let found = 0
    for (let b = Math.min(sampledOf, blocks.length) >> 1; b < blocks.length; b += sampledOf) {
      const { start } = blocks[b]!
      const end = Math.min(start + blockRows, key.length)
      rows += end - start
      found += key.candidates(this.#boundFor(fragment, start), start, end, this.#candidates)
    }
    return found > rows * (1 / 64 + (2 * this.#wanted) / this.#seen)
  }

  /** The blocks that may have rows among the best: the best ones first, after those whose best value is not known. */
  async #ranked(
    fragment: number,
    key: FirstKey,
    blocks: readonly Block[],
    timeSlice: TimeSlice,
  ): Promise<Block[]> {
    const first: Block[] = []
    const ranked: Block[] = []
    const bound = this.#boundFor(fragment, 0)
    for (let i = 0; i < blocks.length; i += blocksAtOnce) {
      for (const block of blocks.slice(i, i + blocksAtOnce)) {
        block.best = key.bestOf(block.start, block.rows)
        if (block.best === undefined) first.push(block)
        else if (bound === undefined || !isBehind(this.#keys[0]!, block.best, bound)) ranked.push(block)
      }
      if (timeSlice.due) await timeSlice.rest()
    }
    ranked.sort((a, b) => compareKey(this.#keys[0]!, a.best!, b.best!))
    return [...first, ...ranked]
  }

  /** The positions of the best rows, from the first on. */
  async sorted(timeSlice: TimeSlice): Promise<{ readonly fragments: Int32Array; readonly rows: Int32Array }> {
    const order = (await this.#order(timeSlice)).subarray(0, Math.min(this.#wanted, this.#rows.length))
    return {
      fragments: order.map((at) => this.#fragments[at]!),
      rows: order.map((at) => this.#rows[at]!),
    }
  }

  /** Whether no row from `start` on is among the best if none precedes `best` by the first key. */
  #excludes(fragment: number, start: number, best: SortValue): boolean {
    const bound = this.#boundFor(fragment, start)
    return bound !== undefined && isBehind(this.#keys[0]!, best, bound)
  }

  /** The bound for rows of a fragment from `start` on. A row equal to the worst one is better if it comes before. */
  #boundFor(fragment: number, start: number): Bound | undefined {
    const worst = this.#worst
    if (worst === undefined) return this.#given === undefined ? undefined : { value: this.#given, ties: true }
    const ties =
      this.#keys.length > 1 || fragment < worst.fragment || (fragment === worst.fragment && start < worst.row)
    return { value: worst.values[0]!, ties }
  }

  /** Adds rows. If there are too many now, the promise waits until the worst are dropped. */
  #addRun(
    source: Source,
    key: FirstKey,
    start: number,
    end: number,
    timeSlice: TimeSlice,
  ): Promise<void> | undefined {
    const found = this.#candidates
    const count = key.candidates(this.#boundFor(source.fragment, start), start, end, found)
    for (let i = 0; i < count; i++) {
      if (this.#worst === undefined || this.#isBetter(source, found[i]!, this.#worst))
        this.#push(source, found[i]!)
    }
    return this.#rows.length >= Math.max(minKept, this.#wanted * 2) ? this.#cut(timeSlice) : undefined
  }

  /** Whether a row precedes the worst one. */
  #isBetter({ fragment, readers }: Source, row: number, worst: Row): boolean {
    for (let k = 0; k < readers.length; k++) {
      const order = compareKey(this.#keys[k]!, readers[k]!(row), worst.values[k]!)
      if (order !== 0) return order < 0
    }
    return (fragment - worst.fragment || row - worst.row) < 0
  }

  #push({ fragment, readers }: Source, row: number): void {
    this.#fragments.push(fragment)
    this.#rows.push(row)
    this.#added++
    this.#bytes += entryBytes
    for (let k = 0; k < readers.length; k++) {
      const value = readers[k]!(row)
      // A view would keep the whole fragment in memory, as would the `slice` of a Buffer.
      this.#values[k]!.push(typeof value === 'object' && value !== null ? new Uint8Array(value) : value)
      this.#bytes += bytesOf(value)
    }
    if (this.#bytes > this.#maxBytes) throw tooMany(this.#maxBytes)
  }

  /** Drops all but the best rows. */
  async #cut(timeSlice: TimeSlice): Promise<void> {
    if (this.#rows.length <= this.#wanted) return
    const kept = (await this.#order(timeSlice)).subarray(0, this.#wanted)
    const last = kept.at(-1)
    this.#worst =
      last === undefined
        ? undefined
        : {
            values: this.#values.map((values) => values[last]!),
            fragment: this.#fragments[last]!,
            row: this.#rows[last]!,
          }
    this.#fragments = Array.from(kept, (at) => this.#fragments[at]!)
    this.#rows = Array.from(kept, (at) => this.#rows[at]!)
    for (const [k, values] of this.#values.entries()) {
      this.#values[k] = Array.from(kept, (at) => values[at]!)
      if (timeSlice.due) await timeSlice.rest()
    }
    this.#bytes = 0
    for (const values of this.#values) {
      for (const value of values) this.#bytes += bytesOf(value)
    }
    this.#bytes += kept.length * entryBytes
  }

  /** The positions of all rows in order: sorted in pieces, which are then merged. */
  async #order(timeSlice: TimeSlice): Promise<Int32Array> {
    const { length } = this.#rows
    const keys = this.#keys
    const values = this.#values
    const fragments = this.#fragments
    const rows = this.#rows
    const compare = (a: number, b: number): number => {
      for (let k = 0; k < keys.length; k++) {
        const order = compareKey(keys[k]!, values[k]![a]!, values[k]![b]!)
        if (order !== 0) return order
      }
      return fragments[a]! - fragments[b]! || rows[a]! - rows[b]!
    }
    // Comparing texts takes time in proportion to their common prefix.
    const cost = keys.length + this.#bytes / Math.max(1, length) / 256
    return sortedRows(length, compare, cost, timeSlice)
  }
}

function bytesOf(value: SortValue): number {
  if (typeof value === 'bigint') return 40
  return typeof value === 'object' && value !== null ? value.length + 128 : 16
}

function tooMany(most: number): Error {
  return invalid(
    `Sorting these rows would take more than ${most.toLocaleString('en')} bytes of memory. Give a limit, or leave rows out by a filter.`,
  )
}

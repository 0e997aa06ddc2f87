import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, countRows, forEachRow, hasRow, wordsFor } from '../../arrow/bitmap.ts'
import type { BestRows, Source } from './best-rows.ts'
import { blockRows, FirstKey } from './first-key.ts'
import { sortReader } from './sort-keys.ts'

/** Of so many blocks one is in a sample. */
const sampledOf = 64

/** Rows of a block below which each is looked at alone. */
const fewRows = 16

/** Blocks of a slice of rows that a predicate is evaluated on at once. */
const blocksOfSlice = 64

/** The part of a fragment's blocks that a predicate is evaluated on one by one. */
const aloneShare = 1 / 16

/** Finds the rows that match from `start`, a multiple of 32, up to `end`. Bit 0 stands for row `start`. */
export type Matching = (start: number, end: number) => Promise<Bitmap>

/** The rows of a fragment that are added to the best rows. */
export interface RowsToOrder {
  readonly fragment: number
  /** The columns of the keys. */
  readonly batches: readonly AnyBatch[]
  /** Undefined for all rows. No words stand for no rows. */
  readonly among: Bitmap | undefined
  /** For only those of them that match. It is asked for as few rows as possible. */
  readonly matching?: Matching | undefined
}

/** Adds rows of a fragment to the best rows. `hold` reserves memory for these. */
export async function addBest(
  best: BestRows,
  rows: RowsToOrder,
  timeSlice: TimeSlice,
  hold: (bytes: number) => Promise<void> | undefined = () => undefined,
): Promise<void> {
  const { among, batches } = rows
  if (batches[0]!.length === 0 || among?.length === 0) return
  const look = new Look(best, rows, timeSlice, hold)
  const next = await look.inTurn()
  await look.inOrder(next)
}

/** A look at the blocks of a fragment. */
class Look {
  readonly #best: BestRows
  readonly #timeSlice: TimeSlice
  readonly #hold: (bytes: number) => Promise<void> | undefined
  readonly #fragment: number
  readonly #source: Source
  readonly #key: FirstKey
  readonly #among: Bitmap | undefined
  readonly #matches: Matches | undefined
  readonly #blocks: number
  readonly #mayRank: boolean
  readonly #candidates: Int32Array

  constructor(
    best: BestRows,
    { fragment, batches, among, matching }: RowsToOrder,
    timeSlice: TimeSlice,
    hold: (bytes: number) => Promise<void> | undefined,
  ) {
    this.#best = best
    this.#timeSlice = timeSlice
    this.#hold = hold
    this.#fragment = fragment
    this.#source = { fragment, readers: batches.map(sortReader) }
    const [first, second] = best.keys.map((key, i) => ({ key, batch: batches[i]! }))
    const key = new FirstKey(first!, this.#source.readers[0]!, second)
    this.#key = key
    this.#candidates = new Int32Array(Math.min(blockRows, key.length))
    this.#among = among
    this.#blocks = Math.ceil(key.length / blockRows)
    // With a high limit, few blocks are skipped. Then their best values are not worth finding, nor those of other rows.
    const isDense = among === undefined || countRows(among) * 2 >= key.length
    this.#mayRank = key.canRank && best.wanted * 100 < key.length && isDense
    this.#matches = matching && new Matches(matching, key.length, this.#mayRank)
  }

  /** Looks at blocks one after the other. Returns the first one from which on it is better to rank them. */
  async inTurn(): Promise<number> {
    const best = this.#best
    // A look at a value takes less time than a predicate.
    if (this.#mayRank && (this.#key.isKnown || this.#matches)) return 0
    let sampleAt = 0
    for (let block = 0; block < this.#blocks; block++) {
      if (this.#mayRank && best.isFull && best.added >= sampleAt) {
        sampleAt = best.added * 2
        if (this.#isWorthRanking(block)) return block
      }
      const waits = this.#look(block)
      if (waits) await waits
    }
    return this.#blocks
  }

  /** Looks at the blocks from `first` on in the order of their best values, until all others come behind. */
  async inOrder(first: number): Promise<void> {
    if (first === this.#blocks) return
    for (const block of await this.#key.ranking(this.#timeSlice)) {
      if (!this.#best.mayAdd(this.#fragment, block * blockRows, this.#key.bestOf(block))) return
      const waits = block >= first ? this.#look(block) : undefined
      if (waits) await waits
    }
  }

  /**
   * Whether a sample of the blocks has many more rows that may be among the best than it would have in a random order.
   * In such an order one look at each value finds the few best rows. To rank the blocks first takes another look.
   */
  #isWorthRanking(first: number): boolean {
    const best = this.#best
    let rows = 0
    let found = 0
    for (
      let block = first + (Math.min(sampledOf, this.#blocks - first) >> 1);
      block < this.#blocks;
      block += sampledOf
    ) {
      const { start, end } = this.#rangeOf(block)
      rows += end - start
      found += this.#key.candidates(best.boundFor(this.#fragment, start), start, end, this.#candidates)
    }
    return found > rows * (1 / 64 + (2 * best.wanted) / best.seen)
  }

  /** Adds the rows of a block. */
  #look(block: number): Promise<void> | undefined {
    if (this.#matches?.has(block) === false) {
      return this.#matches.find(block).then(() => this.#add(block, this.#matches!.rows))
    }
    return this.#add(block, this.#matches?.rows ?? this.#among)
  }

  #add(block: number, among: Bitmap | undefined): Promise<void> | undefined {
    const best = this.#best
    const { start, end } = this.#rangeOf(block)
    const words = among?.subarray(start >>> 5, wordsFor(end))
    const rows = words ? countRows(words) : end - start
    best.seen += rows
    if (rows === 0) return undefined
    const found = this.#candidates
    let count = 0
    if (words !== undefined && rows < fewRows) forEachRow(words, (row) => (found[count++] = start + row))
    else {
      const may = this.#key.candidates(best.boundFor(this.#fragment, start), start, end, found)
      if (words === undefined) count = may
      else for (let i = 0; i < may; i++) if (hasRow(words, found[i]! - start)) found[count++] = found[i]!
    }
    const dropped = best.add(this.#source, found, count, this.#timeSlice)
    const held = this.#hold(best.bytes)
    return dropped || held || this.#timeSlice.due ? this.#wait(dropped, held) : undefined
  }

  async #wait(dropped: Promise<void> | undefined, held: Promise<void> | undefined): Promise<void> {
    await dropped
    await held
    if (this.#timeSlice.due) await this.#timeSlice.rest()
  }

  #rangeOf(block: number): { readonly start: number; readonly end: number } {
    const start = block * blockRows
    return { start, end: Math.min(start + blockRows, this.#key.length) }
  }
}

/** The rows of blocks that match. They are found once they are needed. */
class Matches {
  readonly rows: Bitmap
  readonly #matching: Matching
  readonly #length: number
  readonly #isFound: Uint8Array
  /** How many blocks may still be evaluated one by one. */
  #alone: number

  constructor(matching: Matching, length: number, isRanked: boolean) {
    this.#matching = matching
    this.#length = length
    this.rows = new Uint32Array(wordsFor(length))
    this.#isFound = new Uint8Array(Math.ceil(length / blockRows))
    this.#alone = isRanked ? this.#isFound.length * aloneShare : 0
  }

  has(block: number): boolean {
    return this.#isFound[block] === 1
  }

  /** Finds the rows of a block. Once many blocks were needed, those of all blocks beside it. */
  async find(block: number): Promise<void> {
    const isAlone = --this.#alone >= 0
    const first = isAlone ? block : block - (block % blocksOfSlice)
    const last = Math.min(this.#isFound.length, first + (isAlone ? 1 : blocksOfSlice))
    const start = first * blockRows
    const found = await this.#matching(start, Math.min(last * blockRows, this.#length))
    this.rows.set(found, start >>> 5)
    this.#isFound.fill(1, first, last)
  }
}

import { CatalogError } from '../../base/errors.ts'
import type { RecordCache } from './record-cache.ts'
import { type Found, noRows, type Piece, type PieceRead, pieceOf, type Reads, type Walk } from './view.ts'

/** The fewest records that a walk reads at once, and the most. Each further piece of a walk is larger. */
const minRows = 128
const maxRows = 65_536
const growth = 8

/** The most guesses of one run of a body. More are a fault of the body. */
const maxGuesses = 200_000

/**
 * One run of bodies, with its reads. A record that is not in the view is guessed: from the cache, or else as absent. So
 * one run finds all reads that do not depend on each other. {@link isCertain}, or the database that compares the reads,
 * decides whether a result counts. An error never does: bodies may catch errors.
 */
export class Attempt implements Reads {
  readonly points = new Map<string, Found | null>()
  readonly pieces = new Map<string, PieceRead>()
  readonly #view: Reads
  readonly #cache: RecordCache
  #guesses = 0
  #isKnown = true

  constructor(view: Reads, cache: RecordCache) {
    this.#view = view
    this.#cache = cache
  }

  /** Whether no read was guessed. */
  get isCertain(): boolean {
    return this.#guesses === 0
  }

  /** Whether each read is in the view or the cache. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  point(key: string): Found | null {
    let found = this.points.get(key)
    if (found !== undefined) return found
    found = this.#view.points.get(key)
    if (found === undefined) {
      const known = this.#cache.get(key)
      this.#guess(known !== undefined)
      found = known ?? null
    }
    this.points.set(key, found)
    return found
  }

  /** The records between two bounds, read in pieces as the caller needs them. */
  *rows({
    lower,
    upper,
    limit,
    reverse,
  }: Walk): Generator<readonly [key: string, found: Found], void, undefined> {
    const walk = `${reverse ? '-' : '+'}${lower.length},${lower}${upper}`
    let size = sizeFor(this.#cache.lengthOf(walk))
    let taken = 0
    try {
      for (let from = lower, to = upper; taken < limit; size = Math.min(size * growth, maxRows)) {
        const piece = pieceOf({ lower: from, upper: to, limit: Math.min(size, limit - taken), reverse })
        const { keys, found } = this.#piece(piece)
        for (let i = 0; i < keys.length; i++) {
          taken++
          yield [keys[i]!, found[i]!]
        }
        if (keys.length < piece.limit) return
        const last = keys[keys.length - 1]!
        if (reverse) to = last
        else from = `${last}\0`
      }
    } finally {
      if (this.isCertain) this.#cache.walked(walk, taken)
    }
  }

  #piece(piece: Piece) {
    const read = this.pieces.get(piece.id) ?? this.#view.pieces.get(piece.id)
    if (read === undefined) this.#guess(false)
    const { rows } = read ?? { rows: noRows }
    this.pieces.set(piece.id, { piece, rows })
    return rows
  }

  #guess(isKnown: boolean): void {
    this.#isKnown &&= isKnown
    if (++this.#guesses <= maxGuesses) return
    throw new CatalogError(
      'Internal',
      `The body of a transaction read more than ${maxGuesses.toLocaleString('en')} records that may not be there.`,
    )
  }
}

/** Room for the records of the last walk, and for one more, whose absence shows the end. */
function sizeFor(length = 0): number {
  let size = minRows
  while (size <= length && size < maxRows) size *= 2
  return size
}

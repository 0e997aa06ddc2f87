/**
 * Ids in counting order: the first is `00000000000000000000000001`. They have the shape of the ULIDs that a
 * catalog makes by itself, and a fork goes on where its origin was.
 */
export class CountedIds {
  /** How many were given out. */
  count: number
  readonly next = (): string => String(++this.count).padStart(26, '0')

  constructor(count = 0) {
    this.count = count
  }
}

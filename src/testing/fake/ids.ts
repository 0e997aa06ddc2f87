/**
 * Sequential ids: the first is `00000000000000000000000001`. They have the format of a catalog's ULIDs. A fork
 * continues the count of its origin.
 */
export class CountedIds {
  /** How many ids were issued. */
  count: number
  readonly next = (): string => String(++this.count).padStart(26, '0')

  constructor(count = 0) {
    this.count = count
  }
}

import fc, { type GeneratorValue } from 'fast-check'

/** Draws what a predicate is made of. */
export class Maker {
  readonly #draw: GeneratorValue

  constructor(draw: GeneratorValue) {
    this.#draw = draw
  }

  number(below: number): number {
    return this.#draw(fc.integer, { min: 0, max: below - 1 })
  }

  chance(percent: number): boolean {
    return this.number(100) < percent
  }

  pick<T>(...items: readonly T[]): T {
    return items[this.number(items.length)]!
  }

  /** One of several ways to go on. */
  one<T>(...ways: readonly (() => T)[]): T {
    return this.pick(...ways)()
  }

  many(least: number, most: number, make: () => string): string {
    return Array.from({ length: least + this.number(most - least + 1) }, make).join(', ')
  }
}

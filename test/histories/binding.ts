/** A one-to-one mapping between symbols of the model and strings of the real catalog. */
export class Binding {
  readonly #real: Map<string, string>
  readonly #symbols: Map<string, string>

  constructor(pairs: Iterable<readonly [symbol: string, real: string]> = []) {
    this.#real = new Map(pairs)
    this.#symbols = new Map(Array.from(this.#real, ([symbol, real]) => [real, symbol]))
  }

  copy(): Binding {
    return new Binding(this.#real)
  }

  /** The value with symbols instead of the catalog's own strings. */
  toSymbols<T>(value: T): T {
    return mapStrings(value, (text) => this.#symbols.get(text) ?? text)
  }

  /** The value with real strings instead of symbols, if known. */
  toReal<T>(value: T): T {
    return mapStrings(value, (text) => this.#real.get(text) ?? text)
  }

  /** Whether a response equals the expectation of the model. Binds new symbols. */
  matches(expected: unknown, actual: unknown): boolean {
    if (expected === '#any') return actual !== undefined
    if (typeof expected === 'string' && expected.startsWith('#')) {
      return typeof actual === 'string' && this.#unify(expected, actual)
    }
    if (typeof expected !== 'object' || expected === null) return Object.is(expected, actual)
    if (typeof actual !== 'object' || actual === null) return false
    if (Array.isArray(expected) !== Array.isArray(actual)) return false
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
    for (const key of keys) if (!this.matches(member(expected, key), member(actual, key))) return false
    return true
  }

  #unify(symbol: string, real: string): boolean {
    if (!this.#real.has(symbol) && !this.#symbols.has(real)) {
      this.#real.set(symbol, real)
      this.#symbols.set(real, symbol)
    }
    return this.#real.get(symbol) === real
  }
}

/** A copy of a value with every string replaced. */
export function mapStrings<T>(value: T, replace: (text: string) => string): T {
  if (typeof value === 'string') return replace(value) as T
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, replace)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, replace)])) as T
}

function member(value: object, key: string): unknown {
  return (value as Record<string, unknown>)[key]
}

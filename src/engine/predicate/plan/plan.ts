import type { DataType } from '@uwdata/flechette'

/**
 * A predicate after names were resolved and types were checked, as the evaluator takes it. Every node has its type.
 * Both sides of a comparison or an arithmetic operation have the same type, so evaluation never converts values
 * implicitly: where the dialect converts, the plan has a `cast`.
 *
 * Types here are logical, one for each behaviour of values, not for each layout. `Utf8` stands for every string (large,
 * view), `Binary` for every binary (large, view, fixed size), and `List` for every list (large, view, fixed size). A
 * dictionary-encoded value has the type of the dictionary's values. A column's layout is known from its batch. A column
 * whose type no operation supports (a union, a map …) keeps its type and may occur in `isNull` only.
 *
 * Depth is limited to 200 levels (a chain of ANDs or ORs is one), so recursion over a plan is safe. The lists of `and`,
 * `or` and `in` can have tens of thousands of items.
 */
export type Plan =
  | ColumnPlan
  | LiteralPlan
  | { readonly kind: 'and' | 'or'; readonly type: DataType; readonly args: readonly Plan[] }
  | { readonly kind: 'not'; readonly type: DataType; readonly arg: Plan }
  | ComparePlan
  | { readonly kind: 'isNull'; readonly type: DataType; readonly arg: Plan; readonly negated: boolean }
  /** `IS [NOT] TRUE`, `IS [NOT] FALSE`: never null. */
  | {
      readonly kind: 'isBool'
      readonly type: DataType
      readonly arg: Plan
      readonly value: boolean
      readonly negated: boolean
    }
  | InPlan
  | LikePlan
  | ArithmeticPlan
  | { readonly kind: 'negate'; readonly type: DataType; readonly arg: Plan; readonly at: number }
  | CallPlan
  | CastPlan
  | CasePlan

export interface ColumnPlan {
  readonly kind: 'column'
  readonly type: DataType
  /** The top-level column's index, then the index of a child within each struct on the way down. */
  readonly path: readonly number[]
}

/**
 * The form of a value outside an Arrow buffer, by Arrow type: booleans as boolean; integers up to 32 bits and floats as
 * number; 64-bit integers, decimals (unscaled), times of 64 bits, timestamps and durations as bigint; date32 as number
 * of days, date64 as bigint of milliseconds; strings as string; binary as Uint8Array; lists as arrays; null as null.
 * Half and single floats are already rounded to their width.
 */
export type Scalar = boolean | number | bigint | string | Uint8Array | readonly Scalar[] | null

export type NonNullScalar = Exclude<Scalar, null>

export interface LiteralPlan {
  readonly kind: 'literal'
  readonly type: DataType
  readonly value: Scalar
}

export type CompareOperator = '=' | '<>' | '<' | '<=' | '>' | '>='

export interface ComparePlan {
  readonly kind: 'compare'
  readonly type: DataType
  readonly operator: CompareOperator
  readonly left: Plan
  readonly right: Plan
}

export interface InPlan {
  readonly kind: 'in'
  readonly type: DataType
  readonly arg: Plan
  /** The list's values, none of them null. */
  readonly values: readonly Scalar[]
  readonly hasNull: boolean
  readonly negated: boolean
}

export interface LikePlan {
  readonly kind: 'like'
  readonly type: DataType
  readonly arg: Plan
  /** Literal text and wildcards, escapes already resolved; null if the pattern itself is NULL. */
  readonly pattern: readonly (string | { readonly any: 'one' | 'many' })[] | null
  readonly insensitive: boolean
  readonly negated: boolean
}

/**
 * Arithmetic of integers (which wraps; division and remainder by zero are errors, and so is `/` of the smallest value
 * by −1) or of floats. Both sides and the result have one type. Arithmetic of decimals, dates and timestamps is a
 * `call`.
 */
export interface ArithmeticPlan {
  readonly kind: 'arithmetic'
  readonly type: DataType
  readonly operator: '+' | '-' | '*' | '/' | '%'
  readonly left: Plan
  readonly right: Plan
  /** The operator's position in the text, for errors such as a division by zero (`rowError`). */
  readonly at: number
}

export interface CastPlan {
  readonly kind: 'cast'
  readonly type: DataType
  readonly arg: Plan
  /** Whether a value that cannot be converted becomes null (`TRY_CAST`) instead of an error. */
  readonly orNull: boolean
  readonly at: number
  /** Converts one value that is not null. Throws `InvalidInput`, or returns null with `orNull`. */
  readonly convert: (value: NonNullScalar) => Scalar
  /** As `convert`. For a text: its bytes in UTF-8, the first and the end. */
  readonly ofNumbers?: OfNumbers | OfBytes | undefined
}

/**
 * A function or cast, for values that are given as numbers: also 64-bit integers, times and decimals (unscaled), which
 * are integers up to 2^53 then. Its result has the same form, and is exact where it is such an integer. Undefined for
 * values that it leaves to the function itself, such as those that fail.
 */
export type OfNumbers = (...values: number[]) => number | boolean | null | undefined
export type OfBytes = (bytes: Uint8Array, from: number, to: number) => number | undefined

export interface CallPlan {
  readonly kind: 'call'
  readonly type: DataType
  readonly function: ScalarFunction
  readonly args: readonly Plan[]
  readonly at: number
}

/** `CASE`: the value of the first branch whose condition is true, or whose `when` is the operand's value. */
export interface CasePlan {
  readonly kind: 'case'
  readonly type: DataType
  /** The value that each `when` is compared with. Without it each `when` is a condition. */
  readonly operand: Plan | undefined
  readonly branches: readonly { readonly when: Plan; readonly result: Plan }[]
  readonly otherwise: Plan
}

/** A function of the dialect, selected for its argument types. */
export interface ScalarFunction {
  readonly name: string
  /** Whether the result is null if any argument is null, without a call. */
  readonly strict: boolean
  /**
   * The value for one row, in the form of `CallPlan.type`. Constants (a pattern, a part's name) were bound during
   * planning. Throws `InvalidInput`, position included, for a value that it does not accept.
   */
  readonly evaluate: (...args: Scalar[]) => Scalar
  /** Uses the first argument that is not null. Those after it are not evaluated for the row, and so cannot fail. */
  readonly takesFirst?: true
  readonly ofNumbers?: OfNumbers | undefined
  /** How to evaluate whole arrays of values, if that is worthwhile. The results equal those of `evaluate`. */
  readonly kernel?: FunctionKernel
}

/** Functions that run over arrays. Values that no kernel supports, such as another layout, are passed to `evaluate`. */
export type FunctionKernel =
  /** The length of a text in characters or bytes. */
  | { readonly kind: 'textLength'; readonly of: 'characters' | 'bytes' }
  /** A text in small or capital letters; a loop compares it with a literal. */
  | { readonly kind: 'letters'; readonly to: Letters }
  /** Whether a list of `item` holds the second argument, a literal of that type. */
  | { readonly kind: 'listHas'; readonly item: DataType }
  /**
   * A function of a list and constants. `item` reads one of the items from `from` to `to`, which are the list's, so no
   * row creates a list.
   */
  | { readonly kind: 'listItems'; readonly apply: OfItems }
  /** A function of a double. */
  | { readonly kind: 'double'; readonly apply: (value: number) => number }
  /**
   * A function of a date or time that is constant within a step: for all values with the same `floor(value / step)`. It
   * neither fails nor is null. One that `rises` is never less for a later time.
   */
  | { readonly kind: 'step'; readonly step: bigint; readonly key?: string; readonly rises: boolean }

export type OfItems = (from: number, to: number, item: (index: number) => Scalar) => Scalar

export type Letters = 'small' | 'capital'

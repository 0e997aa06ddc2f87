import type { DataType } from '@uwdata/flechette'

/**
 * A predicate after names were resolved and types were checked: what the evaluator runs. Every node says
 * its type, and both sides of a comparison or an arithmetic operation have the same one, so evaluation
 * never converts on its own; where the dialect converts, the plan holds a `cast`.
 *
 * Types here are logical, one for each way values behave, not for each way they are laid out: `Utf8` stands
 * for every string (large, view), `Binary` for every binary (large, view, fixed size), `List` for every list
 * (large, view, fixed size), and a dictionary-encoded value has the type of the dictionary's values. How a
 * column really lies in memory is read from its batch. A column whose type no operation knows (a union, a
 * map …) keeps its type and stands under `isNull` only.
 *
 * Depth is bounded (200 levels, a chain of ANDs or ORs being one), so recursion over a plan is safe; the
 * lists of `and`, `or` and `in` can hold tens of thousands of items.
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
 * How a value is held outside an Arrow buffer, by Arrow type: booleans as boolean; integers up to 32 bits and
 * floats as number; 64-bit integers, decimals (unscaled), times of 64 bits, timestamps and durations as
 * bigint; date32 as number of days, date64 as bigint of milliseconds; strings as string; binary as
 * Uint8Array; lists as arrays; null as null. Half and single floats are already rounded to their width.
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
  /** Literal text and wildcards, escapes already resolved; null when the pattern itself is NULL. */
  readonly pattern: readonly (string | { readonly any: 'one' | 'many' })[] | null
  readonly insensitive: boolean
  readonly negated: boolean
}

/**
 * Arithmetic of integers (which wraps; division and remainder by zero are errors, and the smallest value
 * by −1 is one too for `/`) or of floats. Both sides and the result have one type. Arithmetic of decimals,
 * dates and timestamps is a `call`.
 */
export interface ArithmeticPlan {
  readonly kind: 'arithmetic'
  readonly type: DataType
  readonly operator: '+' | '-' | '*' | '/' | '%'
  readonly left: Plan
  readonly right: Plan
  /** Where in the text the operator stands, for errors such as a division by zero (`rowError`). */
  readonly at: number
}

export interface CastPlan {
  readonly kind: 'cast'
  readonly type: DataType
  readonly arg: Plan
  /** What cannot be converted gives null (`TRY_CAST`) and not an error. */
  readonly orNull: boolean
  readonly at: number
  /** Converts one value that is not null; throws `InvalidInput`, or gives null with `orNull`. */
  readonly convert: (value: NonNullScalar) => Scalar
}

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
  /** What each `when` is compared with. Without it each `when` is a condition. */
  readonly operand: Plan | undefined
  readonly branches: readonly { readonly when: Plan; readonly result: Plan }[]
  readonly otherwise: Plan
}

/** A function of the dialect, already chosen for its argument types. */
export interface ScalarFunction {
  readonly name: string
  /** Gives null when any argument is null, without being called. */
  readonly strict: boolean
  /**
   * The value for one row, in the form of `CallPlan.type`. What is constant for all rows (a pattern, a part's
   * name) was bound when planned. Throws `InvalidInput`, position included, for a value it cannot take.
   */
  readonly evaluate: (...args: Scalar[]) => Scalar
  /** Takes the first argument that is not null: those after it are not evaluated for the row, and so cannot fail. */
  readonly takesFirst?: true
  /** How whole arrays of values are worked on, for the functions worth it. It answers as `evaluate` does. */
  readonly kernel?: Kernel
}

/** Functions that run over arrays; what no kernel takes, such as another layout, goes through `evaluate`. */
export type Kernel =
  /** Characters or bytes of a text. */
  | { readonly kind: 'textLength'; readonly of: 'characters' | 'bytes' }
  /** A text in small or capital letters; there is a loop for comparing it with a literal. */
  | { readonly kind: 'letters'; readonly to: Letters }
  /** Whether a list of `item` holds the second argument, a literal of that type. */
  | { readonly kind: 'listHas'; readonly item: DataType }
  /** A function of a double. */
  | { readonly kind: 'double'; readonly apply: (value: number) => number }
  /**
   * A function of a date or time which is the same for all values within a step: those for which
   * `floor(value / step)` is the same. It neither fails nor is null. One that `rises` is never less for a later time.
   */
  | { readonly kind: 'step'; readonly step: bigint; readonly key?: string; readonly rises: boolean }

export type Letters = 'small' | 'capital'

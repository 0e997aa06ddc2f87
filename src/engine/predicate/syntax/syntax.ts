import type { DataType } from '@uwdata/flechette'
import { predicateError } from '../errors.ts'
import type { CompareOperator } from '../plan/plan.ts'

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'

export type ShiftOperator = '<<' | '>>'

export type BinaryOperator = CompareOperator | ArithmeticOperator | ShiftOperator | '||'

/** The target type of a cast. */
export interface CastType {
  readonly type: DataType
  /** The same name within an argument of a function: there `TIMESTAMP` has nanoseconds, as in the reference. */
  readonly inArgument: DataType
}

/** The start and end of a node in the text, and how many levels of nodes are below it. */
interface Node {
  readonly at: number
  readonly end: number
  readonly depth: number
  /** Whether it is in parentheses: then a literal is not a plain literal any more. */
  readonly parenthesized?: boolean
}

/** One part of a column's path: `quoted` parts are matched exactly. */
export interface NamePart {
  readonly text: string
  readonly quoted: boolean
}

/** A predicate as written: names are not resolved, and types are not known yet. */
export type Expression = Node & ExpressionKind

type ExpressionKind =
  | { readonly kind: 'name'; readonly parts: readonly NamePart[] }
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'hex'; readonly value: Uint8Array }
  /** A number as written, with its minus if it has one. */
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'and' | 'or'; readonly args: readonly Expression[] }
  | { readonly kind: 'not' | 'minus'; readonly arg: Expression }
  | {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      /** The operator's position. */
      readonly operatorAt: number
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'isNull'; readonly arg: Expression; readonly negated: boolean }
  | { readonly kind: 'isBool'; readonly arg: Expression; readonly value: boolean; readonly negated: boolean }
  | {
      readonly kind: 'in'
      readonly arg: Expression
      readonly items: readonly Expression[]
      readonly negated: boolean
    }
  | {
      readonly kind: 'between'
      readonly arg: Expression
      readonly low: Expression
      readonly high: Expression
      readonly negated: boolean
    }
  | {
      readonly kind: 'like'
      readonly arg: Expression
      readonly pattern: Expression
      readonly escapedBy: string
      readonly insensitive: boolean
      readonly negated: boolean
    }
  | { readonly kind: 'cast'; readonly arg: Expression; readonly to: CastType; readonly orNull: boolean }
  /** `CASE [operand] WHEN … THEN … [ELSE …] END`, in value expressions only. */
  | {
      readonly kind: 'case'
      readonly operand: Expression | undefined
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[]
      readonly otherwise: Expression | undefined
    }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  /** A struct's field, after an expression that is not a plain name: `st['x']`, `(st).x`. */
  | { readonly kind: 'field'; readonly arg: Expression; readonly name: string }
  /** A list's element, counted from 1. */
  | { readonly kind: 'element'; readonly arg: Expression; readonly index: Expression }

/** How deep a predicate can be nested; a chain of ANDs, or of ORs, counts as one level. */
export const maxPredicateDepth = 200

type WithoutPlace<T> = T extends unknown ? Omit<T, 'at' | 'end' | 'depth'> : never

/** Makes a node over `children`; refuses one that would be nested too deep. */
export function makeNode(
  text: string,
  at: number,
  end: number,
  kind: WithoutPlace<Expression>,
  children: readonly Expression[] = [],
): Expression {
  let depth = 0
  for (const child of children) depth = Math.max(depth, child.depth)
  if (depth >= maxPredicateDepth) throw tooDeep(text, at)
  // `kind` is a new object for each call. Copying objects with so many different fields takes ten times as long.
  return Object.assign(kind, { at, end, depth: depth + 1 }) as Expression
}

export function tooDeep(text: string, at: number): Error {
  const problem = `an expression nested more than ${maxPredicateDepth} levels deep`
  return predicateError(text, at, problem, 'Chains of AND, of OR and IN lists can be long; nesting cannot.')
}

/** The precedence of operators, with the reference's numbers. Source: `Dialect::prec_value` of sqlparser-rs 0.62. */
export const precedence = {
  cast: 50,
  multiply: 40,
  add: 30,
  shift: 22,
  pipe: 21,
  compare: 20,
  like: 19,
  is: 17,
  not: 15,
  and: 10,
  or: 5,
  none: 0,
} as const

import { predicateError } from '../errors.ts'
import type { Expression } from './syntax.ts'

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

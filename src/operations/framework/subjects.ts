import type { Identifier } from '../../model/identifier.ts'
import type { AnyOperation, RawRequest } from './operation.ts'

/** What a request names, and the operation that would do to it alone what the request does. */
export interface Subject {
  readonly operation: string
  readonly id: Identifier
}

/** Every identifier that a request names, its own first. */
export function identifiersIn(operation: AnyOperation, request: RawRequest): readonly Identifier[] {
  const own = subject(operation.name, request.id)
  return [...own, ...(operation.subjects?.(request) ?? [])].map(({ id }) => id)
}

/** The subject that an identifier is; none where it is malformed, which the operation refuses. */
export function subject(operation: string, id: unknown): Subject[] {
  return isIdentifier(id) ? [{ operation, id }] : []
}

/** The members of a list that are objects: what else there is, the operation refuses. */
export function objectsIn(list: unknown): RawRequest[] {
  return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : []
}

function isIdentifier(value: unknown): value is Identifier {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

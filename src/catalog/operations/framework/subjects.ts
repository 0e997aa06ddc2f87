import type { Identifier } from '../../../base/model/identifier.ts'
import type { AnyOperation, RawRequest, Subject } from './operation.ts'

/** Every identifier that a request names, its own first. */
export function identifiersIn(operation: AnyOperation, request: RawRequest): readonly Identifier[] {
  const own = subject(operation.name, request.id)
  return [...own, ...(operation.subjects?.(request) ?? [])].map(({ id }) => id)
}

/** The subject for an identifier; none if it is malformed, which the operation refuses. */
export function subject(operation: string, id: unknown, location?: string): Subject[] {
  if (!isIdentifier(id)) return []
  return [location === undefined ? { operation, id } : { operation, id, location }]
}

/** The subjects of a request in terms of one operation alone: its identifier, and the location that it names. */
export function subjectOf({ name, location }: Asked, request: RawRequest): Subject[] {
  return subject(name, request.id, location?.(request))
}

/** What only the body of a request names: its location, and its further subjects. */
export function subjectsInBody(operation: Asked, request: RawRequest): readonly Subject[] {
  const own = operation.location?.(request) === undefined ? [] : subjectOf(operation, request)
  return [...own, ...(operation.subjects?.(request) ?? [])]
}

type Asked = Pick<AnyOperation, 'name' | 'location' | 'subjects'>

/** The members of a list that are objects. The operation refuses any others. */
export function objectsIn(list: unknown): RawRequest[] {
  return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : []
}

function isIdentifier(value: unknown): value is Identifier {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

/**
 * A copy of `object` with further members, as `{ ...object, ...members }` but for a member `__proto__`. For what is
 * made with each call: V8 of Node 20 gives each spread copy that gets a new member a shape of its own. That takes half
 * a microsecond, all who read such objects are slower, and shapes wait for a major collection of garbage.
 */
export function withMembers<A extends object, B extends object>(object: A, members: B): A & B {
  return Object.assign({}, object, members)
}

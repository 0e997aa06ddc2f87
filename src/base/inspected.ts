/**
 * The member that Node, Bun and Deno call to print an object, as `console.log` does. What has it prints what its user
 * knows it by, in place of its internals.
 */
export const inspected: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

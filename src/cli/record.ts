import { type OperationName, operations } from '../tabularium/index.ts'

export type AnyOperation = (typeof operations)[OperationName]['definition']

/** All operations, in the order of the record. */
export const definitions: readonly AnyOperation[] = Object.values(operations).map(
  ({ definition }) => definition,
)

/** `countTableRows` as a command: `count-table-rows`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-')
}

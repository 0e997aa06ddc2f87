import { type OperationName, operations } from '../tabularium/index.ts'

export type AnyOperation = (typeof operations)[OperationName]['definition']

/** All operations, in the order of the record. */
export const definitions: readonly AnyOperation[] = Object.values(operations).map(
  ({ definition }) => definition,
)

/** Whether an operation exists by name only, and always fails with `Unsupported`. */
export function isUnsupported({ errors }: AnyOperation): boolean {
  return errors.length === 1 && errors.at(0) === 'Unsupported'
}

/** `countTableRows` as a command: `count-table-rows`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-')
}

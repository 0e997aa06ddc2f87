import { type OperationName, operations } from '../index.ts'

export type AnyOperation = (typeof operations)[OperationName]['definition']

/** Every operation of the record, in its order. */
export const definitions: readonly AnyOperation[] = Object.values(operations).map(
  ({ definition }) => definition,
)

/** The operations that take the protocol's name without doing anything: they answer `Unsupported`. */
export function isUnsupported({ errors }: AnyOperation): boolean {
  return errors.length === 1 && errors.at(0) === 'Unsupported'
}

/** `countTableRows` as a command: `count-table-rows`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-')
}

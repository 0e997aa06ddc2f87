import type { GenericSchema } from 'valibot'

/** The paths of all fields that values of a schema have, at any depth. */
export function fieldPaths(schema: GenericSchema): readonly (readonly string[])[] {
  const { entries, wrapped, item, value, pipe } = schema as {
    entries?: Readonly<Record<string, GenericSchema>>
    wrapped?: GenericSchema
    item?: GenericSchema
    value?: GenericSchema
    pipe?: readonly (GenericSchema & { kind: string })[]
  }
  if (entries !== undefined) {
    return Object.entries(entries).flatMap(([name, entry]) => [
      [name],
      ...fieldPaths(entry).map((path) => [name, ...path]),
    ])
  }
  const later = (pipe ?? []).slice(1).filter(({ kind }) => kind === 'schema')
  return [wrapped, item, value, ...later].flatMap((inner) => (inner === undefined ? [] : fieldPaths(inner)))
}

import type { Identifier } from '../../base/model/identifier.ts'

/** Names that need no quotes in a shell, and no delimiter of their own in the command line. */
const plainName = /^[A-Za-z0-9_][\w-]{0,60}$/

const created = `[{"origin":"SFO","delay":12},{"origin":"JFK","delay":75}]`
const inserted = `[{"origin":"AMS","delay":90}]`

/**
 * The commands to begin with in an empty catalog or namespace: create a table, add rows, and ask for some. They need no
 * file. None for a namespace whose name a shell or the command line would read as something else.
 */
export function beginCommands(url: string, namespace: Identifier): readonly string[] {
  if (!namespace.every((name) => plainName.test(name))) return []
  const table = [...namespace, 'flights'].join('.')
  return [
    `tabularium create ${url} ${table} --data '${created}'`,
    `tabularium insert ${url} ${table} --data '${inserted}'`,
    `tabularium query ${url} ${table} --where 'delay > 60'`,
  ]
}

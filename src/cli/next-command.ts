import { CatalogError } from '../base/errors.ts'
import { formatIdentifier } from '../base/model/identifier.ts'
import { readIdentifier } from './request.ts'

/** What was typed: the location, the identifier, and what is between its names. */
interface TypedWords {
  readonly location: string
  readonly id: string | undefined
  /** Whether the identifier is that of a namespace, which the command was to create. */
  readonly isNamespace: boolean
  readonly delimiter: string
}

/**
 * An error of a command. That of a namespace which is not there also says the command that creates it, with all that the
 * identifier needs.
 */
export function withNextCommand(
  error: unknown,
  { location, id, isNamespace, delimiter }: TypedWords,
): unknown {
  if (!(error instanceof CatalogError && error.code === 'NamespaceNotFound') || id === undefined) return error
  const names = readIdentifier(id, delimiter)
  const needed = isNamespace ? names : names.slice(0, -1)
  for (let depth = 1; depth <= names.length; depth++) {
    const missing = names.slice(0, depth)
    const told = `namespace ${formatIdentifier(missing)}. Create it first`
    const [before, after] = error.message.split(told, 2)
    if (after === undefined) continue
    const words = ['tabularium create-namespace', shown(location), quoted(needed.join(delimiter))]
    if (needed.length > depth) words.push('--parents')
    if (delimiter !== '.') words.push(`--delimiter ${quoted(delimiter)}`)
    return new CatalogError(error.code, `${before}${told} (${words.join(' ')})${after}`, { cause: error })
  }
  return error
}

/** A location that bears a password is not repeated. */
function shown(location: string): string {
  return /:\/\/[^/]*@/.test(location) ? 'LOCATION' : quoted(location)
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

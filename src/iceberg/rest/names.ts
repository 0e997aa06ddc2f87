import { type Identifier, quote } from '../../base/model/identifier.ts'
import { illegalArgument } from '../errors.ts'

/** The unit separator. It joins the levels of a namespace, and no level holds it. */
const separator = '\u001f'

/** The separator as clients write it in a path, for the override `namespace-separator` of the configuration. */
export const namespaceSeparator = '%1F'

/**
 * The namespace in a path segment, which is still percent-encoded: its levels, joined by `%1F`.
 *
 * Fails with status 400 for an empty level, and for what is no percent-encoding of UTF-8.
 *
 * ```ts
 * namespaceInPath('accounting%1Ftax') // ['accounting', 'tax']
 * ```
 */
export function namespaceInPath(segment: string): Identifier {
  return levelsOf(decode(segment))
}

/**
 * The name of a table or view in a path segment, which is still percent-encoded. Fails as `namespaceInPath` does.
 *
 * ```ts
 * nameInPath('flights%202024') // 'flights 2024'
 * ```
 */
export function nameInPath(segment: string): string {
  const name = decode(segment)
  if (name === '') throw illegalArgument('Invalid name in path: empty. Give the name of a table or view.')
  return name
}

/** Java's clients write a space as `+`, as forms do, and encode a plus sign. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment.replaceAll('+', ' '))
  } catch {
    throw illegalArgument(
      `Invalid path segment: ${quote(segment)} is no percent-encoding of UTF-8. Encode it once, as encodeURIComponent does.`,
    )
  }
}

/**
 * The namespace in a query parameter, such as `parent`, which is decoded. The root where the parameter is absent or
 * empty. Fails with status 400 for an empty level.
 *
 * ```ts
 * namespaceInQuery(url.searchParams.get('parent'))
 * ```
 */
export function namespaceInQuery(value: string | null | undefined): Identifier {
  return value == null || value === '' ? [] : levelsOf(value)
}

function levelsOf(text: string): Identifier {
  const levels = text.split(separator)
  if (!levels.includes('')) return levels
  const shown = quote(text.replaceAll(separator, namespaceSeparator))
  throw illegalArgument(
    `Invalid namespace: ${shown} has an empty level. Join its levels by one ${namespaceSeparator} each.`,
  )
}

/**
 * A namespace as one path segment, which `namespaceInPath` reads. The namespaces `.` and `..` become `%2E` and `%2E%2E`:
 * servers decode them, and URL parsers resolve them, so send such a path without parsing it.
 *
 * Fails with status 400 for the root, an empty level, and a level that holds the separator or is no Unicode.
 */
export function namespaceToPath(namespace: Identifier): string {
  return guardDots(checkLevels(namespace).map(encode).join(namespaceSeparator))
}

/** The name of a table or view as one path segment, which `nameInPath` reads. Fails as `namespaceToPath` does. */
export function nameToPath(name: string): string {
  return guardDots(encode(name))
}

function checkLevels(namespace: Identifier): Identifier {
  if (namespace.length === 0) throw illegalArgument('Invalid namespace: empty. Give one level at least.')
  for (const level of namespace) {
    if (level === '') throw illegalArgument('Invalid namespace: a level is empty. Name each level.')
    if (level.includes(separator))
      throw illegalArgument(
        `Invalid namespace: ${quote(level)} holds the unit separator. Give each level as an item of its own.`,
      )
  }
  return namespace
}

function encode(name: string): string {
  if (name === '') throw illegalArgument('Invalid name: empty. Give at least one character.')
  if (!name.isWellFormed())
    throw illegalArgument(
      `Invalid name: ${quote(name)} holds half of a surrogate pair. Give well-formed Unicode.`,
    )
  return encodeURIComponent(name)
}

function guardDots(segment: string): string {
  return segment === '.' || segment === '..' ? segment.replaceAll('.', '%2E') : segment
}

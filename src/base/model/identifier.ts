import { invalid } from '../errors.ts'
import { utf8Length } from './utf8.ts'

/** The names from the root down to a namespace or table. The empty list is the root namespace. */
export type Identifier = readonly string[]

/** The delimiter between the names of an identifier, unless a caller or request sets another. */
export const defaultDelimiter = '$'

export const maxNameBytes = 255
export const maxDepth = 32

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
const plainAscii = /^[\w.\- ]+$/

/**
 * Returns why `name` is invalid as the name of a namespace or table; undefined when it is valid. A name is 1 to 255
 * bytes of UTF-8 without control characters, lone surrogates or the default delimiter. Names are compared as given.
 */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'is empty; give it at least one character'
  if (name.length <= maxNameBytes && plainAscii.test(name)) return undefined
  if (name.length > maxNameBytes || utf8Length(name) > maxNameBytes) {
    return `is ${utf8Length(name).toLocaleString('en')} bytes long; ${maxNameBytes} bytes of UTF-8 are the most`
  }
  if (controlCharacter.test(name)) return `holds a control character (${describeControl(name)}); remove it`
  if (!name.isWellFormed()) return 'holds half of a surrogate pair; give well-formed Unicode'
  if (name.includes(defaultDelimiter)) {
    return `holds '${defaultDelimiter}', which separates names; give each name as an item of its own`
  }
  return undefined
}

/** Returns why `id` is invalid as an identifier of at most 32 names; undefined when it is valid. */
export function identifierProblem(id: Identifier): string | undefined {
  if (id.length > maxDepth) return `has ${id.length} names; ${maxDepth} levels are the most`
  for (let i = 0; i < id.length; i++) {
    const problem = nameProblem(id[i]!)
    if (problem) return `name ${i + 1} (${quote(id[i]!)}) ${problem}`
  }
  return undefined
}

/** The string form of an identifier, such as `prod$flights`; the root is the delimiter alone. */
export function formatIdentifier(id: Identifier, delimiter: string = defaultDelimiter): string {
  return id.length === 0 ? delimiter : id.join(delimiter)
}

/**
 * Splits the string form of an identifier. The delimiter alone is the root. Any other string with an empty segment
 * is refused, so that two strings never mean the same table.
 */
export function parseIdentifier(text: string, delimiter: string = defaultDelimiter): Identifier {
  if (text === delimiter) return []
  const names = text.split(delimiter)
  if (names.includes('')) {
    throw invalid(
      `The identifier ${quote(text)} has an empty segment; write names joined by ${quote(delimiter)}.`,
    )
  }
  return names
}

/** The delimiter of a request: `$`, or 1 to 8 characters of the caller's choice. */
export function checkDelimiter(given: string | null | undefined): string {
  if (given == null) return defaultDelimiter
  // A character has at most two UTF-16 units, so a long text is never split into characters.
  if (given === '' || given.length > 16 || [...given].length > 8)
    throw invalid('delimiter must be 1 to 8 characters long.')
  return given
}

export function sameNames(a: Identifier, b: Identifier): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}

/** Whether `id` is `outer`, or lies below it. */
export function isWithin(id: Identifier, outer: Identifier): boolean {
  return id.length >= outer.length && outer.every((name, i) => id[i] === name)
}

/** A name in quotes for a message. Long names are cut, and control characters are escaped. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text)
}

function describeControl(name: string): string {
  const code = controlCharacter.exec(name)![0].charCodeAt(0)
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

import { invalid } from '../../errors.ts'
import {
  defaultDelimiter,
  formatIdentifier,
  type Identifier,
  parseIdentifier,
  quote,
} from '../../model/identifier.ts'

/**
 * An identifier as one segment of a path: its names joined by the delimiter, the root as the delimiter itself,
 * percent-encoded. The names `.` and `..` alone come out as `%2E` and `%2E%2E`, which servers read rightly but
 * URL parsers take for steps in the path: send such a path as it is.
 */
export function encodePathId(id: Identifier, delimiter: string = defaultDelimiter): string {
  const encoded = encodeURIComponent(formatIdentifier(id, delimiter))
  return encoded === '.' || encoded === '..' ? encoded.replaceAll('.', '%2E') : encoded
}

/**
 * The identifier that a segment of a path means. `+` stands for a space, as clients send it that encode the
 * segment like a form, unless `plusIsSpace` is false. Fails with `InvalidInput` for a broken percent-encoding
 * and for an identifier with an empty name.
 */
export function decodePathId(
  segment: string,
  delimiter: string = defaultDelimiter,
  plusIsSpace = true,
): Identifier {
  return parseIdentifier(decodeSegment(segment, plusIsSpace), delimiter)
}

/** The text that a segment of a path means. */
export function decodeSegment(segment: string, plusIsSpace = true): string {
  const spaced = plusIsSpace && segment.includes('+') ? segment.replaceAll('+', ' ') : segment
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch (cause) {
    throw invalid(
      `The path segment ${quote(segment)} is no valid percent-encoding of UTF-8. Encode it once, as encodeURIComponent does.`,
      { cause },
    )
  }
}

/** The delimiter of a request: `$` when it is absent, 1 to 8 characters otherwise. */
export function checkDelimiter(given: string | undefined): string {
  if (given === undefined) return defaultDelimiter
  if (given === '' || [...given].length > 8) throw invalid('delimiter must be 1 to 8 characters long.')
  return given
}

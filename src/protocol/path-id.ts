import { invalid } from '../base/errors.ts'
import {
  defaultDelimiter,
  formatIdentifier,
  type Identifier,
  parseIdentifier,
  quote,
} from '../base/model/identifier.ts'

/**
 * An identifier as one percent-encoded path segment: its names joined by the delimiter, or the delimiter alone for the
 * root. The names `.` and `..` alone become `%2E` and `%2E%2E`. Servers decode these correctly, but URL parsers resolve
 * them as relative segments. So send such a path without parsing it.
 */
export function encodePathId(id: Identifier, delimiter: string = defaultDelimiter): string {
  const encoded = encodeURIComponent(formatIdentifier(id, delimiter))
  return encoded === '.' || encoded === '..' ? encoded.replaceAll('.', '%2E') : encoded
}

/**
 * The identifier in a path segment. With `plusIsSpace`, `+` stands for a space, because some clients form-encode the
 * segment. Fails with `InvalidInput` for an invalid percent-encoding and for an identifier with an empty name.
 */
export function decodePathId(
  segment: string,
  delimiter: string = defaultDelimiter,
  plusIsSpace = false,
): Identifier {
  return parseIdentifier(decodeSegment(segment, plusIsSpace), delimiter)
}

/** The decoded text of a path segment. */
export function decodeSegment(segment: string, plusIsSpace = false): string {
  const spaced = plusIsSpace && segment.includes('+') ? segment.replaceAll('+', ' ') : segment
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch (cause) {
    throw invalid(
      `The path segment ${quote(segment)} is not a valid percent-encoding of UTF-8. Encode it once, as encodeURIComponent does.`,
      { cause },
    )
  }
}

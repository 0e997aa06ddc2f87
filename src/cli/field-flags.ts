import { fieldsOf, otherNameOf } from './fields.ts'
import { type AnyOperation, kebab } from './record.ts'

/** Words before the names of fields in a message, such as `together with version or tag`. */
const before =
  /(?<=\b(?:together with|in place of|either as|leave out|give|without|needs) )(?:\w+(?:, | or | and |\b))+/gi

/**
 * Writes the flags of a command in place of the fields that a message names. The catalog speaks of fields, since it does
 * not know who asks. What is in quotes, or was typed, is left as it is.
 */
export function fieldsAsFlags(message: string, operation: AnyOperation, args: readonly string[]): string {
  const typed = new Set(args.flatMap((word) => (word.startsWith('-') ? [] : word.split(/\W+/))))
  const flags = new Map(
    fieldsOf(operation)
      .filter(({ name }) => name !== 'id' && !typed.has(name))
      .map((field) => [field.name, { flag: `--${otherNameOf(field) ?? kebab(field.name)}`, field }]),
  )
  const flagOf = (word: string) => flags.get(word)?.flag ?? word
  return message
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, index) => {
      if (index % 2 === 1) return part
      const text = part
        // An option in code, with its flag behind.
        .replace(/\b(?:the )?option \w+ \(([^)]*--[^)]*)\)/gi, '$1')
        // No other word of a message has an underscore.
        .replace(/(?<![\w.$-])[a-z]+(?:_[a-z]+)+(?!\w|[.[$-]\w)/g, flagOf)
        .replace(/(?<=\bor )at(?=,)/g, flagOf)
        .replace(before, (words) => words.replace(/\w+/g, flagOf))
      // A field and one of its words, such as `behavior Cascade`.
      return [...flags.values()].reduce(
        (sum, { flag, field: { name, hint } }) =>
          /^must be [A-Z]/.test(hint ?? '')
            ? sum.replace(new RegExp(`(?<![\\w-])${name} (?=[A-Z])`, 'g'), `${flag} `)
            : sum,
        text,
      )
    })
    .join('')
}

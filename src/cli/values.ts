import { stringify } from 'lossless-json'

/**
 * Converts a value for {@link toJson}: dates to ISO text, bytes to base64. Numbers without a JSON form, such as NaN,
 * become text.
 */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>, plain)
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, member]) => [String(key), plain(member)]))
}

/** The JSON text of a value. Integers keep all of their digits. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // A bigint makes `JSON.stringify` throw. `stringify` handles it, but is slower.
    return stringify(value)!
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Escapes control characters, so that data cannot control the terminal. */
export function visible(text: string): string {
  return text.replace(control, (character) =>
    character === '\n'
      ? '\\n'
      : character === '\t'
        ? '\\t'
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Converts a value for JSON: dates to ISO text, bytes to base64, large integers to text. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(plain)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>, plain)
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, member]) => [String(key), plain(member)]))
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

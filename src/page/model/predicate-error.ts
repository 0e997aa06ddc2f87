/** The offset of an error in a predicate, from its message; undefined if the message has none. */
export function errorOffset(message: string): number | undefined {
  // Quoted parts come from the predicate and may look like an offset.
  const own = message.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  const [, offset] = /(?:\(offset |at offset )(\d+)/.exec(own) ?? []
  return offset === undefined ? undefined : Number(offset)
}

/** Splits a predicate at the offset of an error. `at` is the word there. */
export function splitAt(text: string, offset: number): { before: string; at: string; after: string } {
  const start = Math.min(offset, text.length)
  const [at = ''] = /^(\w+|[^\w\s]|\s)?/u.exec(text.slice(start)) ?? []
  return { before: text.slice(0, start), at, after: text.slice(start + at.length) }
}

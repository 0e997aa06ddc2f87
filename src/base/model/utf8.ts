/**
 * Most characters of a text that V8 hashes by its content. It hashes longer ones by their length alone, so thousands of
 * them as keys take seconds.
 */
export const maxHashed = 16_383

/** How many bytes a text takes as UTF-8. A lone surrogate counts three, as the character that replaces it. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    const isPair = (unit & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    // A pair has four bytes, and two units.
    if (isPair) i++
    bytes += unit < 0x800 ? 1 : 2
  }
  return bytes
}

/** A part of a text. Characters that are invisible or affect the display of other text are `hidden`. */
export interface Piece {
  readonly text: string
  readonly hidden: boolean
}

/** Control characters, and those that change the direction of text or have no width. */
const unseen =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\p{Cs}/u

/** Splits a text at its hidden characters, which are escaped as `\u{202e}`. */
export function piecesOf(text: string): readonly Piece[] {
  if (!unseen.test(text)) return [{ text, hidden: false }]
  const pieces: Piece[] = []
  for (const part of text.split(new RegExp(`(${unseen.source})`, 'u'))) {
    if (part === '') continue
    const hidden = unseen.test(part)
    pieces.push({ text: hidden ? `\\u{${part.codePointAt(0)!.toString(16)}}` : part, hidden })
  }
  return pieces
}

/** A text with escaped hidden characters, for titles and announcements. */
export function plainText(text: string): string {
  return piecesOf(text)
    .map((piece) => piece.text)
    .join('')
}

export function shownCount(count: number): string {
  return count.toLocaleString('en')
}

export function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${shownCount(count)} rows`
}

export function signed(count: number): string {
  return count > 0 ? `+${shownCount(count)}` : count < 0 ? `−${shownCount(-count)}` : '0'
}

export function shownBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let size = bytes / 1024
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`
}

/** A time in UTC to the second, such as `2026-01-01 12:00:00`. */
export function shownTime(millis: number): string {
  const time = new Date(millis)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().slice(0, 19).replace('T', ' ')
}

/** How long ago a time was, roughly, such as `3 minutes ago`. */
export function sinceText(millis: number, now: number): string {
  const seconds = Math.round((now - millis) / 1_000)
  const steps = [
    ['second', 60],
    ['minute', 60],
    ['hour', 24],
    ['day', Number.POSITIVE_INFINITY],
  ] as const
  let value = Math.abs(seconds)
  for (const [unit, size] of steps) {
    if (value < size) {
      const text = `${shownCount(value)} ${unit}${value === 1 ? '' : 's'}`
      return seconds < 0 ? `in ${text}` : `${text} ago`
    }
    value = Math.floor(value / size)
  }
  return ''
}

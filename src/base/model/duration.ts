const unitMillis: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** The milliseconds of a duration such as `500ms`, `12h` or `1.5d`. NaN for any other text. */
export function durationOf(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/.exec(text.trim()) ?? []
  return Number(number) * (unitMillis[unit ?? ''] ?? Number.NaN)
}

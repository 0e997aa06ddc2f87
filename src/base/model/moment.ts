const form = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|[+-]\d\d:\d\d)$/i

/** A moment as it is written: ISO 8601 with a zone, such as `2026-11-01T00:00:00Z`. Undefined for any other text. */
export function momentOf(given: string): Date | undefined {
  const [, day, time] = form.exec(given) ?? []
  if (day === undefined) return undefined
  const moment = new Date(given)
  // `Date` takes February 30 for March 2.
  return Number.isNaN(moment.getTime()) || dayOf(`${day}${time}Z`) !== day ? undefined : moment
}

function dayOf(text: string): string | undefined {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10)
}

/** Whether the records of a catalog lie in a database, by its location. */
export function isDatabaseUrl(location: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(location)
}

/** A location as it may be shown to people and written to logs: without the user and the secrets of a URL. */
export function shownLocation(location: string): string {
  // A path may hold an @. Of a URL, what is before the last one is taken for secret, however badly it is written.
  if (!/^(?!file:)[a-z][a-z\d+.-]+:/i.test(location)) return location
  return location
    .replace(/^([a-z][a-z\d+.-]+:\/*).*@/is, '$1…@')
    .replace(/([?&][^=&]*(?:pass|key|secret|token|sig)[^=&]*=)[^&#]*/gi, '$1…')
}

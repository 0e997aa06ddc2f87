/** Whether a catalog's location is the URL of a database. */
export function isDatabaseUrl(location: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(location)
}

/** A location for messages and logs: without the user and the secrets of a URL. */
export function shownLocation(location: string): string {
  // A path may contain an @. In a URL, even a malformed one, everything before the last @ counts as secret.
  if (!/^(?!file:)[a-z][a-z\d+.-]+:/i.test(location)) return location
  return location
    .replace(/^([a-z][a-z\d+.-]+:\/*).*@/is, '$1…@')
    .replace(/([?&][^=&]*(?:pass|key|secret|token|sig)[^=&]*=)[^&#]*/gi, '$1…')
}

import { fileURLToPath } from 'node:url'

/**
 * The path of a folder that is given as a path or as a `file:` URL. Undefined for any other URL: taken as a path, it
 * would create a local folder where the caller meant another machine.
 */
export function folderPath(given: string): string | undefined {
  if (/^file:/i.test(given)) return fileURLToPath(given)
  return /^[a-z][a-z\d+.-]+:\/\//i.test(given) ? undefined : given
}

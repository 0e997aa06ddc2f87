import { createRequire } from 'node:module'

/** The version of this package; found by its name, so that it is the same from the sources and when built. */
export function packageVersion(): string {
  return (createRequire(import.meta.url)('tabularium/package.json') as { version: string }).version
}

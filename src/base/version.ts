import { createRequire } from 'node:module'

/** The version of this package. It is found by the package's name, so it is the same in sources and builds. */
export function packageVersion(): string {
  return (createRequire(import.meta.url)('tabularium/package.json') as { version: string }).version
}

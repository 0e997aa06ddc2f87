import { homedir } from 'node:os'
import { join } from 'node:path'
import { madeOnce } from '../../support/made-once.ts'

/** Clients and the kit are some 700 MB. They outlive a new checkout here. */
export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tabularium-iceberg-kit')

/** A folder that `make` fills once for all processes and checkouts, or the reason why there is none. */
export function cached(
  name: string,
  make: (folder: string) => Promise<void>,
): Promise<{ readonly folder: string } | string> {
  return madeOnce(name, make, cache).then(
    (folder) => ({ folder }),
    (error: Error) => `${name} cannot be set up: ${error.message.slice(0, 500)}`,
  )
}

import { fileURLToPath } from 'node:url'
import { isDatabaseUrl, shownLocation } from '../base/model/location.ts'
import { sleep } from '../base/time.ts'
import { type Catalog, CatalogError, openCatalog } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import type { RootOptions } from './options.ts'
import { type RetentionTyped, retentionOptions } from './retention-options.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

/** The credentials for a server. */
export interface Credentials {
  readonly token?: string | undefined
  readonly apiKey?: string | undefined
}

export function isUrl(location: string): boolean {
  return /^https?:/i.test(location)
}

/**
 * Opens the catalog of a command: at a URL, in a directory or in a database. Refuses a directory without a catalog
 * unless `mayCreate` is set, so that a misspelled path creates nothing.
 */
export async function openLocation(
  location: string,
  mayCreate: boolean,
  access: Credentials,
  io?: Pick<Io, 'stderr'>,
): Promise<Catalog> {
  if (isUrl(location)) {
    const { connect } = await import('../client/index.ts')
    const { token, apiKey } = access
    return connect(location, { token, apiKey })
  }
  return openLocal(location, mayCreate, {}, io)
}

/** Opens the catalog in a directory, or in a database. */
export async function openLocal(
  location: string,
  mayCreate: boolean,
  {
    locationRoot: locationRoots,
    readOnly = false,
    ...typed
  }: RootOptions & RetentionTyped & { readonly readOnly?: boolean } = {},
  io?: Pick<Io, 'stderr'>,
) {
  requireDirectory(location)
  if (!mayCreate && !isDatabaseUrl(location) && location !== 'memory:') await requireCatalog(location)
  const open = () =>
    openCatalog(location, {
      ...(locationRoots !== undefined && { locationRoots }),
      ...retentionOptions(typed),
      // A catalog in memory has no such option.
      ...(readOnly && location !== 'memory:' && { readOnly }),
    })
  // Scripts take a line on standard error for a fault.
  return mayCreate && io?.stderr.isTTY ? tellingNew(location, open, io) : open()
}

/** Opens a catalog, and says so where there was none: a misspelled path would go unnoticed. */
export async function tellingNew<T>(
  location: string,
  open: () => Promise<T>,
  { stderr }: Pick<Io, 'stderr'>,
): Promise<T> {
  const isDirectory = !isDatabaseUrl(location) && location !== 'memory:'
  const isNew = isDirectory && !(await hasCatalog(location))
  const catalog = await open()
  if (isNew) stderr.write(`note: a new catalog was created in ${visible(directoryOf(location))}\n`)
  return catalog
}

/** Refuses URLs of servers and unsupported schemes, for commands that need direct access to the catalog. */
export function requireDirectory(location: string): void {
  if (isUrl(location)) {
    throw new UsageError('this works on the directory of a catalog; run it on the machine of the catalog')
  }
  if (isDatabaseUrl(location) || !/^(?!file:|memory:$)[a-z][a-z\d+.-]+:/i.test(location)) return
  throw new UsageError(
    `${shownLocation(location)} cannot be opened: give a directory, or a URL that begins with postgres://, http:// or https://`,
  )
}

function directoryOf(location: string): string {
  return /^file:/i.test(location) ? fileURLToPath(location) : location
}

/** Whether a directory has a catalog. */
export async function hasCatalog(location: string): Promise<boolean> {
  const { holdsLmdbStore } = await import('../stores/lmdb/index.ts')
  return holdsLmdbStore(directoryOf(location))
}

async function requireCatalog(location: string): Promise<void> {
  if (await hasCatalog(location)) return
  throw new CatalogError(
    'InvalidInput',
    `There is no catalog in ${directoryOf(location)}. Check the path; creating a namespace or table there creates a catalog.`,
  )
}

/** The delays before each retry, in milliseconds. The last one repeats. */
const retryDelays = [500, 1_000, 2_000, 5_000, 10_000]

/**
 * Opens a catalog. Retries while its database is unavailable, as during the start of a machine, and reports each
 * failure. Resolves to undefined when the signal aborts. Throws permanent errors, such as an untrusted certificate, at
 * once.
 */
export async function openWithRetries<T>(
  open: () => Promise<T>,
  isInDatabase: boolean,
  signal: AbortSignal,
  io: Pick<Io, 'stderr'>,
  delays: readonly number[] = retryDelays,
): Promise<T | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await open()
    } catch (error) {
      if (!isInDatabase) throw error
      const { isTransient } = await import('../stores/postgres/failure.ts')
      if (!isTransient(error)) throw error
      const pause = delays[Math.min(attempt, delays.length - 1)]!
      io.stderr.write(
        `tabularium: ${(error as CatalogError).message} The server tries again in ${pause / 1_000} s.\n`,
      )
      await sleep(pause, { signal }).catch(() => {})
      if (signal.aborted) return undefined
    }
  }
}

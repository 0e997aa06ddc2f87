import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { sharedServer } from '../support/postgres.ts'
import type { LinearPlace } from './linear-run.ts'

/** A new catalog in PostgreSQL, with its rows in a folder. */
export async function databasePlace(): Promise<LinearPlace> {
  const location = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
  const folder = await temporaryDirectory()
  const content = pathToFileURL(folder).href
  // The catalog stores its content URL, so that the processes find it.
  await (await openCatalog(location, { content })).close()
  return { location, root: `${content}/`, dispose: () => rm(folder, { recursive: true, force: true }) }
}

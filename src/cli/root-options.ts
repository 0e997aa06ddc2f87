import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isDatabaseUrl } from '../base/model/location.ts'
import type { DirectoryCatalogOptions } from '../tabularium/index.ts'

/** What `serve` is told about places of tables. */
export interface RootsTyped {
  readonly root?: string
  readonly locationRoot?: readonly string[]
  readonly content?: string | undefined
}

/**
 * The options of a catalog. A folder in which new tables lie is a root of it, unless it lies below one. Object storage is
 * one where `--location-root` says so: without, the server needs no access, and only clients write there.
 */
export function rootOptions(
  location: string,
  { root, content, locationRoot: roots = [] }: RootsTyped,
): Pick<DirectoryCatalogOptions, 'tableRoot' | 'locationRoots'> {
  if (root === undefined) return { locationRoots: roots.length === 0 ? undefined : roots }
  const place = folderUrlOf(root)
  const given = [...(isDatabaseUrl(location) || location === 'memory:' ? [] : [location]), ...roots]
  const isBelow = [...given, ...(content === undefined ? [] : [content])].some((other) =>
    place.startsWith(folderUrlOf(other)),
  )
  const locationRoots = isBelow || !place.startsWith('file:') ? roots : [...roots, fileURLToPath(place)]
  return { tableRoot: place, locationRoots: locationRoots.length === 0 ? undefined : locationRoots }
}

/** A folder, or a place in object storage, as a URL with a slash at its end, and without the options behind it. */
function folderUrlOf(place: string): string {
  const url = /^[a-z][a-z\d+.-]+:/i.test(place)
    ? place.replace(/\?.*$/s, '')
    : pathToFileURL(resolve(place)).href
  return url.endsWith('/') ? url : `${url}/`
}

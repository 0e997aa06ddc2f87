import { createHash } from 'node:crypto'
import { sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Content } from '../../base/content/content.ts'
import { invalid } from '../../base/errors.ts'
import { limits } from '../../base/model/fields.ts'
import { quote } from '../../base/model/identifier.ts'
import { keys, type RemovalRecord, type TableRecord } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { type FoundTable, tableById } from '../lookup/names.ts'

/** A folder of content that the catalog can reach: the content, and the path of the folder, ending in a slash. */
export interface ContentFolder {
  readonly content: Content
  readonly prefix: string
}

/** Whether anything lies in a folder. */
export async function holdsObjects({ content, prefix }: ContentFolder): Promise<boolean> {
  for await (const _ of content.list(prefix)) return true
  return false
}

/** A root below which the catalog reads, writes and removes content. */
export interface ContentRoot {
  /** The URL of the root, ending in a slash. */
  readonly url: string
  /** Another URL of the root, through symbolic links, that callers may use. */
  readonly alias?: string
  readonly content: Content
  /** Names directly below the root that are not content, such as the store's own files. */
  readonly reserved: ReadonlySet<string>
}

/** Where content may lie: the roots of its catalog, the catalog's own first. */
export interface Roots {
  /** Where the content of tables lies. */
  readonly contentRoots: readonly ContentRoot[]
}

/** The folder in the catalog's own root where it chooses locations of new tables. */
export const tablesFolder = 'tables'

/** The folder in the catalog's own root for registrations of tables whose location is out of reach. */
export const offsiteFolder = 'registrations'

const schemePattern = /^[a-z][a-z0-9+.-]+:/i
const schemeOnlyPattern = /^[a-z][a-z0-9+.-]+:$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlPattern = /[\u0000-\u001f\u007f]/

/** A location below the catalog's own root that the catalog chose itself: it has only one spelling. */
const chosenPattern = new RegExp(`^${tablesFolder}/[0-9A-Za-z-]+$`)

/** The location of a table, as a URL. */
export function locationOf(
  roots: readonly ContentRoot[],
  internalId: string,
  record: Pick<TableRecord, 'location'>,
): string {
  return record.location ?? `${roots[0]!.url}${tablesFolder}/${internalId}`
}

/** The location to record for a new table without a given one; null means that it follows from the internal id. */
export function newLocation(
  roots: readonly ContentRoot[],
  tableRoot: string | undefined,
  internalId: string,
): string | null {
  return tableRoot === undefined ? null : checkLocation(roots, `${tableRoot}/${internalId}`)
}

/** The folder of a table's content; undefined when the location is out of reach. */
export function contentFolderOf(roots: readonly ContentRoot[], location: string): ContentFolder | undefined {
  const own = roots[0]!
  if (location.startsWith(own.url)) {
    const path = location.slice(own.url.length)
    if (chosenPattern.test(path)) return { content: own.content, prefix: `${path}/` }
  }
  const url = normalize(location)
  const root = rootOf(roots, url)
  if (root === undefined) return undefined
  // A location that was stored while it was out of reach is only a name, unless its spelling is the normal one.
  if (root !== own && !isFileUrl(url) && !isNormalBelow(root, location.replace(/\/+$/, ''))) return undefined
  const path = decodeURIComponent(url.slice(root.url.length)).replace(/\/+$/, '')
  return path === '' ? undefined : { content: root.content, prefix: `${path}/` }
}

/**
 * Whether clients are to keep the versions of a table through the catalog. That is promised only where the catalog can
 * publish their manifests.
 */
export function isManaged(
  { contentRoots, settings }: Roots & { readonly settings: { readonly managedVersioning: boolean } },
  { location }: Pick<TableRecord, 'location'>,
): boolean {
  if (!settings.managedVersioning) return false
  const content =
    location === null ? contentRoots[0]!.content : contentFolderOf(contentRoots, location)?.content
  return content?.shared !== undefined
}

/** The folder, in the catalog's own root, for what the catalog keeps of a location out of reach. */
export function offsiteFolderOf(roots: readonly ContentRoot[], location: string): ContentFolder {
  const name = createHash('sha256').update(location).digest('hex')
  return { content: roots[0]!.content, prefix: `${offsiteFolder}/${name}/` }
}

/**
 * Checks a location from a caller and normalizes it: an absolute path becomes a `file:` URL, `.` and `..` are
 * resolved, `s3a:` becomes `s3:`, and a slash at the end is removed.
 */
export function checkLocation(roots: readonly ContentRoot[], location: string): string {
  if (location.length === 0 || location.length > limits.locationCharacters) {
    throw invalid(`location is ${location.length} characters long; give 1 to ${limits.locationCharacters}.`)
  }
  if (!location.isWellFormed() || controlPattern.test(location)) {
    throw invalid('location holds a control character or half of a surrogate pair; give a plain URL.')
  }
  if (!schemePattern.test(location) && !location.startsWith('/')) {
    throw invalid(
      `location ${quote(location)} is neither a URL nor an absolute path; write, for example, s3://bucket/table or file:///data/table.`,
    )
  }
  const url = withoutAlias(roots, normalize(location))
  if (schemeOnlyPattern.test(url)) {
    throw invalid(`location ${quote(location)} names no folder; write, for example, s3://bucket/table.`)
  }
  if (roots.some((root) => root.url.startsWith(`${url}/`))) {
    throw invalid(
      `location ${quote(location)} is a root of the catalog, or contains one; name a folder below that root.`,
    )
  }
  const root = rootOf(roots, url)
  return root === undefined ? url : checkPath(roots, root, url, location)
}

/** Checks a location below a root. Below a root, two spellings of one path would be two tables at one place. */
function checkPath(roots: readonly ContentRoot[], root: ContentRoot, url: string, location: string): string {
  const path = decodePath(url.slice(root.url.length))
  const names = path?.split('/') ?? []
  if (names.length === 0 || controlPattern.test(path!) || !isPlain(names)) {
    throw invalid(
      `location ${quote(location)} is not a plain path; write the names of folders between slashes.`,
    )
  }
  const first = names[0]!
  const ownFolder = first === offsiteFolder || (first === tablesFolder && names.length === 1)
  if (root.reserved.has(first) || (ownFolder && root === roots[0])) {
    throw invalid(
      `location ${quote(location)} is where the catalog keeps its own records; name another folder.`,
    )
  }
  return isFileUrl(url) ? url : root.url + names.map(encodeURIComponent).join('/')
}

function isNormalBelow(root: ContentRoot, url: string): boolean {
  const names = decodePath(url.slice(root.url.length))?.split('/') ?? []
  return isPlain(names) && url === root.url + names.map(encodeURIComponent).join('/')
}

function isPlain(names: readonly string[]): boolean {
  return names.every((n) => n !== '' && n !== '.' && n !== '..')
}

function rootOf(roots: readonly ContentRoot[], url: string): ContentRoot | undefined {
  return roots.find((candidate) => url.startsWith(candidate.url) && url.length > candidate.url.length)
}

/** The root above a location, given as the parts of its key; the catalog's own root when it is out of reach. */
export function rootBySegments(roots: readonly ContentRoot[], segments: readonly string[]): ContentRoot {
  return roots.find(({ url }) => segmentsOf(url).every((segment, i) => segment === segments[i])) ?? roots[0]!
}

/** A location in its normal spelling, for hooks; undefined where a request names none. */
export function namedLocation({ location }: Readonly<Record<string, unknown>>): string | undefined {
  return normalLocation(location)
}

/** A location in its normal spelling, as a request gives it; undefined for what is no text. */
export function normalLocation(location: unknown): string | undefined {
  if (typeof location !== 'string') return undefined
  try {
    return normalize(location)
  } catch {
    // The operation refuses it.
    return location
  }
}

function withoutAlias(roots: readonly ContentRoot[], url: string): string {
  const root = roots.find(({ alias }) => alias !== undefined && `${url}/`.startsWith(alias))
  return root === undefined ? url : (root.url + `${url}/`.slice(root.alias!.length)).replace(/\/+$/, '')
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function isFileUrl(location: string): boolean {
  return /^file:/i.test(location)
}

function normalize(location: string): string {
  let url: string
  if (location.startsWith('/')) url = pathToFileURL(location).href
  else if (isFileUrl(location)) url = pathToFileURL(filePath(location)).href
  // Clients of Hadoop write the scheme of S3 in other ways.
  else url = location.replace(/^s3[an]:\/\//i, 's3://')
  return url.length > 1 ? url.replace(/\/+$/, '') : url
}

function filePath(location: string): string {
  try {
    return fileURLToPath(location)
  } catch (cause) {
    throw invalid(
      `location ${quote(location)} is not a file URL of this machine; write file:///folder/table.`,
      {
        cause,
      },
    )
  }
}

export function releaseLocation(writer: Writer, record: TableRecord): void {
  if (record.location !== null) writer.remove(keys.location(segmentsOf(record.location)))
}

export function tableAt(
  roots: readonly ContentRoot[],
  reader: Reader,
  location: string,
): FoundTable | undefined {
  const owner = reader.get<string | RemovalRecord>(keys.location(segmentsOf(location)))
  const id = typeof owner === 'string' ? owner : location.slice(location.lastIndexOf('/') + 1)
  const table = tableById(reader, id)
  return table && locationOf(roots, table.id, table.record) === location ? table : undefined
}

/** The name of a folder: its path in the catalog's own root, which may move as a whole, or its URL elsewhere. */
export function folderName(roots: readonly ContentRoot[], { content, prefix }: ContentFolder): string {
  const root = roots.find((candidate) => candidate.content === content)
  return root === undefined || root === roots[0] ? prefix : root.url + prefix
}

/**
 * The rest of a URL behind the folder of a table, where both roots differ: the catalog is a copy of one that lay elsewhere.
 * Undefined when the URL names nothing in the folder that `location` is a copy of.
 */
export function locationBelow(
  roots: readonly ContentRoot[],
  location: string,
  url: string,
): string | undefined {
  const own = roots[0]!.url
  if (!location.startsWith(own)) return undefined
  const folder = `/${location.slice(own.length)}/`
  const at = url.indexOf(folder)
  return at < 0 ? undefined : url.slice(at + folder.length)
}

/** A location as the parts of a key. */
export function segmentsOf(location: string): string[] {
  return location.split('/').filter((segment) => segment !== '')
}

/** The URL of a folder on disk, ending in a slash. */
export function folderUrl(path: string): string {
  return pathToFileURL(path.endsWith(sep) ? path : path + sep).href
}

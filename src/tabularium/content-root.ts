import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Content } from '../base/content/content.ts'
import { invalid } from '../base/errors.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { CatalogOptions } from '../catalog/handle/open-core.ts'
import { type ContentRoot, folderUrl } from '../catalog/locations/locations.ts'

/**
 * Opens the content at a URL: `s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix` or
 * `file:///folder`. Nothing is asked of the service yet. Credentials,
 * region and endpoint come from the environment, as for the vendor's own tools.
 *
 * ```ts
 * const content = await openContent('s3://bucket/prefix')
 * ```
 */
export async function openContent(url: string): Promise<Content> {
  const { openContent } = await import('../contents/open.ts')
  return openContent(url)
}

/**
 * Opens the content at a URL as the own root of a catalog, which becomes the owner of the content. A copy of a catalog
 * only looks whether it is the content of the original.
 */
export async function contentRootAt(
  url: string,
  catalog: CatalogRecord,
  isCopy = false,
): Promise<ContentRoot> {
  const [{ openContentAt }, { claimContent, ownerPath, requireOwner }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  if (isCopy) await requireOwner(content, root, catalog.id)
  else await claimContent(content, root, catalog.id)
  return { url: root, content, reserved: new Set([ownerPath]) }
}

/** Undoes what {@link contentRootAt} left in the content, for a catalog that cannot be opened and was new. */
export async function leaveContent(url: string, catalog: CatalogRecord): Promise<void> {
  const [{ openContentAt }, { disclaimContent }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  await disclaimContent(content, root, catalog.id)
}

/** Sees that the content at a URL can be reached, before anything is made that refers to it. */
export async function requireReachable(url: string): Promise<void> {
  const { ownerPath } = await import('../base/content/claim.ts')
  const content = await openContent(url)
  await content.get(ownerPath)
}

/** The roots that the option names besides the catalog's own: folders, and URLs of object storage. */
export function furtherRoots({ locationRoots = [] }: CatalogOptions): Promise<ContentRoot[]> {
  return Promise.all(
    locationRoots.map((place) =>
      isBucketUrl(place) ? bucketRoot(place) : folderRoot('locationRoots', place),
    ),
  )
}

function isBucketUrl(place: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(place)
}

async function bucketRoot(place: string): Promise<ContentRoot> {
  if (/^file:/i.test(place)) {
    throw invalid(`locationRoots: ${JSON.stringify(place)} is a folder. Write its path: /data/tables.`)
  }
  const [{ openContentAt }, { ownerPath, trialPath }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(place)
  return { url: root, content, reserved: new Set([ownerPath, trialPath]) }
}

/** A folder on disk as a root. `option` is where its path was given. */
export async function folderRoot(option: string, folder: string): Promise<ContentRoot> {
  const { fileContent } = await import('../contents/files/index.ts')
  const root = await realpath(folder).catch((cause) => {
    throw invalid(
      `${option}: the folder ${JSON.stringify(folder)} cannot be reached. Create it, or leave it out.`,
      { cause },
    )
  })
  return {
    url: folderUrl(root),
    alias: folderUrl(resolve(folder)),
    content: fileContent(root),
    reserved: new Set<string>(),
  }
}

/**
 * Sees that the roots in object storage besides the own one, which comes first, belong to no other catalog, and that
 * objects are safe there. Returns all roots.
 */
export async function requireUsable(
  roots: readonly ContentRoot[],
  catalog: CatalogRecord,
): Promise<readonly ContentRoot[]> {
  const buckets = roots
    .slice(1)
    .filter(({ url, content }) => content.url !== undefined && !/^file:/.test(url))
  if (buckets.length === 0) return roots
  requireOneSpelling(roots)
  const { requireNoOwner, requireConditions } = await import('../base/content/claim.ts')
  await Promise.all(
    buckets.map(async ({ url, content }) => {
      const above = await Promise.all(
        prefixesAbove(url).map(async (where) => ({
          where,
          content: await openContent(where + queryOf(content)),
        })),
      )
      for (const place of [{ where: url, content }, ...above]) await requireNoOwner(place, catalog.id)
      await requireConditions(content, url)
    }),
  )
  return roots
}

/** Azure has two schemes. By one of them, locations of another root would lie within a root unnoticed. */
function requireOneSpelling(roots: readonly ContentRoot[]): void {
  const plain = (url: string) => url.replace(/^azure:/, 'az:')
  for (const { url } of roots) {
    const other = roots.find((root) => plain(root.url).startsWith(plain(url)) && !root.url.startsWith(url))
    if (other === undefined) continue
    throw invalid(`locationRoots: ${url} and ${other.url} overlap. Write both with the same scheme.`)
  }
}

/** The URLs of the prefixes above one, the bucket last. */
function prefixesAbove(url: string): string[] {
  const [scheme, rest] = url.split('://') as [string, string]
  const names = rest.split('/').slice(0, -1)
  return names.slice(1).map((_, i) => `${scheme}://${names.slice(0, names.length - 1 - i).join('/')}/`)
}

function queryOf({ url }: Content): string {
  const at = url!.indexOf('?')
  return at < 0 ? '' : url!.slice(at)
}

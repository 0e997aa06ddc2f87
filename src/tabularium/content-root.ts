import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Content } from '../base/content/content.ts'
import { invalid } from '../base/errors.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { CatalogOptions, ContentRoot } from '../catalog/index.ts'
import { folderUrl } from '../catalog/local.ts'

/**
 * Opens the content at a URL: `s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix` or `file:///folder`.
 * It sends no request yet. Credentials, region and endpoint come from the environment, as for the vendor's own tools.
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
 * Opens the content at a URL as the root of a catalog, and claims it for the catalog. For a copy of a catalog, it only
 * checks that the original owns the content.
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

/** Undoes the claim of {@link contentRootAt}, for a new catalog that could not be opened. */
export async function releaseContent(url: string, catalog: CatalogRecord): Promise<void> {
  const [{ openContentAt }, { disclaimContent }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  await disclaimContent(content, root, catalog.id)
}

/** Checks that the content at a URL is reachable, before anything refers to it. */
export async function requireReachable(url: string): Promise<void> {
  const { ownerPath } = await import('../base/content/claim.ts')
  const content = await openContent(url)
  await content.get(ownerPath)
}

/** The content at a URL for a new catalog. Refuses one that has an owner, unless `isThere` says that it is no new one. */
export async function newContent(url: string, isThere: () => Promise<boolean>): Promise<Content> {
  const [{ openContentAt }, { claimRefusal }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const refusal = await claimRefusal(content, root)
  // Another process may have opened the same new catalog meanwhile. Its store is there before its claim.
  if (refusal !== undefined && !(await isThere())) throw refusal
  return content
}

/** The roots of the option `locationRoots`: folders, and URLs of object storage. */
export function optionRoots({ locationRoots = [] }: CatalogOptions): Promise<ContentRoot[]> {
  return Promise.all(
    locationRoots.map((root) => (isBucketUrl(root) ? bucketRoot(root) : folderRoot('locationRoots', root))),
  )
}

function isBucketUrl(root: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(root)
}

async function bucketRoot(given: string): Promise<ContentRoot> {
  if (/^file:/i.test(given)) {
    throw invalid(`locationRoots: ${JSON.stringify(given)} is a folder. Write its path: /data/tables.`)
  }
  const [{ openContentAt }, { ownerPath, trialPath }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(given)
  return { url: root, content, reserved: new Set([ownerPath, trialPath]) }
}

/** A folder on disk as a root. `option` is the name of the option that has its path. */
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
 * Checks the roots in object storage, except the catalog's own one, which comes first. None may belong to another
 * catalog, and each service must support conditional writes. Returns all roots.
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
      const parents = await Promise.all(
        parentPrefixes(url).map(async (where) => ({
          where,
          content: await openContent(where + queryOf(content)),
        })),
      )
      for (const prefix of [{ where: url, content }, ...parents]) await requireNoOwner(prefix, catalog.id)
      await requireConditions(content, url)
    }),
  )
  return roots
}

/** Azure has two schemes. With both in use, one root could contain another unnoticed. */
function requireOneSpelling(roots: readonly ContentRoot[]): void {
  const plain = (url: string) => url.replace(/^azure:/, 'az:')
  for (const { url } of roots) {
    const other = roots.find((root) => plain(root.url).startsWith(plain(url)) && !root.url.startsWith(url))
    if (other === undefined) continue
    throw invalid(`locationRoots: ${url} and ${other.url} overlap. Write both with the same scheme.`)
  }
}

/** The URLs of the parent prefixes, the bucket last. */
function parentPrefixes(url: string): string[] {
  const [scheme, rest] = url.split('://') as [string, string]
  const names = rest.split('/').slice(0, -1)
  return names.slice(1).map((_, i) => `${scheme}://${names.slice(0, names.length - 1 - i).join('/')}/`)
}

function queryOf({ url }: Content): string {
  const at = url!.indexOf('?')
  return at < 0 ? '' : url!.slice(at)
}

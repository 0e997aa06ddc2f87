import type { Content } from '../content/content.ts'
import type { ContentRoot } from '../locations/locations.ts'
import type { CatalogRecord } from '../store/records.ts'

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
  const { openContent } = await import('../content/open.ts')
  return openContent(url)
}

/** Opens the content at a URL as the own root of a catalog, which becomes the owner of the content. */
export async function contentRootAt(url: string, catalog: CatalogRecord): Promise<ContentRoot> {
  const [{ openContentAt }, { claimContent, ownerPath }] = await Promise.all([
    import('../content/open.ts'),
    import('../content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  await claimContent(content, root, catalog.id)
  return { url: root, content, reserved: new Set([ownerPath]) }
}

/** Sees that the content at a URL can be reached, before anything is made that refers to it. */
export async function requireReachable(url: string): Promise<void> {
  const { ownerPath } = await import('../content/claim.ts')
  const content = await openContent(url)
  await content.get(ownerPath)
}

import type { Content } from '../base/content/content.ts'
import { invalid } from '../base/errors.ts'

/** An open content, and the URL prefix of its locations. */
interface OpenedContent {
  readonly content: Content
  readonly root: string
}

/** The ids of a catalog and of its copy. */
interface Ids {
  readonly original: string
  readonly copy: string
}

/** The future content of a copy. */
export interface AdoptedContent extends OpenedContent {
  /** Makes the copy the owner, after all objects were copied. */
  claim(): Promise<void>
}

/**
 * Opens the future content of a copy. The copy claims one without an owner at once. A copy of the original's content
 * names the original as owner until `claim`. `isBegun` states that an earlier run may have been interrupted.
 */
export async function adoptedContent(url: string, ids: Ids, isBegun: boolean): Promise<AdoptedContent> {
  const [{ openContentAt }, { claimContent, contentOwner, refuseOwner, takeOver }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const owner = await contentOwner(content, root)
  if (owner === undefined && !isBegun) await claimContent(content, root, ids.copy)
  else if (owner !== undefined && owner !== ids.original && owner !== ids.copy) throw refuseOwner(root)
  return { content, root, claim: () => takeOver(content, root, ids.original, ids.copy) }
}

/**
 * The original's content, for reading. `content` is undefined when it is unreachable, unreadable or owned by another
 * catalog. Fails when `target` is the same content.
 */
export async function originalContent(
  url: string,
  original: string,
  target: OpenedContent,
): Promise<{ readonly root: string; readonly content: Content | undefined }> {
  const [{ openContentAt }, { contentOwner, isSameStorage }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const owner = await contentOwner(content, root).catch(() => undefined)
  if (owner === undefined) return { root, content: undefined }
  if (await isSameStorage(target.content, content)) {
    throw invalid(
      `${target.root} is the content of the original catalog by another name. Give the copy a place of its own.`,
    )
  }
  return { root, content: owner === original ? content : undefined }
}

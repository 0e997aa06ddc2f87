import type { Content } from '../base/content/content.ts'
import { invalid } from '../base/errors.ts'

/** A content, and the URL that locations there begin with. */
interface Place {
  readonly content: Content
  readonly root: string
}

/** The ids of a catalog and of its copy. */
interface Ids {
  readonly original: string
  readonly copy: string
}

/** The content that a copy of a catalog is to have. */
export interface AdoptedContent extends Place {
  /** Makes the copy the owner, once all is there. */
  claim(): Promise<void>
}

/**
 * Opens the content that a copy of a catalog is to have: nobody's, which the copy owns at once, or a copy of that of the
 * original, which names the original until it is claimed. `isBegun` tells that an earlier run may have ended in between.
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
 * The content of the original of a copy, to be read; without a content where it is away, belongs to somebody else or may
 * not be read. Fails where `target` is the same place.
 */
export async function originalContent(
  url: string,
  original: string,
  target: Place,
): Promise<{ readonly root: string; readonly content: Content | undefined }> {
  const [{ openContentAt }, { contentOwner, isOnePlace }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const owner = await contentOwner(content, root).catch(() => undefined)
  if (owner === undefined) return { root, content: undefined }
  if (await isOnePlace(target.content, content)) {
    throw invalid(
      `${target.root} is the content of the original catalog by another name. Give the copy a place of its own.`,
    )
  }
  return { root, content: owner === original ? content : undefined }
}

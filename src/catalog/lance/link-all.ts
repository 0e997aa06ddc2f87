import type { Content, Link, Linked, SharedFiles } from '../../base/content/content.ts'

/** A manifest, and the final name that it is to have. */
export interface ManifestLink extends Link {
  readonly content: Content
}

/**
 * Gives manifests their final names within as short a time as possible, those of one branch in order. Returns whether all
 * of them got theirs. `onLinked` is called once they have, and perhaps before the names are durable.
 */
export async function linkAll(
  manifests: readonly ManifestLink[],
  onLinked: () => void = () => {},
): Promise<boolean> {
  const byContent = new Map<Content, Link[]>()
  for (const { content, from, to } of manifests) {
    const links = byContent.get(content)
    if (links) links.push({ from, to })
    else byContent.set(content, [{ from, to }])
  }
  let left = byContent.size
  const onePart = () => {
    if (--left === 0) onLinked()
  }
  const results = await Promise.allSettled(
    Array.from(byContent, ([{ shared }, links]) =>
      shared?.linkAll ? shared.linkAll(links, onePart) : linkEach(shared!, links, onePart),
    ),
  )
  return results.every(
    (result) => result.status === 'fulfilled' && result.value.every((linked) => linked === 'linked'),
  )
}

async function linkEach(
  shared: SharedFiles,
  links: readonly Link[],
  onLinked: () => void,
): Promise<Linked[]> {
  const results: Linked[] = []
  for (const { from, to } of links) {
    results.push(await shared.link(from, to))
    if (results.at(-1) !== 'linked') return results
  }
  onLinked()
  return results
}

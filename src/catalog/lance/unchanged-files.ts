import type { Content } from '../../base/content/content.ts'
import { performance } from '../../base/time.ts'
import { nameAfter, nameOf, versionsFolderOf } from '../locations/lance-files.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { LanceContext } from './context.ts'
import { datasetFolderOf, isThere } from './dataset.ts'

/*
 * To reconcile a branch takes a list of its manifests, and a read of the wanted one. Where neither the folder nor the
 * manifest changed since, there is nothing new to find. Clocks of files stand still for a moment after each change, so a
 * state counts once it was found again after that moment.
 */

/** Most manifests whose states are remembered for each content. */
const most = 256

/** The files of a version as they were found whole, after their branch was reconciled. */
interface Known {
  readonly text: string
  /** When the state was seen first, and when the branch was reconciled in it. */
  readonly seen: number
  readonly checked: number
}

const known = new WeakMap<Content, Map<string, Known>>()

/** The state of the files of a version, seen before anything else is done. */
export interface FilesSeen {
  /** Whether the branch was reconciled in this very state, and the manifest was whole. */
  readonly isKnown: boolean
  /** To be called when the branch is reconciled, and the manifest was found whole. */
  remember(): void
}

/** Looks at the files of a version. Undefined where their state cannot be told. */
export async function seeFiles(
  core: LanceContext,
  table: FoundTable,
  { branch, record }: FoundVersion,
): Promise<FilesSeen | undefined> {
  // A manifest may wait elsewhere for the commit of a transaction.
  if (core.staging) return undefined
  const folder = datasetFolderOf(core, table)
  const { shared } = folder ?? {}
  if (shared?.state === undefined) return undefined
  const manifests = folder!.prefix + versionsFolderOf(branch)
  const path = manifests + nameOf(record.manifest_path)
  const now = performance.now()
  const [all, one] = await Promise.all([shared.state(manifests), shared.state(path)])
  if (all === undefined || one === undefined) return undefined
  const text = `${all.text}, ${one.text}`
  const ofContent = known.get(folder!.content) ?? new Map<string, Known>()
  known.set(folder!.content, ofContent)
  const before = ofContent.get(path)
  const isSame = before?.text === text
  return {
    isKnown: isSame && before.checked - before.seen > Math.max(all.millis, one.millis),
    remember() {
      ofContent.delete(path)
      ofContent.set(path, { text, seen: isSame ? before.seen : now, checked: now })
      if (ofContent.size > most) ofContent.delete(ofContent.keys().next().value!)
    },
  }
}

/**
 * Whether the manifest of a version is published, and none that follows on it: then there is nothing to reconcile before
 * a change. Lance's writers look for no more either.
 */
export async function isLastPublished(
  core: LanceContext,
  table: FoundTable,
  { branch, record }: FoundVersion,
): Promise<boolean> {
  const folder = core.staging ? undefined : datasetFolderOf(core, table)
  if (folder === undefined) return false
  const manifests = folder.prefix + versionsFolderOf(branch)
  const name = nameOf(record.manifest_path)
  const [isOwnThere, isNextThere] = await Promise.all([
    isThere(folder.content, manifests + name),
    isThere(folder.content, manifests + nameAfter(name)),
  ])
  return isOwnThere && !isNextThere
}

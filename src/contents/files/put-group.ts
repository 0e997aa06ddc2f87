import type { PutGroup } from '../../base/content/content.ts'
import { isMissing } from './file-errors.ts'
import { syncFolder } from './folders.ts'

/** Writes a file that is not on disk yet. */
type WriteUnsynced = (
  ...given: Parameters<PutGroup['put']>
) => Promise<{ readonly folder: string; readonly synced: Promise<void> }>

/** Files whose syncs overlap with each other, and with later writes. Each folder is synced once. */
export class FileGroup implements PutGroup {
  readonly #write: WriteUnsynced
  readonly #explain: (error: unknown) => Error
  readonly #underWay = new Set<Promise<void>>()
  readonly #folders = new Set<string>()
  /** After a failed sync, a second one may wrongly succeed. So a failed group stays failed. */
  #failure: Error | undefined
  #synced: Promise<void> = Promise.resolve()

  constructor(write: WriteUnsynced, explain: (error: unknown) => Error) {
    this.#write = write
    this.#explain = explain
  }

  async put(...given: Parameters<PutGroup['put']>): Promise<void> {
    const { folder, synced } = await this.#write(...given)
    this.#folders.add(folder)
    const ended = synced
      .catch((error: unknown) => {
        this.#failure ??= this.#explain(error)
      })
      .finally(() => this.#underWay.delete(ended))
    this.#underWay.add(ended)
  }

  sync(): Promise<void> {
    // Each sync waits for the earlier ones, which may be syncing folders that it needs.
    this.#synced = this.#synced.then(() => this.#sync())
    return this.#synced
  }

  async #sync(): Promise<void> {
    const folders = [...this.#folders]
    this.#folders.clear()
    await Promise.all(this.#underWay)
    const ends = await Promise.allSettled(folders.map(syncFolderTogether))
    for (const end of ends) {
      // A missing folder was removed with its objects, such as those of a dropped table.
      if (end.status === 'rejected' && !isMissing(end.reason)) this.#failure ??= this.#explain(end.reason)
    }
    if (this.#failure) throw this.#failure
  }
}

/** A running sync of a folder, and the next one. */
interface FolderSync {
  readonly running: Promise<void>
  next: Promise<void> | undefined
}

const syncs = new Map<string, FolderSync>()

/** As {@link syncFolder}. Callers during a running sync of the folder share the next one. */
export function syncFolderTogether(folder: string): Promise<void> {
  const known = syncs.get(folder)
  if (known === undefined) return beginSync(folder)
  // The running sync may have begun before the caller's names existed.
  const begin = () => beginSync(folder)
  known.next ??= known.running.then(begin, begin)
  return known.next
}

function beginSync(folder: string): Promise<void> {
  const entry: FolderSync = { running: syncFolder(folder), next: undefined }
  syncs.set(folder, entry)
  const forget = () => {
    if (entry.next === undefined) syncs.delete(folder)
  }
  entry.running.then(forget, forget)
  return entry.running
}

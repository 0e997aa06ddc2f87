import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RawFile } from './raw-file.ts'
import type { RealFolders } from './real-folders.ts'

/** The most cached folders. */
const maxFolders = 10_000

/**
 * Creates folders below a root. Their names survive a crash of the machine once a file in them is reported as written.
 * Existing folders are synced as well, since they may not have been.
 */
export class DurableFolders {
  readonly #root: string
  readonly #real: RealFolders
  /** Folders whose names are on disk, or will be when the promise resolves. */
  readonly #made = new Map<string, Promise<void>>()

  constructor(root: string, real: RealFolders) {
    this.#root = root
    this.#real = real
  }

  /** Creates a folder below the root if it is missing, and the root itself. Returns the real path of the folder. */
  async make(segments: readonly string[]): Promise<string> {
    await this.#make(segments)
    return this.#real.find(segments)
  }

  /** Clears the cache, after a folder was found missing. */
  forget(): void {
    this.#made.clear()
    this.#real.forget()
  }

  #make(segments: readonly string[]): Promise<void> {
    const name = segments.join('/')
    const known = this.#made.get(name)
    if (known) return known
    if (this.#made.size >= maxFolders) this.#made.clear()
    const made = segments.length === 0 ? this.#makeRoot() : this.#makeBelow(segments)
    this.#made.set(name, made)
    made.catch(() => this.#made.delete(name))
    return made
  }

  async #makeBelow(segments: readonly string[]): Promise<void> {
    const parents = segments.slice(0, -1)
    await this.#make(parents)
    // The parent's real path is checked before anything is created in it.
    const parent = await this.#real.look(parents)
    await mkdir(join(parent, segments.at(-1)!)).catch(ignoreExisting)
    await this.#real.look(segments)
    await syncFolder(parent)
  }

  async #makeRoot(): Promise<void> {
    const firstMade = await mkdir(this.#root, { recursive: true })
    if (firstMade === undefined) return
    for (let made = this.#root; ; made = dirname(made)) {
      await syncFolder(dirname(made))
      if (made === firstMade || made === dirname(made)) return
    }
  }
}

/** Syncs a folder, so that the names in it survive a crash of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const file = await RawFile.open(folder, 'r')
  try {
    await file.sync()
  } finally {
    file.close()
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

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

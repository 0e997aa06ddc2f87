import type { NativeTable } from './native.ts'

/** What identifies the latest version of a branch. */
export interface HeadOfBranch {
  /** The branch: no other branch, and no branch of another table, has the same. */
  readonly branch: string
  readonly version: number
  /** No other version that was ever the latest one of the branch has the same. */
  readonly key: string
}

/** A handle that is open, and its name on the bridge. */
export interface KeptHandle {
  readonly name: string
  readonly table: NativeTable
  /** The version that it is at, as Lance says. The change that left it there does not wait for that. */
  readonly version: Promise<number>
  /** The schema of that version, where it is known. */
  readonly schema: Uint8Array | undefined
}

/** Most branches whose handles stay open for the next change. */
const most = 16

/**
 * Handles that are at the latest versions of branches: opening one anew takes Lance several requests, and reads the
 * manifest. A handle is of no use once another writer made a version.
 */
export class KeptHandles {
  readonly #kept = new Map<string, KeptHandle & { readonly key: string }>()
  readonly #close: (handle: KeptHandle) => void

  constructor(close: (handle: KeptHandle) => void) {
    this.#close = close
  }

  /** The handle that is at a version, if there is one. The caller has it for itself. */
  async take(head: HeadOfBranch | undefined): Promise<KeptHandle | undefined> {
    const found = head && this.#kept.get(head.branch)
    if (found === undefined) return undefined
    this.#kept.delete(head!.branch)
    const version = await found.version.catch(() => undefined)
    if (found.key === head!.key && version === head!.version) return found
    this.#close(found)
    return undefined
  }

  /** Keeps a handle that is at a version. The one that was used longest ago goes. */
  keep({ branch, key }: HeadOfBranch, handle: KeptHandle): void {
    const other = this.#kept.get(branch)
    if (other) void this.#leave(other)
    this.#kept.delete(branch)
    this.#kept.set(branch, { ...handle, key })
    // Whoever takes it gets the error.
    handle.version.catch(() => {})
    if (this.#kept.size <= most) return
    const [[oldest, one]] = this.#kept as unknown as [[string, KeptHandle]]
    this.#kept.delete(oldest)
    void this.#leave(one)
  }

  async clear(): Promise<void> {
    const all = [...this.#kept.values()]
    this.#kept.clear()
    await Promise.all(all.map((handle) => this.#leave(handle)))
  }

  /** Lance refuses to close a handle that it is asked about. */
  async #leave(handle: KeptHandle): Promise<void> {
    await handle.version.catch(() => {})
    this.#close(handle)
  }
}

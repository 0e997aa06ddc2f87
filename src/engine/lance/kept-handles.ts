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
  take(head: HeadOfBranch | undefined): KeptHandle | undefined {
    const found = head && this.#kept.get(head.branch)
    if (found === undefined) return undefined
    this.#kept.delete(head!.branch)
    if (found.key === head!.key) return found
    this.#close(found)
    return undefined
  }

  /** Keeps a handle that is at a version. The one that was used longest ago goes. */
  keep({ branch, key }: HeadOfBranch, handle: KeptHandle): void {
    const other = this.#kept.get(branch)
    if (other) this.#close(other)
    this.#kept.delete(branch)
    this.#kept.set(branch, { ...handle, key })
    if (this.#kept.size <= most) return
    const [[oldest, one]] = this.#kept as unknown as [[string, KeptHandle]]
    this.#kept.delete(oldest)
    this.#close(one)
  }

  clear(): void {
    for (const handle of this.#kept.values()) this.#close(handle)
    this.#kept.clear()
  }
}

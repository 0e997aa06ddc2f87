import { FreeSpace, type freeBytes } from '../../base/scheduling/free-space.ts'

/** The bytes that stay free: pages that any commit writes besides its records. */
const reserveBytes = 256 * 1024

/** The bytes that stay free after changes with removals: they make room, so they may use most of the reserve. */
const minBytes = 96 * 1024

/** The approximate bytes of a record besides its value. */
const recordBytes = 64

/** The bytes of a commit besides its records: a page of each level of the changed trees. */
const commitBytes = 128 * 1024

/**
 * Detects a nearly full disk before a commit does: there, the driver writes its message beyond its buffer, and may
 * crash the process.
 */
export class DiskSpace {
  /** Bytes put by the writes that share the next commit. A write that is undone resets it. */
  put = 0
  readonly #folder: string
  readonly #free: FreeSpace

  constructor(folder: string, free?: typeof freeBytes) {
    this.#folder = folder
    this.#free = new FreeSpace(reserveBytes, free)
  }

  /** Fails with `ENOSPC` where there is no room for further writes. Call it before writes that share a commit. */
  begin(): void {
    this.put = 0
    if (this.#free.take(commitBytes) && this.#free.isFresh(this.#folder)) return
    this.#free.look(this.#folder, 0, minBytes)
  }

  /**
   * Fails with `ENOSPC` where a record of `bytes` does not fit, with those put before. `removes` is whether the change
   * has removed something.
   */
  add(bytes: number, removes: boolean): void {
    const taken = bytes + recordBytes
    this.put += taken
    if (!this.#free.take(taken)) this.#free.look(this.#folder, this.put, removes ? minBytes : reserveBytes)
  }
}

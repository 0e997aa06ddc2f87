import { FreeSpace, type freeBytes } from '../../base/scheduling/free-space.ts'

/** What stays free: pages that any commit writes besides its records. */
const reserveBytes = 256 * 1024

/** What stays free of changes that remove something: they make room, so they may use most of the reserve. */
const leastBytes = 96 * 1024

/** What a record takes besides its value, about. */
const recordBytes = 64

/** What a commit takes besides its records: a page of each level of the trees that it changes. */
const commitBytes = 128 * 1024

/**
 * Notices that a disk is nearly full before a commit meets it: the driver then writes its message beyond the room that it
 * has for it, and may end the process.
 */
export class DiskSpace {
  /** Bytes put since writes began that share a commit. A write that is undone sets it back. */
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
    this.#free.look(this.#folder, 0, leastBytes)
  }

  /**
   * Fails with `ENOSPC` where a record of so many bytes, and those put before, do not fit. `removes` says whether the
   * change has removed something.
   */
  add(bytes: number, removes: boolean): void {
    const taken = bytes + recordBytes
    this.put += taken
    if (!this.#free.take(taken)) this.#free.look(this.#folder, this.put, removes ? leastBytes : reserveBytes)
  }
}

import { statfsSync } from 'node:fs'
import { performance } from '../time.ts'

/** A look at a disk holds for so long, in milliseconds. */
const freshMillis = 20

/** The free space on the disk of a folder, for this user. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Refuses what would fill a disk. A look at the disk is one call of the kernel, which takes a while on some disks. So
 * there is one in some milliseconds, and one more for each half of what is free.
 */
export class FreeSpace {
  readonly #reserve: number
  readonly #freeBytes: (folder: string) => number
  readonly #lookedAt: { folders: Set<string>; time: number } = { folders: new Set(), time: 0 }
  /** How many bytes need no further look, in all those folders: they may lie on one disk. */
  #known = 0

  /** `reserve` is what stays free. */
  constructor(reserve: number, free: (folder: string) => number = freeBytes) {
    this.#reserve = reserve
    this.#freeBytes = free
  }

  /** Takes bytes of what is known to be free. Returns whether there is more of it. */
  take(bytes: number): boolean {
    this.#known -= bytes
    return this.#known > 0
  }

  /** Whether a look at this folder still holds. */
  isFresh(folder: string): boolean {
    const { folders, time } = this.#lookedAt
    return performance.now() - time < freshMillis && folders.has(folder)
  }

  /**
   * Looks at the disk of a folder. Fails with `ENOSPC` where less than `least` stays free besides `bytes`, which are to
   * be written. What cannot be asked is no reason to refuse them.
   */
  look(folder: string, bytes: number, least: number = this.#reserve): void {
    const left = this.#free(folder) - bytes
    if (left < least) {
      // A look soon after must not say otherwise.
      this.#lookedAt.folders.clear()
      throw Object.assign(new Error('too little space is free'), { code: 'ENOSPC' })
    }
    const now = performance.now()
    if (this.#known <= 0 || now - this.#lookedAt.time >= freshMillis) {
      this.#lookedAt.folders.clear()
      this.#lookedAt.time = now
      this.#known = Number.POSITIVE_INFINITY
    }
    this.#lookedAt.folders.add(folder)
    this.#known = Math.min(this.#known, Math.max(0, left - this.#reserve) / 2)
  }

  #free(folder: string): number {
    try {
      return this.#freeBytes(folder)
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }
}

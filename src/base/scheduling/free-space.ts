import { statfsSync } from 'node:fs'
import { performance } from '../time.ts'

/** How long a measured free space is trusted, in milliseconds. */
const freshMillis = 20

/** The free space on the disk of a folder, for this user. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Refuses writes that would fill a disk. Measuring the free space is a system call, slow on some disks. So it is
 * measured every few milliseconds, and again after half of the free space is taken.
 */
export class FreeSpace {
  readonly #reserve: number
  readonly #freeBytes: (folder: string) => number
  readonly #lookedAt: { folders: Set<string>; time: number } = { folders: new Set(), time: 0 }
  /** How many bytes may be taken before the next measurement, in all those folders: they may share a disk. */
  #known = 0

  /** `reserve` is how many bytes stay free. */
  constructor(reserve: number, free: (folder: string) => number = freeBytes) {
    this.#reserve = reserve
    this.#freeBytes = free
  }

  /** Takes bytes of the known free space. Returns whether any is left. */
  take(bytes: number): boolean {
    this.#known -= bytes
    return this.#known > 0
  }

  /** Whether the measurement for this folder is still fresh. */
  isFresh(folder: string): boolean {
    const { folders, time } = this.#lookedAt
    return performance.now() - time < freshMillis && folders.has(folder)
  }

  /**
   * Measures the disk of a folder. Fails with `ENOSPC` where fewer than `least` bytes would stay free after writing
   * `bytes`. A failed measurement refuses nothing.
   */
  look(folder: string, bytes: number, least: number = this.#reserve): void {
    const left = this.#free(folder) - bytes
    if (left < least) {
      // The next call must measure again.
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

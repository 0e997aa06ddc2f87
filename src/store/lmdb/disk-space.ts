import { performance } from '../../time.ts'
import { freeBytes } from './preflight.ts'

/** What stays free: pages that any commit writes besides its records. */
const reserveBytes = 256 * 1024

/** What stays free of changes that remove something: they make room, so they may use most of the reserve. */
const leastBytes = 96 * 1024

/** A look at the disk holds for so long, in milliseconds. */
const freshMillis = 20

/** What a record takes besides its value, about. */
const recordBytes = 64

/** What a commit takes besides its records: a page of each level of the trees that it changes. */
const commitBytes = 128 * 1024

/**
 * Notices that a disk is nearly full before a commit meets it: the driver then writes its message beyond the room that it
 * has for it, and may end the process. A look is one call of the kernel, so there is one in some milliseconds, and one
 * more for each half of what is free.
 */
export class DiskSpace {
  readonly #folder: string
  readonly #freeBytes: (folder: string) => number
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Bytes put since writes began that share a commit. */
  #put = 0
  /** How many such bytes need no further look. */
  #known = 0

  constructor(folder: string, free: (folder: string) => number = freeBytes) {
    this.#folder = folder
    this.#freeBytes = free
  }

  /** Fails with `ENOSPC` where there is no room for further writes. Call it before writes that share a commit. */
  begin(): void {
    this.#known -= this.#put + commitBytes
    this.#put = 0
    const now = performance.now()
    if (this.#known > 0 && now - this.#lookedAt < freshMillis) return
    this.#lookedAt = now
    this.#look(leastBytes)
  }

  /**
   * Fails with `ENOSPC` where a record of so many bytes, and those put before, do not fit. `removes` says whether the
   * change has removed something.
   */
  put(bytes: number, removes: boolean): void {
    this.#put += bytes + recordBytes
    if (this.#put > this.#known) this.#look(removes ? leastBytes : reserveBytes)
  }

  #look(least: number): void {
    const left = this.#free() - this.#put
    if (left < least) {
      // A look soon after must not say otherwise.
      this.#lookedAt = Number.NEGATIVE_INFINITY
      throw Object.assign(new Error('too little space is free'), { code: 'ENOSPC' })
    }
    this.#known = this.#put + Math.max(0, left - reserveBytes) / 2
  }

  /** What cannot be asked is no reason to refuse a write. */
  #free(): number {
    try {
      return this.#freeBytes(this.#folder)
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }
}

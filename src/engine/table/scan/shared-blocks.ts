/** Bytes of a block: a fragment's column of 64 bits. */
const blockBytes = 8 << 20

/** Smaller memory is not reused: a new allocation is as fast. */
const smallest = 64 * 1024

/**
 * A few blocks of memory that a thread reuses to make files, while another thread writes them. New memory for each file
 * would come from the system page by page, and cause garbage collections in both threads. Together that takes longer
 * than computing the values.
 */
export class SharedBlocks {
  readonly #free: SharedArrayBuffer[] = []
  #left: number

  /** At most `most` blocks; each is allocated on first use. */
  constructor(most: number) {
    this.#left = most
  }

  static bytes(blocks: number): number {
    return blocks * blockBytes
  }

  /** A block that begins with `bytes` zeros; undefined if none is free, or if `bytes` does not suit a block. */
  take(bytes: number): SharedArrayBuffer | undefined {
    if (bytes < smallest || bytes > blockBytes) return undefined
    const free = this.#free.pop()
    if (free !== undefined) {
      // Filling shared memory by bytes takes eight times as long as by 64-bit values.
      new Float64Array(free, 0, Math.ceil(bytes / 8)).fill(0)
      return free
    }
    if (this.#left === 0) return undefined
    this.#left--
    return new SharedArrayBuffer(blockBytes)
  }

  /** Returns blocks that are free again. */
  give(blocks: Iterable<SharedArrayBuffer>): void {
    this.#free.push(...blocks)
  }
}

/** The shared memory that some arrays use. */
export function sharedMemoryOf(parts: readonly Uint8Array[]): Set<SharedArrayBuffer> {
  const shared = new Set<SharedArrayBuffer>()
  for (const { buffer } of parts) if (buffer instanceof SharedArrayBuffer) shared.add(buffer)
  return shared
}

/** Bytes of a block: those of a fragment's column of 64 bits. */
const blockBytes = 8 << 20

/** Less memory is made anew, which takes no longer. */
const smallest = 64 * 1024

/**
 * A few blocks of memory that a thread makes files in, again and again, while another one writes them. New memory for
 * each file would come from the system page by page, and would have collectors of garbage run in both threads: together
 * that takes longer than to make the values.
 */
export class SharedBlocks {
  readonly #free: SharedArrayBuffer[] = []
  #left: number

  /** At most so many blocks; none is made before it is needed. */
  constructor(most: number) {
    this.#left = most
  }

  /** The bytes of so many blocks. */
  static bytes(blocks: number): number {
    return blocks * blockBytes
  }

  /** A block that begins with so many zeros; undefined when none is free, or when it is not of that size. */
  take(bytes: number): SharedArrayBuffer | undefined {
    if (bytes < smallest || bytes > blockBytes) return undefined
    const free = this.#free.pop()
    if (free !== undefined) {
      // Shared memory is filled value by value: by bytes it would take eight times as long.
      new Float64Array(free, 0, Math.ceil(bytes / 8)).fill(0)
      return free
    }
    if (this.#left === 0) return undefined
    this.#left--
    return new SharedArrayBuffer(blockBytes)
  }

  /** Takes blocks back that nobody uses any more. */
  give(blocks: Iterable<SharedArrayBuffer>): void {
    this.#free.push(...blocks)
  }
}

/** The shared memory that some arrays lie in. */
export function sharedMemoryOf(parts: readonly Uint8Array[]): Set<SharedArrayBuffer> {
  const shared = new Set<SharedArrayBuffer>()
  for (const { buffer } of parts) if (buffer instanceof SharedArrayBuffer) shared.add(buffer)
  return shared
}

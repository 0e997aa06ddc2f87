import type { QueryOptions } from '../table-engine.ts'

/** The memory that a query holds for the current fragment. */
export class HeldMemory {
  bytes = 0
  readonly #memory: QueryOptions['memory']

  constructor(memory: QueryOptions['memory']) {
    this.#memory = memory
  }

  get isCounted(): boolean {
    return this.#memory !== undefined
  }

  take(bytes: number): Promise<void> | undefined {
    this.bytes += bytes
    return this.#memory?.take(bytes)
  }

  give(bytes: number): void {
    this.bytes -= bytes
    this.#memory?.give(bytes)
  }
}

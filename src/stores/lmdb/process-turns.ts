import { createHash } from 'node:crypto'
import { keyedQueue } from '../../base/scheduling/keyed-queue.ts'
import { runTurn } from '../../base/scheduling/run-turn.ts'
import { performance } from '../../base/time.ts'
import { type Area, FairLock, type FairLockLayout, type FileLock } from './file-lock.ts'

/** A name's hash is its slot: a byte of `locks`, and a part of `queues`. Names of one slot share their turns. */
const locks: Area = { name: '-turns', start: 2 ** 52 + 2 ** 47 }
const queues: Area = { name: '-turns-queue', start: 2 ** 52 + 2 ** 48 }
const slotCount = 2 ** 12
const queueBytes = 2 ** 38

/** The names of the areas, where each is a file of its own. */
export const turnFiles: readonly string[] = [locks.name, queues.name]

/** How long a process waits for its turns, in milliseconds. Then it goes on without the missing ones. */
const waitMillis = 10_000

/**
 * Turns of processes by name, in the order of the requests. The kernel holds each as a lock of a file's byte, so the
 * turn of a process ends when the process dies.
 */
export class ProcessTurns {
  readonly #file: FileLock
  /** Locks of one open file do not exclude each other. So stores of one thread queue before they take a turn. */
  readonly #inOrder = keyedQueue()
  /** The slots where this thread has a turn, or waits for one. */
  readonly #own = new Set<number>()

  constructor(file: FileLock) {
    this.#file = file
  }

  async run<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const until = performance.now() + waitMillis
    // Names may share a slot. All processes take slots in the same order, which avoids deadlocks.
    const slots = [...new Set(names.map((name) => this.#slotOf(name)))].sort((a, b) => a - b)
    const ends: (() => void)[] = []
    for (const slot of slots) ends.push(await this.#take(slot, until))
    return runTurn(work, () => {
      for (const end of ends) end()
    })
  }

  isTaken(name: string): boolean {
    const slot = this.#slotOf(name)
    const lock = this.#lockAt(slot)
    return this.#own.has(slot) || lock.isHeld() || lock.isWanted()
  }

  /** Waits for a turn until a time. Resolves to a function that ends the turn. */
  #take(slot: number, until: number): Promise<() => void> {
    return new Promise((resolve) => {
      void this.#inOrder(String(slot), async () => {
        const lock = this.#lockAt(slot)
        this.#own.add(slot)
        const isTaken = await lock.acquireWithin(until - performance.now()).catch(() => false)
        await new Promise<void>((end) => resolve(end))
        this.#own.delete(slot)
        if (isTaken) lock.release()
      })
    })
  }

  #slotOf(name: string): number {
    if (!this.#file.hasRanges) return 0
    return createHash('sha256').update(name).digest().readUInt32BE() % slotCount
  }

  #lockAt(slot: number): FairLock {
    const at: FairLockLayout = {
      lock: { ...locks, start: locks.start + slot },
      queue: { ...queues, start: queues.start + slot * queueBytes },
      queueBytes,
    }
    return new FairLock(this.#file, at)
  }
}

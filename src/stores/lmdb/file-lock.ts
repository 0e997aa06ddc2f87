import { closeSync, existsSync, fstatSync, openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { unsupported } from '../../base/errors.ts'
import { nextTurn, performance, sleep } from '../../base/time.ts'
import { identityOf } from './presence.ts'

/** The used part of the `fs-native-extensions` addon. `tryLock` fails with `EAGAIN` for a conflicting lock. */
interface Addon {
  tryLock(file: number, start: number, length: number, exclusive: boolean): void
  unlock(file: number, start: number, length: number): void
}

let addon: Addon | undefined

/**
 * A file whose byte ranges can be locked: by OFD locks on Linux, by `LockFileEx` on Windows. A lock belongs to one open
 * file, so threads of one process exclude each other too. The kernel drops the lock when the process dies. macOS locks
 * whole files only, so there each area has its own file.
 */
export class FileLock {
  readonly path: string
  /** Whether ranges of bytes can be locked; otherwise only whole files. */
  readonly hasRanges: boolean
  readonly #addon: Addon
  readonly #canWrite: boolean
  /** The file itself, and those of areas. */
  readonly #main: number
  readonly #files = new Map<string, number>()

  /** Opens the file. With `canWrite`, creates it when it is missing. */
  constructor(path: string, { canWrite = true, hasRanges = process.platform !== 'darwin' } = {}) {
    this.path = path
    this.hasRanges = hasRanges
    this.#canWrite = canWrite
    this.#addon = loadAddon()
    this.#main = this.#fileOf('')
  }

  /** Locks bytes of an area, exclusively or shared. False when a conflicting lock is held. */
  tryLock(area: Area, start: number, length: number, { shared = false } = {}): boolean {
    const [file, first, count] = this.#rangeOf(area, start, length)
    try {
      this.#addon.tryLock(file, first, count, !shared)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
      throw error
    }
  }

  unlock(area: Area, start: number, length: number): void {
    this.#addon.unlock(...this.#rangeOf(area, start, length))
  }

  /** Whether another holder has an exclusive lock on any of these bytes; with `shared` false, any lock. */
  isLocked(area: Area, start: number, length: number, { shared = true } = {}): boolean {
    if (!this.tryLock(area, start, length, { shared })) return true
    this.unlock(area, start, length)
    return false
  }

  get isEmpty(): boolean {
    return fstatSync(this.#main).size === 0
  }

  /** The device and inode of the locked file. */
  get identity(): string | undefined {
    return identityOf(this.#main)
  }

  /** Writes through the locked file: Windows refuses writes of any other. */
  write(text: string): void {
    writeSync(this.#main, text)
  }

  /** Drops all locks. */
  close(): void {
    for (const file of this.#files.values()) closeSync(file)
    this.#files.clear()
  }

  #rangeOf(area: Area, start: number, length: number): [file: number, start: number, length: number] {
    return this.hasRanges ? [this.#main, area.start + start, length] : [this.#fileOf(area.name), 0, 0]
  }

  #fileOf(name: string): number {
    let file = this.#files.get(name)
    if (file === undefined) {
      file = openSync(this.path + name, this.#canWrite ? 'a+' : 'r')
      this.#files.set(name, file)
    }
    return file
  }
}

/** A range of bytes for one purpose. */
export interface Area {
  /** The suffix of its file's name, where only whole files can be locked. */
  readonly name: string
  /** Its first byte, in a file with ranges. Locks may be beyond the end of the file. */
  readonly start: number
}

function loadAddon(): Addon {
  addon ??= findAddon()
  return addon
}

/**
 * Loads the package's binary for this platform. The package's own search for the binary takes 20 ms, so it is only
 * used when the binary is not in the usual folder.
 */
function findAddon(): Addon {
  const require = createRequire(import.meta.url)
  try {
    const folder = dirname(require.resolve('fs-native-extensions'))
    const binary = join(
      folder,
      'prebuilds',
      `${process.platform}-${process.arch}`,
      'fs-native-extensions.node',
    )
    return existsSync(binary) ? require(binary) : require(join(folder, 'binding.js'))
  } catch (cause) {
    throw unsupported(
      `A catalog on disk needs file locks, and the package fs-native-extensions has none for ${process.platform}-${process.arch}.`,
      'Install it, or keep the catalog in memory or behind HTTP.',
      { cause },
    )
  }
}

/** The first waiter polls this often at every turn of the event loop, and every `firstMillis` later. */
const fastPolls = 10
export const firstMillis = 1
/** Other waiters poll less often, so that many waiters leave the processors to the holder of the lock. */
const othersMillis = 5

/**
 * When a waiter finds the lock free in more consecutive polls, it takes the lock before the waiters ahead. Polls are
 * counted, not time: where the event loop is late, the waiters ahead are late, too.
 */
const overtakePolls = 6

/** The bytes of a lock in its file. */
export interface FairLockLayout {
  /** Its holder locks this byte. */
  readonly lock: Area
  /** Each waiter locks one of these bytes, in the order of arrival. */
  readonly queue: Area
  readonly queueBytes: number
}

/**
 * A mutex for all processes and threads that have a file open. The kernel holds the lock, so it never outlives its
 * holder. Waiters get the lock in the order of arrival (on macOS in any order), or fail at their timeout.
 *
 * Locks of one open file never exclude each other, and testing a lock drops it. So a thread must not wait twice at the
 * same time on one instance. It must not test the queue while it waits, nor the lock while it holds it.
 */
export class FairLock {
  readonly #file: FileLock
  readonly #layout: FairLockLayout

  constructor(file: FileLock, layout: FairLockLayout) {
    this.#file = file
    this.#layout = layout
  }

  /** Takes the lock, unless it is held or another waiter wants it. */
  tryAcquire(): boolean {
    return !this.isWanted() && this.tryRetake()
  }

  /** Takes the lock before all waiters, unless it is held: for a thread that released it within its turn. */
  tryRetake(): boolean {
    return this.#file.tryLock(this.#layout.lock, 0, 1)
  }

  /** Waits for the lock. False after `timeout` milliseconds. */
  async acquireWithin(timeout: number): Promise<boolean> {
    if (this.tryAcquire()) return true
    const begun = performance.now()
    const ticket = await this.#join(timeout)
    if (ticket === undefined) return false
    let free = 0
    try {
      // Without a queue, a pause gives earlier waiters the first chance.
      if (!this.#file.hasRanges) await this.#pause(0)
      for (let poll = 0; ; poll++) {
        // A waiter ahead may be a stopped process, which must not block the others.
        const isNext = this.#isFirst(ticket) || free > overtakePolls
        if (isNext && this.tryRetake()) return true
        free = this.#file.isLocked(this.#layout.lock, 0, 1) ? 0 : free + 1
        if (performance.now() - begun > timeout) return false
        await this.#pause(isNext ? poll : undefined)
      }
    } finally {
      this.#file.unlock(this.#layout.queue, ticket, 1)
    }
  }

  /** Takes the lock before all waiters, and blocks the thread meanwhile. False after `timeout` milliseconds. */
  acquireBlocking(timeout: number): boolean {
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    const end = performance.now() + timeout
    while (!this.tryRetake()) {
      if (performance.now() > end) return false
      Atomics.wait(sleeper, 0, 0, 1)
    }
    return true
  }

  release(): void {
    this.#file.unlock(this.#layout.lock, 0, 1)
  }

  /** Whether another process or thread waits for the lock. */
  isWanted(): boolean {
    const { queue, queueBytes } = this.#layout
    return this.#file.isLocked(queue, 0, queueBytes, { shared: this.#file.hasRanges })
  }

  /** Whether another process or thread has the lock. */
  isHeld(): boolean {
    return this.#file.isLocked(this.#layout.lock, 0, 1)
  }

  /** Joins the queue's end. The ticket is the monotonic clock, which all processes of a machine share. */
  async #join(timeout: number): Promise<number | undefined> {
    const { queue, queueBytes } = this.#layout
    const begun = performance.now()
    let ticket = Number(process.hrtime.bigint() / 1000n) % (queueBytes / 2)
    // A process that tests for waiters locks the whole queue for a moment, and may be stopped in this moment.
    for (
      let poll = 0;
      !this.#file.tryLock(queue, ticket, 1, { shared: !this.#file.hasRanges });
      poll++, ticket++
    ) {
      if (performance.now() - begun > timeout) return undefined
      if (poll >= fastPolls) await sleep(firstMillis)
    }
    return ticket
  }

  #isFirst(ticket: number): boolean {
    return !this.#file.hasRanges || ticket === 0 || !this.#file.isLocked(this.#layout.queue, 0, ticket)
  }

  #pause(poll: number | undefined): Promise<unknown> {
    if (poll === undefined) return sleep(othersMillis)
    if (!this.#file.hasRanges) return sleep(firstMillis + Math.random() * othersMillis)
    return poll < fastPolls ? nextTurn() : sleep(firstMillis)
  }
}

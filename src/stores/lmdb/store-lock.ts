import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { threadId } from 'node:worker_threads'
import { CatalogError } from '../../base/errors.ts'
import { performance, sleep } from '../../base/time.ts'
import { type Area, FairLock, type FileLock, firstMillis } from './file-lock.ts'
import { identityOf } from './presence.ts'
import { ProcessTurns } from './process-turns.ts'

/** Each thread with an open store locks a byte of `users`, and one of `writers` when it may write. */
const users: Area = { name: '-users', start: 2 ** 44 }
const writers: Area = { name: '-writers', start: 2 ** 45 }
const usersBytes = 2 ** 44
const threadsPerProcess = 2 ** 20

/** The mutex for opening, closing and committing. */
const mutex = {
  lock: { name: '', start: 0 },
  queue: { name: '-queue', start: 2 ** 46 },
  queueBytes: 2 ** 52,
}

/** All locks of a store, in one file: it is itself the mutex for opening, closing and committing. Also users and turns. */
export class StoreLock extends FairLock {
  readonly turns: ProcessTurns
  readonly #file: FileLock

  constructor(file: FileLock) {
    super(file, mutex)
    this.#file = file
    this.turns = new ProcessTurns(file)
  }

  /** Waits for the lock. After `timeout` milliseconds, fails with `ServiceUnavailable`, and names the holder. */
  async acquire(timeout: number): Promise<void> {
    if (!(await this.acquireWithin(timeout))) throw await this.#busy(timeout)
  }

  /**
   * Registers this thread as a user of the store, until the lock is closed. Fails with `ServiceUnavailable` when a
   * process with the same id is registered. That one runs in another container, and LMDB cannot distinguish the two.
   */
  register(): void {
    if (!this.#file.hasRanges || this.#file.tryLock(users, thisThread(), 1)) return
    throw new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${this.#file.path}: another process with the id ${process.pid} has the catalog open, in another container, and LMDB tells processes apart by their ids. Let the containers share one process namespace, or reach the catalog over HTTP.`,
    )
  }

  /**
   * Registers this thread as a writer, until the lock is closed. Fails with `ServiceUnavailable` after `timeout`
   * milliseconds.
   */
  async registerWriter(timeout: number): Promise<void> {
    if (!this.#file.hasRanges) return
    const begun = performance.now()
    // A reader on a read-only medium locks the bytes of all writers during a read.
    while (!this.#file.tryLock(writers, thisThread(), 1)) {
      if (performance.now() - begun > timeout) throw await this.#busy(timeout)
      await sleep(firstMillis)
    }
  }

  /** Keeps writers from opening the store. False when a writer has it open. */
  tryExcludeWriters(): boolean {
    return this.#file.tryLock(writers, 0, usersBytes, { shared: true })
  }

  /** Undoes {@link tryExcludeWriters}. */
  admitWriters(): void {
    this.#file.unlock(writers, 0, usersBytes)
  }

  /** Fails when another directory was moved to the path: then the lock excludes no user of that directory. */
  requireInPlace(): void {
    const { path, identity } = this.#file
    if (identity === identityOf(path)) return
    throw new CatalogError(
      'ServiceUnavailable',
      `${dirname(path)} was removed or replaced while it was being opened. Open it again.`,
    )
  }

  /** Whether the lock's file is new. Only the holder of the lock reads and changes this. */
  get isNew(): boolean {
    return this.#file.isEmpty
  }

  markUsed(): void {
    this.#file.write(
      'Processes lock this file to take turns at catalog.mdb. Leave it while the catalog is in use.\n',
    )
  }

  close(): void {
    this.#file.close()
  }

  async #busy(timeout: number): Promise<CatalogError> {
    const { path } = this.#file
    const holder =
      (await lockHolder(path)) ??
      `an unknown process of another user or in another container (\`lsof ${path}\` may name it)`
    return new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${path}: waited ${timeout / 1000} s for the lock, which ${holder} has. Continue or end that process, and try again.`,
    )
  }
}

/** The byte of this thread among all threads of all processes. */
function thisThread(): number {
  return (process.pid * threadsPerProcess + (threadId % threadsPerProcess)) % usersBytes
}

/**
 * Describes the process that holds the lock of a file's first byte: its id, its command, and whether it is stopped.
 * Undefined when the kernel does not report it: on other systems than Linux, and for processes of other users or in
 * other containers. Source of the format: proc_pid_fdinfo(5).
 */
async function lockHolder(path: string): Promise<string | undefined> {
  const { ino } = await stat(path).catch(() => ({ ino: undefined }))
  const held = new RegExp(
    `^lock:\\s+\\d+: OFDLCK\\s+\\S+\\s+(\\S+)\\s+-?\\d+\\s+\\S+:${ino}\\s+(\\d+)\\s`,
    'gm',
  )
  let stopped: string | undefined
  for (const id of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(id)) continue
    const locks = await locksOf(id, held)
    if (locks.some(([, mode, first]) => mode === 'WRITE' && first === '0')) return describe(id)
    // A process that was stopped while it polled keeps a lock that was meant for a moment.
    if (locks.length > 0 && (await isStopped(id))) stopped = id
  }
  return stopped && describe(stopped)
}

async function locksOf(id: string, held: RegExp): Promise<RegExpExecArray[]> {
  const folder = `/proc/${id}/fdinfo`
  const locks: RegExpExecArray[] = []
  // The file may be closed, or the process may end, between two reads.
  for (const file of await readdir(folder).catch(() => [])) {
    locks.push(...(await readFile(`${folder}/${file}`, 'utf8').catch(() => '')).matchAll(held))
  }
  return locks
}

async function isStopped(id: string): Promise<boolean> {
  return /^State:\s+[Tt]\b/m.test(await readFile(`/proc/${id}/status`, 'utf8').catch(() => ''))
}

async function describe(id: string): Promise<string> {
  const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')
  const words = command.replace(/\0+$/, '').split('\0').join(' ').slice(0, 120)
  return `process ${id}${words && ` (${words})`}${(await isStopped(id)) ? ', which is stopped' : ''}`
}

import { type FileHandle, open } from 'node:fs/promises'
import { nextTurn, sleep, wallClock } from '../base/time.ts'
import type { RefusedRequest } from '../server/index.ts'
import { type Catalog, CatalogError, type CommittedChange } from '../tabularium/index.ts'

/** The delay before a failed read or write is tried again, in milliseconds. */
const retryMillis = 1_000

/** The most lines in the queue. Further refusals are only counted, and changes stay in the feed. */
const maxWaiting = 1_000

/** How long `close` waits for the last lines, in milliseconds. */
const drainMillis = 5_000

/**
 * Writes commits and refused requests as lines of JSON. Commits come from the change feed, and a new process resumes after
 * the last token in the file. So a crash between a commit and its line loses nothing.
 */
export class AuditLog {
  readonly #catalog: Catalog
  readonly #file: AuditFile
  readonly #warn: (message: string) => void
  readonly #stop = new AbortController()
  #token: string
  #lines: string[] = []
  #omitted = 0
  #isBroken = false
  #writing: Promise<void> | undefined
  #isReopenDue = false
  #following: Promise<void> = Promise.resolve()

  private constructor(catalog: Catalog, file: AuditFile, token: string, warn: (message: string) => void) {
    this.#catalog = catalog
    this.#file = file
    this.#token = token
    this.#warn = warn
  }

  /** Opens the log and resumes after the last token in its file. A new file begins with the current token. */
  static async open(catalog: Catalog, path: string, warn: (message: string) => void): Promise<AuditLog> {
    const { file, lastToken } = await AuditFile.open(path)
    try {
      const log = new AuditLog(catalog, file, lastToken ?? (await catalog.watch().token()), warn)
      // A server whose log cannot be written at all must not start.
      await file.append(lineOf({ event: 'opened', token: log.#token })).catch((cause: Error) => {
        throw new CatalogError(
          'ServiceUnavailable',
          `The audit log ${path} cannot be written (${cause.message}). Make room, or name another file.`,
          { cause },
        )
      })
      log.#following = log.#follow()
      return log
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Whether the last write failed. Lines then stay in the queue. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Logs a request that was refused because of its sender. */
  refused({ requestId, remoteAddress, ...refused }: RefusedRequest): void {
    if (this.#lines.length >= maxWaiting) this.#omitted++
    else this.#add({ event: 'refused', request_id: requestId, remote_address: remoteAddress, ...refused })
  }

  /** Continues in a new file at the same path, after a log rotation. */
  reopen(): void {
    this.#isReopenDue = true
    this.#startWriting()
  }

  /** Logs everything that is committed so far, unless that takes longer than `drainMillis`, and closes the file. */
  async close(): Promise<void> {
    const until = wallClock() + drainMillis
    const end = await this.#catalog
      .watch()
      .token()
      .catch(() => undefined)
    while (end !== undefined && this.#token !== end && !this.#isBroken && wallClock() < until) await sleep(10)
    this.#stop.abort()
    await this.#following
    await this.#flushed()
    await this.#file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        for await (const change of this.#catalog.watch({ since: this.#token, signal })) {
          this.#logChange(change)
          if (this.#lines.length >= maxWaiting || this.#isBroken) await this.#flushed()
        }
        return
      } catch (error) {
        if (signal.aborted) return
        await this.#readFailed(error).catch(() => {})
        await sleep(retryMillis, { signal }).catch(() => {})
      }
    }
  }

  #logChange({
    token,
    timestamp_millis,
    transaction_id,
    principal,
    request_id,
    changes,
  }: CommittedChange): void {
    const time = new Date(timestamp_millis).toISOString()
    this.#add({ event: 'change', committed_at: time, principal, request_id, transaction_id, changes, token })
    this.#token = token
  }

  async #readFailed(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error)
    this.#warn(`the audit log cannot read changes: ${message}`)
    if (!(error instanceof CatalogError) || error.code !== 'TransactionNotFound') return
    // The feed no longer has the changes in between. The log records the gap and continues.
    this.#token = await this.#catalog.watch().token()
    this.#add({ event: 'gap', message, token: this.#token })
  }

  #add(line: Readonly<Record<string, unknown>>): void {
    this.#lines.push(lineOf(line))
    this.#startWriting()
  }

  #startWriting(): void {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  async #flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Writes the whole queue at once, until it is empty. */
  async #write(): Promise<void> {
    // Lines of one event loop turn share one sync.
    await nextTurn()
    while (this.#lines.length > 0 || this.#isReopenDue) {
      try {
        if (this.#isReopenDue) {
          await this.#file.reopen()
          this.#isReopenDue = false
          this.#lines.push(lineOf({ event: 'opened', token: this.#token }))
        }
        const lines = this.#lines.splice(0)
        try {
          await this.#file.append(lines.join(''))
        } catch (error) {
          this.#lines.unshift(...lines)
          throw error
        }
        if (this.#omitted > 0) {
          this.#lines.push(lineOf({ event: 'omitted', refused: this.#omitted }))
          this.#omitted = 0
        }
        this.#isBroken = false
      } catch (error) {
        if (!this.#isBroken)
          this.#warn(`the audit log ${this.#file.path} cannot be written: ${(error as Error).message}`)
        this.#isBroken = true
        if (this.#stop.signal.aborted) return
        await sleep(retryMillis, { signal: this.#stop.signal }).catch(() => {})
      }
    }
  }
}

function lineOf(line: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ time: new Date(wallClock()).toISOString(), ...line })}\n`
}

/** The most bytes at the end of a file that are searched for the last token. The longest line fits. */
const maxTail = 256 * 1024 * 1024
const firstTail = 64 * 1024

/** An append-only file of lines. A line is written whole, or not at all. */
export class AuditFile {
  readonly path: string
  #file: FileHandle

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  /** Opens a file, or creates one that only its owner may read. Truncates a partial line that a crash left. */
  static async open(path: string): Promise<{ file: AuditFile; lastToken: string | undefined }> {
    const file = await openToAppend(path)
    try {
      const { size } = await file.stat()
      const { whole, lastToken } = await readEnd(file, size)
      if (whole < size) await file.truncate(whole)
      return { file: new AuditFile(path, file), lastToken }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Appends lines and syncs them. After a failure the file holds none of them. */
  async append(lines: string): Promise<void> {
    // Read each time, because another server or a tool for log rotation may have changed it.
    const { size } = await this.#file.stat()
    try {
      await this.#file.appendFile(lines)
      await this.#file.datasync()
    } catch (error) {
      await this.#file.truncate(size).catch(() => {})
      throw error
    }
  }

  /** Opens the path again after a log rotation renamed the old file. */
  async reopen(): Promise<void> {
    const file = await openToAppend(this.path)
    const before = this.#file
    this.#file = file
    await before.close()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  try {
    // O_APPEND: two servers with the same file do not overwrite each other's lines.
    return await open(path, 'a+', 0o600)
  } catch (cause) {
    throw new CatalogError(
      'InvalidInput',
      `The audit log ${path} cannot be opened (${(cause as NodeJS.ErrnoException).code}). Check the folder and its permissions.`,
      { cause },
    )
  }
}

/** The size of all complete lines in bytes, and the token of the last line that has one. */
async function readEnd(
  file: FileHandle,
  size: number,
): Promise<{ whole: number; lastToken: string | undefined }> {
  if (size === 0) return { whole: 0, lastToken: undefined }
  for (let length = Math.min(size, firstTail); ; length = Math.min(size, length * 16)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const end = buffer.lastIndexOf('\n') + 1
    const lines = buffer.toString('utf8', 0, end).split('\n')
    // The first piece may be the end of a longer line.
    if (length < size) lines.shift()
    const lastToken = lines.map(tokenIn).findLast((token) => token !== undefined)
    const isAll = length >= Math.min(size, maxTail)
    if ((lastToken !== undefined && end > 0) || isAll)
      return { whole: end === 0 && length < size ? size : size - length + end, lastToken }
  }
}

function tokenIn(line: string): string | undefined {
  try {
    const { token } = JSON.parse(line) as { token?: unknown }
    return typeof token === 'string' ? token : undefined
  } catch {
    return undefined
  }
}

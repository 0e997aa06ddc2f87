import { nextTurn, sleep, wallClock } from '../base/time.ts'
import type { RefusedRequest } from '../server/index.ts'
import { type Catalog, CatalogError, type CommittedChange } from '../tabularium/index.ts'
import { AuditFile } from './audit-file.ts'

/** How long to wait before the next try to write, or to read. */
const patienceMillis = 1_000

/** Lines that wait to be written. More refusals are only counted, and changes stay in the feed. */
const mostWaiting = 1_000

/** How long the end of a server waits for the last lines, in milliseconds. */
const drainMillis = 5_000

/**
 * Writes what is committed, and what was refused, as lines of JSON. Changes come from the change feed: a change is there
 * before its line, and its line comes even if the process ends in between. The next one goes on behind the last token
 * of the file.
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
  #reopens = false
  #following: Promise<void> = Promise.resolve()

  private constructor(catalog: Catalog, file: AuditFile, token: string, warn: (message: string) => void) {
    this.#catalog = catalog
    this.#file = file
    this.#token = token
    this.#warn = warn
  }

  /** Opens the log, and goes on where its file ends; a new file begins now. */
  static async open(catalog: Catalog, path: string, warn: (message: string) => void): Promise<AuditLog> {
    const { file, lastToken } = await AuditFile.open(path)
    try {
      const log = new AuditLog(catalog, file, lastToken ?? (await catalog.watch().token()), warn)
      // Where nothing can be written from the beginning, the server should not begin.
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

  /** Whether lines wait because they cannot be written. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Notes a request that was refused for who sent it. */
  refused({ requestId, remoteAddress, ...refused }: RefusedRequest): void {
    if (this.#lines.length >= mostWaiting) this.#omitted++
    else this.#add({ event: 'refused', request_id: requestId, remote_address: remoteAddress, ...refused })
  }

  /** Goes on in a new file under the same name, after the other one was given another name. */
  reopen(): void {
    this.#reopens = true
    this.#begin()
  }

  /** Writes what is committed by now, if that can be done soon. */
  async close(): Promise<void> {
    const until = wallClock() + drainMillis
    const end = await this.#catalog
      .watch()
      .token()
      .catch(() => undefined)
    while (end !== undefined && this.#token !== end && !this.#isBroken && wallClock() < until) await sleep(10)
    this.#stop.abort()
    await this.#following
    await this.#settled()
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
          this.#changed(change)
          if (this.#lines.length >= mostWaiting || this.#isBroken) await this.#settled()
        }
        return
      } catch (error) {
        if (signal.aborted) return
        await this.#readFailed(error).catch(() => {})
        await sleep(patienceMillis, { signal }).catch(() => {})
      }
    }
  }

  #changed({
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
    // What lies between is gone for good. The log says so, and goes on.
    this.#token = await this.#catalog.watch().token()
    this.#add({ event: 'gap', message, token: this.#token })
  }

  #add(line: Readonly<Record<string, unknown>>): void {
    this.#lines.push(lineOf(line))
    this.#begin()
  }

  #begin(): void {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  async #settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Writes what waits, all of it at once, until nothing does. */
  async #write(): Promise<void> {
    // What comes in one turn of the event loop shares a sync.
    await nextTurn()
    while (this.#lines.length > 0 || this.#reopens) {
      try {
        if (this.#reopens) {
          await this.#file.reopen()
          this.#reopens = false
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
        await sleep(patienceMillis, { signal: this.#stop.signal }).catch(() => {})
      }
    }
  }
}

function lineOf(line: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ time: new Date(wallClock()).toISOString(), ...line })}\n`
}

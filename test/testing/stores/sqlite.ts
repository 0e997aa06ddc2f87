import { setTimeout as sleep } from 'node:timers/promises'
import sqlite from 'node-sqlite3-wasm'
import {
  CatalogError,
  checkedKey,
  type Entry,
  type Key,
  type Range,
  type Store,
  spanOf,
  type Value,
  type Writer,
} from 'tabularium'
import { decodeKey, encodeCut, encodeKey } from './key-bytes.ts'

/** How long a transaction waits for those of other processes, in milliseconds. */
const patience = 5_000

/** A store in one SQLite file. A write is synced before it resolves, unless it need not be durable. */
export async function openSqliteStore(file: string, { durable = true } = {}): Promise<Store> {
  const db = new sqlite.Database(file)
  // A persistent journal saves the sync of its folder at each commit.
  db.exec(`PRAGMA journal_mode = PERSIST; PRAGMA synchronous = ${durable ? 'FULL' : 'OFF'}`)
  await whenFree(() =>
    db.exec('CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID'),
  )
  let inside = false
  let closed = false

  /** One synchronous transaction. */
  function once<T>(begin: string, body: (access: Writer) => T): T {
    if (closed) throw new CatalogError('ServiceUnavailable', 'The store is closed: open it again.')
    if (inside) throw misuse('A transaction was begun inside the body of another')
    db.exec(begin)
    inside = true
    const access = new Access(db)
    try {
      const result = body(access)
      if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
        Promise.resolve(result).catch(() => {})
        throw misuse('The body of a transaction returned a promise')
      }
      db.exec('COMMIT')
      return result
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK')
      throw error
    } finally {
      access.ended = true
      inside = false
    }
  }

  return {
    features: { durable, multiProcess: true, snapshots: false },
    read: async (body) => whenFree(() => once('BEGIN', body)),
    write: async (body) => whenFree(() => once('BEGIN IMMEDIATE', body)),
    close: async () => {
      if (!closed) db.close()
      closed = true
    },
  }
}

/** Reads and writes the records, until the transaction ends. */
class Access implements Writer {
  readonly #db: sqlite.Database
  ended = false

  constructor(db: sqlite.Database) {
    this.#db = db
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    const found = this.#open().get('SELECT value FROM records WHERE key = ?', [encodeKey(checkedKey(key))])
    return found ? (JSON.parse(found.value as string) as V) : undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    this.#open()
    const span = spanOf(range)
    if (!span) return []
    const from = span.lower ? encodeCut(span.lower) : new Uint8Array(0)
    const to = span.upper ? encodeCut(span.upper) : Uint8Array.of(0xff)
    const most = Number.isFinite(span.limit) ? span.limit : -1
    const order = span.reverse ? 'DESC' : 'ASC'
    const sql = `SELECT key, value FROM records WHERE key >= ? AND key < ? ORDER BY key ${order} LIMIT ?`
    const walk = () => this.#walk<V>(sql, [from, to, most])
    return { [Symbol.iterator]: walk }
  }

  put(key: Key, value: Value): void {
    const bytes = encodeKey(checkedKey(key))
    this.#open().run('INSERT OR REPLACE INTO records VALUES (?, ?)', [bytes, JSON.stringify(value)])
  }

  remove(key: Key): void {
    this.#open().run('DELETE FROM records WHERE key = ?', [encodeKey(checkedKey(key))])
  }

  *#walk<V extends Value>(sql: string, bounds: [Uint8Array, Uint8Array, number]): Generator<Entry<V>> {
    for (const { key, value } of this.#open().all(sql, bounds)) {
      this.#open()
      yield {
        key: decodeKey(key as unknown as Uint8Array),
        value: JSON.parse(value as unknown as string) as V,
      }
    }
    this.#open()
  }

  #open(): sqlite.Database {
    if (this.ended) throw misuse('A reader or writer was used after its transaction ended')
    return this.#db
  }
}

function misuse(what: string): CatalogError {
  return new CatalogError('Internal', `${what}: do all reading and writing inside one synchronous body.`)
}

/** Retries work while another process holds the lock. */
async function whenFree<T>(run: () => T): Promise<T> {
  for (const until = Date.now() + patience; ; await sleep(2)) {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof Error) || !/database is locked/.test(error.message)) throw error
      if (Date.now() > until) {
        throw new CatalogError('ServiceUnavailable', 'Another process holds the store. Try again.', {
          cause: error,
        })
      }
    }
  }
}

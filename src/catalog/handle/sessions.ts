import { CatalogError, invalid } from '../../base/errors.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { keys, type LostRaces, type SessionServer, type TransactionRecord } from '../../base/store/records.ts'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import { beginsOrEnds, nested } from '../operations/framework/inside.ts'
import type {
  AnyOperation,
  OperationContext,
  OperationOptions,
  SessionOwner,
  Sessions,
} from '../operations/framework/operation.ts'
import { recordLapses } from '../transactions/lapsed.ts'
import { runLong } from '../transactions/long-transaction.ts'
import { hasLapsed, isFinished, transactionNotFound } from '../transactions/transaction-record.ts'
import type { HeldSessions } from './core.ts'
import { Session } from './session.ts'
import {
  committed,
  doneAlready,
  expired,
  noRoom,
  notOpen,
  serverGone,
  staysCommitted,
  stillOpen,
  tooMany,
} from './session-errors.ts'
import type { SessionLimits } from './session-limits.ts'
import { aboutTransaction } from './transaction-run.ts'
import { TurnShares } from './turn-shares.ts'

type Given = Parameters<Sessions['begin']>[1]

/** The transactions that are open in this process. The outcome of others is in their records. */
export class OpenSessions implements HeldSessions {
  readonly #core: OperationContext
  readonly #limits: SessionLimits
  readonly #open = new Map<string, Session>()
  readonly #shares = new TurnShares()
  #isClosed = false

  constructor(core: OperationContext, limits: SessionLimits) {
    this.#core = core
    this.#limits = limits
  }

  async begin(owner: SessionOwner, given: Given): ReturnType<Sessions['begin']> {
    const { retryOf } = given
    if (retryOf === undefined) return this.#begin(owner, given)
    this.#requireFree(owner)
    return this.#begin(owner, given, await this.#takeLostRaces(retryOf, owner))
  }

  #begin(
    owner: SessionOwner,
    { idleSeconds = this.#limits.idleSeconds, isolation, properties, server, signal: caller }: Given,
    before?: LostRaces,
  ): ReturnType<Sessions['begin']> {
    if (this.#isClosed) throw new CatalogError('ServiceUnavailable', closedBefore)
    this.#requireFree(owner)
    const core = this.#core
    const idle = idleSeconds * 1_000
    const stop = new AbortController()
    const more = { properties, session: { ...(owner !== undefined && { owner }), ...(server && { server }) } }
    const made: { session?: Session } = {}
    const onUnrecorded = (error: unknown) => {
      if (made.session) made.session.unrecorded = error
    }
    const atFailure = () => {
      const lost = made.session?.lost
      return lost ? { lost } : {}
    }
    const about = { ...aboutTransaction, more, atFailure, onUnrecorded }
    return new Promise((resolve, reject) => {
      const done = runLong(core, { signal: stop.signal }, about, async (transaction, { signal }) => {
        const { id } = transaction
        const requireRoom = (bytes: number) => this.#requireRoom(id, owner, bytes)
        const session = new Session({
          core,
          transaction,
          owner,
          idle,
          isolation,
          before,
          share: this.#shares.of(owner),
          signal: signal!,
          stop,
          requireRoom,
        })
        made.session = session
        this.#open.set(id, session)
        let unwatch = () => {}
        try {
          await transaction.recorded
          await session.takeTurns(caller)
          unwatch = watch(session)
          resolve({ id, idleSeconds })
          await session.ended
        } catch (error) {
          await session.letGo(error as Error)
          throw error
        } finally {
          unwatch()
        }
      })
      // It counts from now on: `runLong` starts its work at once.
      const { session } = made
      const recorded = done.catch(reject).finally(() => session && this.#open.delete(session.id))
      if (session) session.recorded = recorded
    })
  }

  async run(
    id: string,
    owner: SessionOwner,
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
  ): Promise<unknown> {
    if (operation.name === 'beginTransaction') throw nested()
    if (beginsOrEnds(operation.name)) {
      throw invalid(
        `${operation.name} of one transaction came inside of the transaction ${id}. Leave the option or header out.`,
      )
    }
    const session = await this.#find(id, owner)
    if (session) return session.run(operation, request, options)
    throw await this.refusal(id, owner)
  }

  async refusal(id: string, owner: SessionOwner): Promise<CatalogError> {
    const record = await this.#recordOf(id, owner)
    return record.status === 'Succeeded' ? committed(id) : notOpen(id, record)
  }

  async serverOf(id: string, owner: SessionOwner): ReturnType<HeldSessions['serverOf']> {
    if (this.#open.has(id)) return undefined
    const record = await this.#read(id)
    const { session, lease_until = 0 } = record ?? {}
    if (session?.server === undefined || session.owner !== owner) return undefined
    const now = this.#core.now()
    if (record!.status !== 'Running' || hasLapsed(record!, now)) return undefined
    return { server: session.server, leaseMillis: lease_until - now }
  }

  serverEnded(id: string, { instance }: SessionServer): Promise<void> {
    return this.#core.store.write((writer) => {
      const current = writer.get<TransactionRecord>(keys.transaction(id))
      if (current?.session?.server?.instance !== instance || isFinished(current.status)) return
      const { lease_until: _, ...rest } = current
      const finished_at = this.#core.now()
      writer.put(keys.transaction(id), { ...rest, status: 'Failed', finished_at, failure: serverGone })
    })
  }

  async commit(id: string, owner: SessionOwner): Promise<TransactionRecord | undefined> {
    const session = await this.#find(id, owner)
    if (session) {
      try {
        await session.commit()
      } finally {
        // The outcome is recorded before the caller gets it.
        if (session.hasEnded) await session.recorded
      }
    }
    // The upkeep may clear the record of a long transaction as soon as it is committed.
    const record = session ? await this.#read(id) : await this.#recordOf(id, owner)
    if (record === undefined) return undefined
    if (record.status !== 'Succeeded') throw notOpen(id, record)
    return record
  }

  async rollback(
    id: string,
    owner: SessionOwner,
    failure: TransactionRecord['failure'],
  ): Promise<TransactionRecord> {
    const session = await this.#find(id, owner)
    if (session) {
      if (failure) await session.giveUp(new CatalogError(failure.code, failure.message))
      else await session.cancel()
      await session.recorded
      // The store was retried for the full timeout already. A read of the record would take as long again.
      if (session.unrecorded !== undefined) throw session.unrecorded
    }
    const record = await this.#recordOf(id, owner)
    if (record.status === 'Succeeded') throw staysCommitted(id)
    if (record.status === 'Running') throw notOpen(id, record)
    return record
  }

  async expire(id: string): Promise<void> {
    const session = this.#open.get(id)
    if (session) await end(session, expired(session.idle))
  }

  /** Gives all of them up, and takes no further ones. */
  async close(): Promise<void> {
    this.#isClosed = true
    const error = new CatalogError('ServiceUnavailable', closedBefore)
    await Promise.all(Array.from(this.#open.values(), (session) => end(session, error)))
  }

  /** The session with an id, while it takes requests. */
  async #find(id: string, owner: SessionOwner): Promise<Session | undefined> {
    const session = this.#open.get(id)
    if (session === undefined || session.owner !== owner) return undefined
    if (session.left <= 0) await end(session, expired(session.idle))
    if (!session.hasEnded) return session
    await session.recorded
    return undefined
  }

  /** The record of a session of the caller. If its lease has ended, that is recorded first. */
  async #recordOf(id: string, owner: SessionOwner): Promise<TransactionRecord> {
    const find = async () => {
      const record = await this.#read(id)
      if (record?.session === undefined || record.session.owner !== owner) throw transactionNotFound(id)
      return record
    }
    const record = await find()
    if (!hasLapsed(record, this.#core.now())) return record
    await recordLapses(this.#core, [id])
    return find()
  }

  /**
   * Takes over the lost races of a transaction that its caller retries. They are passed on once, so that no race counts
   * twice. Fails while that one may still be committed.
   */
  async #takeLostRaces(id: string, owner: SessionOwner): Promise<LostRaces | undefined> {
    if (await this.#find(id, owner)) throw stillOpen(id)
    const { status, lost } = await this.#recordOf(id, owner)
    if (status === 'Succeeded') throw doneAlready(id)
    if (status === 'Running') throw stillOpen(id)
    if (lost === undefined) return undefined
    const key = keys.transaction(id)
    return this.#core.store.write((writer) => {
      const { lost: taken, ...rest } = writer.get<TransactionRecord>(key) ?? {}
      if (taken !== undefined) writer.put(key, rest)
      return taken
    })
  }

  #read(id: string): Promise<TransactionRecord | undefined> {
    return this.#core.store.read((reader) => reader.get<TransactionRecord>(keys.transaction(id)))
  }

  #requireFree(owner: SessionOwner): void {
    const { count, perPrincipal } = this.#limits
    let all = 0
    let own = 0
    for (const session of this.#open.values()) {
      if (session.hasEnded) continue
      all++
      if (session.owner === owner) own++
    }
    if (all >= count) throw tooMany(`There are ${count.toLocaleString('en')} open transactions`)
    if (owner === undefined) return
    if (own >= perPrincipal) throw tooMany(`You have ${perPrincipal.toLocaleString('en')} open transactions`)
  }

  #requireRoom(id: string, owner: SessionOwner, bytes: number): void {
    let all = bytes
    let own = bytes
    for (const session of this.#open.values()) {
      if (session.id === id) continue
      all += session.bytes
      if (session.owner === owner) own += session.bytes
    }
    const most = this.#limits
    if (owner !== undefined && own > most.bytesPerPrincipal)
      throw noRoom(
        `Your open transactions hold more than ${most.bytesPerPrincipal.toLocaleString('en')} bytes together`,
      )
    if (all > most.bytes)
      throw noRoom(`The open transactions hold ${most.bytes.toLocaleString('en')} bytes together`)
  }
}

const closedBefore = 'The catalog that held it was closed before its commit.'

/** Ends a session once its idle timeout has passed. Returns a function that stops the timer. */
function watch(session: Session): () => void {
  const look = () => {
    const { left } = session
    if (left <= 0) void end(session, expired(session.idle))
    else timer = unrefTimer(setTimeout(look, left))
  }
  let timer = unrefTimer(setTimeout(look, session.idle))
  return () => clearTimeout(timer)
}

async function end(session: Session, error: Error): Promise<void> {
  await session.giveUp(error)
  await session.recorded
}

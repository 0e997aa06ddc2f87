import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { snapshotUpdates } from '../rest.ts'
import type { Ledger, Outcome } from './ledger.ts'
import { mostAttempts, namespace, outcomeOf, pauseMillis, type Requests } from './requests.ts'

/** Two tables that each commit changes together. */
export interface Pair {
  readonly names: readonly [string, string]
  readonly ledger: Ledger
}

/** Commits to pairs of tables, half of the time with a key by which a lost answer is asked for again. */
export class PairWriter {
  readonly #requests: Requests
  readonly #random: () => number
  /** How often a commit with a key was sent again. */
  repeats = 0

  constructor(requests: Requests, random: () => number) {
    this.#requests = requests
    this.#random = random
  }

  async commit({ names, ledger }: Pair, marker: number): Promise<Outcome> {
    const changes = await Promise.all(names.map((name) => this.#change(name, marker)))
    const key = this.#random() < 0.5 ? randomUUID() : undefined
    ledger.begin(marker)
    const outcome = await this.#send({ 'table-changes': changes }, key)
    ledger.end(marker, outcome)
    return outcome
  }

  async #change(name: string, marker: number) {
    const metadata = await this.#requests.load(name)
    const head = metadata['current-snapshot-id']
    const isEmpty = head === -1 || head === null || head === undefined
    // Ids of Iceberg have 63 bits.
    const id = randomBytes(8).readBigUInt64BE() >> 1n
    const parent = isEmpty ? {} : { parent: head }
    const sequence = metadata['last-sequence-number'] + 1
    const summary = { marker: String(marker) }
    return {
      identifier: { namespace: [namespace], name },
      requirements: [
        { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
        { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': isEmpty ? null : head },
      ],
      updates: [
        ...snapshotUpdates(id, { ...parent, sequence, summary }),
        { action: 'set-properties', updates: summary },
      ],
    }
  }

  async #send(body: object, key: string | undefined): Promise<Outcome> {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
      const answer = await this.#requests.ask('POST', 'transactions/commit', body, headers)
      const outcome = outcomeOf(answer)
      if (key === undefined || outcome === 'acknowledged' || answer?.status === 409) return outcome
      await sleep(pauseMillis)
      this.repeats++
    }
    throw new Error('no server answers a commit with a key')
  }
}

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Catalog, connect } from '../../../src/client/index.ts'
import { HttpTransaction } from '../../catalog/lance/clients/transaction.ts'
import { randomFrom } from '../../support/bad-network.ts'
import { rowsOf } from '../../support/rows.ts'
import { snapshotUpdates } from '../rest.ts'
import { checkVersions, markersOf } from './history.ts'
import { Ledger, type Outcome } from './ledger.ts'
import type { Place } from './places.ts'
import { mostAttempts, namespace, pauseMillis, Requests, toldBy } from './requests.ts'

const lancedb = () => import('@lancedb/lancedb')

/** The tables of three formats that each transaction changes together. */
interface Triple {
  readonly arrow: string
  readonly lance: string
  readonly iceberg: string
  readonly ledger: Ledger
}

/**
 * Writers of open transactions over an Arrow, a Lance and an Iceberg table, while servers are hurt. Any server may get the
 * requests of a transaction.
 */
export class TripleRun {
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0, repeats: 0 }
  readonly #place: Place & Required<Pick<Place, 'lance'>>
  readonly #random: () => number
  #rounds = 0
  #marker = 1

  constructor({ lance, ...place }: Place, seed: number) {
    if (lance === undefined) throw new Error('The place has no tables of Lance.')
    this.#place = { ...place, lance }
    this.#random = randomFrom(seed)
  }

  async round(enough: number): Promise<void> {
    const requests = new Requests(this.#place.urls, this.#random)
    await requests.makeNamespace()
    const triples = [await this.#create(requests), await this.#create(requests)]
    const isOver = new AbortController()
    const hurting = this.#place.hurt(this.#random, isOver.signal)
    hurting.catch(() => isOver.abort())
    const acknowledged = () => triples.reduce((sum, { ledger }) => sum + ledger.counts.acknowledged, 0)
    const writing = [0, 1, 2].map(async (at) => {
      while (acknowledged() < enough && !isOver.signal.aborted)
        await this.#commit(triples[at % 2]!, this.#marker++)
    })
    await Promise.all([Promise.all(writing).finally(() => isOver.abort()), hurting])
    for (const triple of triples) await this.#check(triple, requests)
  }

  get #url(): string {
    return this.#place.urls[Math.floor(this.#random() * this.#place.urls.length)]!
  }

  /** LanceDB, whose requests have these headers. */
  async #lance(headers: Record<string, string> = {}) {
    const { connectNamespace } = await lancedb()
    return connectNamespace('rest', { uri: this.#url, headers })
  }

  get #lanceOptions() {
    return { storageOptions: this.#place.lance.storageOptions }
  }

  async #create(requests: Requests): Promise<Triple> {
    const number = this.#rounds++
    const [arrow, lance, iceberg] = [`arrow${number}`, `lance${number}`, `iceberg${number}`] as const
    await requests.create(iceberg)
    await using catalog = connect(this.#url)
    await catalog.createTable({ id: [arrow], data: [{ x: 0 }] })
    await catalog.declareTable({ id: [lance], location: `${this.#place.lance.root}/${lance}.lance` })
    await (await this.#lance()).createTable(lance, [{ x: 0 }], this.#lanceOptions)
    return { arrow, lance, iceberg, ledger: new Ledger() }
  }

  async #commit(triple: Triple, marker: number): Promise<void> {
    triple.ledger.begin(marker)
    triple.ledger.end(marker, await this.#transaction(triple, marker))
  }

  async #transaction(triple: Triple, marker: number): Promise<Outcome> {
    const url = this.#url
    await using catalog = connect(url, { retries: 0 })
    const begun = await HttpTransaction.begin(url).catch(() => undefined)
    // A server that begins to answer has no id yet.
    if (begun?.id === undefined) return sleep(pauseMillis, 'refused')
    const { id: transaction, headers } = begun
    const changes = [
      () => catalog.insertIntoTable({ id: [triple.arrow], data: [{ x: marker }] }, { transaction }),
      () => this.#addToLance(triple.lance, marker, headers),
      () => this.#addToIceberg(triple.iceberg, marker, headers),
    ]
    if (this.#random() < 0.5) changes.reverse()
    try {
      for (const change of changes) await change()
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      await begun.rollback().catch(() => {})
      return 'refused'
    }
    return this.#end(catalog, begun)
  }

  /** Commits, and asks again until there is an answer. What the record says must agree with it. */
  async #end(catalog: Catalog, begun: HttpTransaction): Promise<Outcome> {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const status = await begun.commit().catch(() => undefined)
      if (status !== undefined && status < 500) {
        assert([200, 404, 409].includes(status), `a commit is answered by ${status}`)
        const outcome = status === 200 ? 'acknowledged' : 'refused'
        const told = await catalog.describeTransaction({ id: [begun.id] }).catch(() => undefined)
        assert(told === undefined || (told.status === 'Succeeded') === (status === 200), told?.status)
        return outcome
      }
      this.counts.repeats++
      await sleep(pauseMillis)
    }
    throw new Error('no server answers a commit')
  }

  async #addToLance(name: string, marker: number, headers: Record<string, string>) {
    const table = await (await this.#lance(headers)).openTable(name, [], this.#lanceOptions)
    await table.add([{ x: marker }])
  }

  async #addToIceberg(name: string, marker: number, headers: Record<string, string>) {
    const requests = new Requests(this.#place.urls, this.#random)
    const path = `namespaces/${namespace}/tables/${name}`
    const loaded = await requests.ask('GET', path, undefined, headers)
    if (loaded?.status !== 200) throw new Error('the table cannot be loaded')
    const { metadata } = loaded.body
    const head = metadata['current-snapshot-id']
    const parent = head === -1 ? {} : { parent: head }
    const snapshot = randomBytes(8).readBigUInt64BE() >> 1n
    const sequence = metadata['last-sequence-number'] + 1
    const updates = [
      ...snapshotUpdates(snapshot, { ...parent, sequence, summary: { marker: String(marker) } }),
      { action: 'set-properties', updates: { marker: String(marker) } },
    ]
    const requirements = [
      { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': head === -1 ? null : head },
    ]
    const answer = await requests.ask('POST', path, { requirements, updates }, headers)
    if (answer?.status === 200) return
    assert(
      answer === undefined || answer.status >= 500 || [404, 409].includes(answer.status),
      answer && toldBy(answer),
    )
    throw new Error('the table cannot be changed')
  }

  async #check({ arrow, lance, iceberg, ledger }: Triple, requests: Requests): Promise<void> {
    const url = this.#url
    await using catalog = connect(url)
    const { connect: open } = await lancedb()
    const metadata = await requests.load(iceberg)
    const markers = markersOf(metadata)
    const managed = await (await this.#lance()).openTable(lance, [], this.#lanceOptions)
    const direct = await (await open(this.#place.lance.root, this.#lanceOptions)).openTable(lance)
    const rows = [
      await rowsOf(catalog, [arrow]),
      (await managed.query().toArray()) as { x: unknown }[],
      (await direct.query().toArray()) as { x: unknown }[],
    ]
    // The first row is there from the beginning.
    const sorted = rows.map((all) =>
      all
        .map(({ x }) => Number(x))
        .sort((a, b) => a - b)
        .slice(1),
    )
    ledger.check([markers.toSorted((a, b) => a - b), ...sorted])
    ledger.checkOrder(markers)
    await checkVersions(catalog, [namespace, iceberg], metadata, this.#place.read)
    for (const outcome of Object.keys(ledger.counts) as Outcome[])
      this.counts[outcome] += ledger.counts[outcome]
    for (const id of [[arrow], [lance], [namespace, iceberg]]) await catalog.dropTable({ id })
  }
}

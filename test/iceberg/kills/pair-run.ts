import { connect } from '../../../src/client/index.ts'
import { randomFrom } from '../../support/bad-network.ts'
import { checkVersions, markersOf } from './history.ts'
import { Ledger } from './ledger.ts'
import { type Pair, PairWriter } from './pair-writer.ts'
import type { Place } from './places.ts'
import { namespace, Requests } from './requests.ts'

const pairCount = 3
const writerCount = 3

/** Three writers of pairs of tables, and a reader, while servers are hurt. */
export class PairRun {
  readonly counts = { commits: 0, acknowledged: 0, refused: 0, unknown: 0, repeats: 0, reads: 0, versions: 0 }
  readonly #place: Place
  readonly #random: () => number
  #rounds = 0
  #marker = 0

  constructor(place: Place, seed: number) {
    this.#place = place
    this.#random = randomFrom(seed)
  }

  /** Makes tables, commits until so many commits were acknowledged, and checks all tables. */
  async round(enough: number): Promise<void> {
    const requests = new Requests(this.#place.urls, this.#random)
    const isOver = new AbortController()
    const hurting = this.#place.hurt(this.#random, isOver.signal)
    hurting.catch(() => isOver.abort())
    try {
      const pairs = await this.#create(requests)
      const acknowledged = () => pairs.reduce((sum, { ledger }) => sum + ledger.counts.acknowledged, 0)
      const writing = Array.from({ length: writerCount }, async (_, at) => {
        const writer = new PairWriter(requests, this.#random)
        while (acknowledged() < enough && !isOver.signal.aborted) {
          const own = this.#random() < 0.7 ? at : Math.floor(this.#random() * pairCount)
          await writer.commit(pairs[own]!, this.#marker++)
        }
        this.counts.repeats += writer.repeats
      })
      const written = Promise.all(writing).finally(() => isOver.abort())
      await Promise.all([written, this.#readUntil(pairs, requests, isOver.signal), hurting])
      for (const pair of pairs) await this.#check(pair, requests)
    } finally {
      isOver.abort()
      await hurting
    }
  }

  async #create(requests: Requests): Promise<Pair[]> {
    const round = this.#rounds++
    await requests.makeNamespace()
    const pairs: Pair[] = []
    for (let i = 0; i < pairCount; i++) {
      const names = [`a_${round}_${i}`, `b_${round}_${i}`] as const
      for (const name of names) await requests.create(name)
      pairs.push({ names, ledger: new Ledger() })
    }
    return pairs
  }

  async #readUntil(pairs: readonly Pair[], requests: Requests, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { names, ledger } = pairs[Math.floor(this.#random() * pairs.length)]!
      const before = ledger.acknowledged()
      const [first, second] = this.#random() < 0.5 ? names : [names[1], names[0]]
      const found = [markersOf(await requests.load(first)), markersOf(await requests.load(second))]
      ledger.checkRead(before, found)
      this.counts.reads++
    }
  }

  async #check({ names, ledger }: Pair, requests: Requests): Promise<void> {
    const tables = await Promise.all(names.map((name) => requests.load(name)))
    const markers = tables.map(markersOf)
    ledger.check(markers)
    ledger.checkOrder(markers[0]!)
    await using catalog = connect(this.#place.urls[0]!)
    for (const [at, name] of names.entries()) {
      const id = [namespace, name]
      this.counts.versions += await checkVersions(catalog, id, tables[at], this.#place.read)
      await requests.drop(name)
    }
    const { acknowledged, refused, unknown } = ledger.counts
    this.counts.acknowledged += acknowledged
    this.counts.refused += refused
    this.counts.unknown += unknown
    this.counts.commits += acknowledged + refused + unknown
  }
}

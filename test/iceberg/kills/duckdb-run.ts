import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect } from '../../../src/client/index.ts'
import { randomFrom } from '../../support/bad-network.ts'
import { chainOf, checkVersions } from './history.ts'
import { Ledger, type Outcome } from './ledger.ts'
import type { Pair } from './pair-writer.ts'
import type { Place } from './places.ts'
import { namespace, Requests } from './requests.ts'

const script = fileURLToPath(new URL('duckdb_pairs.py', import.meta.url))
/** The pair of each writer: two of them share one. */
const pairOf = [0, 0, 1]

interface Line {
  readonly began?: number
  readonly ended?: number
  readonly outcome?: 'acknowledged' | 'failed'
  /** Whether it failed at its commit. */
  readonly committing?: boolean
  readonly message?: string
  readonly rows?: number[][]
}

/** Three processes with DuckDB that write to pairs of tables in transactions, while servers are hurt. */
export class DuckDbRun {
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0 }
  /** Why commits failed, by the beginning of the message. */
  readonly failures = new Map<string, number>()
  readonly #place: Place
  readonly #python: string
  readonly #random: () => number
  #rounds = 0

  constructor(place: Place, python: string, seed: number) {
    this.#place = place
    this.#python = python
    this.#random = randomFrom(seed)
  }

  /** Makes tables, lets each writer try so many transactions, and checks all tables. */
  async round(each: number): Promise<void> {
    const requests = new Requests(this.#place.urls, this.#random)
    await requests.makeNamespace()
    const round = this.#rounds++
    const pairs: Pair[] = []
    for (const i of new Set(pairOf)) {
      const names = [`l_${round}_${i}`, `r_${round}_${i}`] as const
      for (const name of names) await requests.create(name)
      pairs.push({ names, ledger: new Ledger() })
    }
    const isOver = new AbortController()
    const hurting = this.#place.hurt(this.#random, isOver.signal)
    const writing = pairOf.map((pair, at) => this.#write(pairs[pair]!, requests, at, each))
    await Promise.all([Promise.all(writing).finally(() => isOver.abort()), hurting])
    for (const pair of pairs) await this.#check(pair, requests)
  }

  async #write({ names, ledger }: Pair, requests: Requests, first: number, count: number): Promise<void> {
    const folders = await Promise.all(names.map(async (name) => (await requests.load(name)).location))
    const data = folders.map((folder) => `${fileURLToPath(folder)}/data`)
    await this.#script(names, [first, pairOf.length, count, ...data], (line) => {
      if (line.began !== undefined) ledger.begin(line.began)
      if (line.ended !== undefined) ledger.end(line.ended, outcomeOf(line))
      const reason = line.message?.replace(/[\d"'].*/s, '')
      if (reason !== undefined) this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1)
    })
  }

  async #check({ names, ledger }: Pair, requests: Requests): Promise<void> {
    let tables: number[][] = []
    await this.#script(names, [0, 1, 0], ({ rows = [] }) => {
      tables = rows
    })
    ledger.check(tables)
    await using catalog = connect(this.#place.urls[0]!)
    for (const name of names) {
      const metadata = await requests.load(name)
      // Each transaction adds one row, and one snapshot.
      if (chainOf(metadata).length !== tables[0]!.length) throw new Error(`${name} has a snapshot too many`)
      await checkVersions(catalog, [namespace, name], metadata, this.#place.read)
      await requests.drop(name)
    }
    for (const outcome of Object.keys(this.counts) as Outcome[])
      this.counts[outcome] += ledger.counts[outcome]
  }

  async #script(
    names: Pair['names'],
    args: readonly (number | string)[],
    take: (line: Line) => void,
  ): Promise<void> {
    const url = this.#place.urls[Math.floor(this.#random() * this.#place.urls.length)]!
    const all = [script, `${url}/iceberg`, namespace, ...names, ...args.map(String)]
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', AWS_REGION: 'us-east-1' }
    const child = spawn(this.#python, all, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors = (errors + text).slice(-5_000)
    })
    const closed = once(child, 'close')
    for await (const line of createInterface({ input: child.stdout })) take(JSON.parse(line) as Line)
    const [code] = await closed
    if (code !== 0) throw new Error(`DuckDB ended with ${code}: ${errors}`)
  }
}

function outcomeOf({ outcome, committing, message = '' }: Line): Outcome {
  if (outcome === 'acknowledged') return 'acknowledged'
  // Nothing is sent before the commit.
  return committing && !/CommitFailedException|Conflict_409/.test(message) ? 'unknown' : 'refused'
}

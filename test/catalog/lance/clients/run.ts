import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../../../support/folders.ts'
import { freePort } from '../../../support/free-port.ts'
import { scriptPath } from '../../../support/scripts.ts'
import type { LanceForJava } from './java.ts'

/*
 * Writers of several Lances change one table through a server, with stale handles, and two more tables in transactions.
 * Writers are killed, and the server ends between the record of a version and its publication. In between nothing is
 * under way, and then every acknowledged change must be there once, and transactions whole or not at all.
 */

interface Line {
  readonly op?: 'count' | 'add' | 'upsert' | 'delete' | 'cleanup' | 'pair' | 'unpaired' | 'mark'
  readonly id?: number
  readonly n?: number
  readonly end?: 'done' | 'failed'
  readonly message?: string
}

/** How often something may have been done: at least what was acknowledged, and at most what was tried. */
interface Bounds {
  least: number
  most: number
}

/** What the table may hold. */
class Model {
  readonly counters: Bounds[] = Array.from({ length: 10 }, () => ({ least: 0, most: 0 }))
  /** How many rows of an id there may be. */
  readonly rows = new Map<number, Bounds>()
  /** For each row that is there from the beginning and upserted: the values that it may have. */
  readonly upserts = new Map<number, number[]>([10, 11, 12, 13, 14].map((id) => [id, [0]]))
  /** What the schema metadata may say: what was acknowledged last, or something whose end is not known. */
  mark = { acknowledged: '', unknown: new Set<string>() }
  /** For rows that transactions added to two tables: how many of an id each table may have. */
  readonly pairs = new Map<number, Bounds>()
  readonly failures = new Map<string, number>()
  done = 0
  failed = 0

  /** How many transactions were acknowledged. */
  get transactions(): number {
    return [...this.pairs.values()].filter(({ least }) => least > 0).length
  }

  /** A change whose end is not known counts as tried, and one that is killed has no end. */
  take(started: Line, end: Line | undefined): void {
    const isDone = end?.end === 'done'
    if (isDone) this.done++
    else this.failed++
    if (end?.message) {
      const reason = end.message.replace(/[\d"'].*/s, '')
      this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1)
    }
    const id = started.id!
    if (started.op === 'count') {
      this.counters[id]!.most++
      if (isDone) this.counters[id]!.least++
    } else if (started.op === 'add') {
      this.rows.set(id, { least: isDone ? 1 : 0, most: 1 })
    } else if (started.op === 'delete') {
      this.rows.set(id, { least: 0, most: isDone ? 0 : 1 })
    } else if (started.op === 'upsert') {
      this.upserts.get(id)!.push(started.n!)
    } else if (started.op === 'mark') {
      if (isDone) this.mark.acknowledged = String(started.n)
      else this.mark.unknown.add(String(started.n))
    } else if (started.op === 'pair') {
      this.pairs.set(id, { least: isDone ? 1 : 0, most: 1 })
    } else if (started.op === 'unpaired') {
      this.pairs.set(id, { least: 0, most: 0 })
    }
  }

  /** No change of schema metadata is lost, and no other change takes it back. */
  checkMark(found: string): void {
    const { acknowledged, unknown } = this.mark
    assert(found === acknowledged || unknown.has(found), `the mark ${found}, and not ${acknowledged}`)
  }

  /** Each row that a transaction added is in both tables, or in none. */
  checkPairs(u: readonly { readonly id: number }[], w: readonly { readonly id: number }[]): void {
    const ids = (rows: typeof u) => rows.map(({ id }) => id)
    assert.deepEqual(ids(u), ids(w), 'a transaction is there in part')
    const found = new Map<number, number>()
    for (const { id } of u) found.set(id, (found.get(id) ?? 0) + 1)
    for (const [id, { least, most }] of this.pairs) {
      const count = found.get(id) ?? 0
      assert(least <= count && count <= most, `rows of the transaction of ${id}: ${count}`)
    }
    for (const id of found.keys()) assert(id === 0 || this.pairs.has(id), `nobody committed the row ${id}`)
  }

  check(rows: readonly { readonly id: number; readonly n: number }[]): void {
    const values = new Map<number, number[]>()
    for (const { id, n } of rows) values.set(id, [...(values.get(id) ?? []), n])
    const within = (value: number, { least, most }: Bounds, what: string) =>
      assert(least <= value && value <= most, `${what}: ${value}, which is not from ${least} to ${most}`)
    for (const [id, bounds] of this.counters.entries()) {
      assert.equal(values.get(id)?.length, 1, `rows of counter ${id}: ${values.get(id)}`)
      within(values.get(id)![0]!, bounds, `counter ${id}`)
    }
    for (const [id, bounds] of this.rows) within(values.get(id)?.length ?? 0, bounds, `rows with id ${id}`)
    for (const [id, tried] of this.upserts) {
      const found = values.get(id) ?? []
      assert(found.length === 1 && tried.includes(found[0]!), `rows of the upserted id ${id}: ${found}`)
    }
    for (const id of values.keys()) {
      assert(id < 15 || this.rows.has(id), `nobody wrote a row with id ${id}`)
    }
  }
}

export interface Options {
  /** The share of publications at which the server ends. */
  readonly deaths: number
  /** Interpreters with Lance; each runs a writer, beside two of LanceDB's client for Node and one of ours. */
  readonly pythons: readonly string[]
  /** Lance for Java, which runs another writer. */
  readonly java?: LanceForJava
}

/** A table, a server and writers. */
export class LanceClients {
  readonly model = new Model()
  readonly #options: Options
  readonly #folder: string
  readonly #port: number
  readonly #children = new Set<ChildProcess>()
  /** How many changes of each program were acknowledged. */
  readonly done = new Map<string, number>()
  #writers = 0
  /** Not before there is a table. */
  #mayDie = false
  #isOver = false
  /** Whether a check failed: then its files are kept. */
  #isBroken = false
  #ready: Promise<void> = Promise.resolve()
  deaths = 0

  private constructor(options: Options, folder: string, port: number) {
    this.#options = options
    this.#folder = folder
    this.#port = port
  }

  static async begin(options: Options): Promise<LanceClients> {
    const clients = new LanceClients(options, await temporaryDirectory(), await freePort())
    clients.#serve()
    await clients.#ready
    const { connectNamespace, makeArrowTable } = await lancedb()
    const { Field, Int64, Schema } = await import('apache-arrow')
    const db = await connectNamespace('rest', { uri: clients.#url })
    const schema = new Schema(['id', 'n'].map((name) => new Field(name, new Int64(), true)))
    const counters = Array.from({ length: 15 }, (_, id) => ({ id: BigInt(id), n: 0n }))
    for (const name of ['t', 'u', 'w']) {
      // In a folder with a name that LanceDB opens without a catalog, too.
      await clients.#post(`${name}/declare`, { location: `${clients.#folder}/${name}.lance` })
      await db.createTable(name, makeArrowTable(name === 't' ? counters : [{ id: 0n, n: 0n }], { schema }))
    }
    clients.#mayDie = true
    for (const child of clients.#children) child.kill('SIGKILL')
    return clients
  }

  /** Lets writers make some changes, kills them, and checks what is there. */
  async round(changes: number): Promise<void> {
    const { java } = this.#options
    const writers = [
      ...(['writer', 'writer', 'row-writer'] as const).map((name) =>
        this.#write(process.execPath, [scriptPath(`test/catalog/lance/clients/${name}.ts`)]),
      ),
      ...this.#options.pythons.map((python) =>
        this.#write(python, [fileURLToPath(new URL('writer.py', import.meta.url))]),
      ),
      ...(java ? [this.#write('java', java.args)] : []),
    ]
    const enough = this.model.done + changes
    // Java takes longest to start.
    while (this.model.done < enough || (java && !this.done.has('java'))) {
      // Writers die at any moment.
      await sleep(500 + Math.random() * 1_000)
      for (const [at, writer] of writers.entries())
        if (writer.isAborted()) writers[at] = await writer.replace()
      // Another one takes the place of one that is killed.
      const at = Math.floor(Math.random() * writers.length)
      if (Math.random() < 0.1) writers[at] = await writers[at]!.replace()
    }
    for (const writer of writers) await writer.kill()
    try {
      await this.#check()
    } catch (error) {
      this.#isBroken = true
      console.error(`${this.#folder} is kept. Versions of t, with the rows that came and went:`)
      console.error((await this.#history()).join('\n'))
      throw error
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    for (const child of this.#children) child.kill('SIGKILL')
    if (!this.#isBroken) await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get #path(): string {
    return `${this.#folder}/t.lance`
  }

  /** Starts the server, again and again. */
  #serve(): void {
    const script = scriptPath('test/catalog/lance/clients/server.ts')
    const share = this.#mayDie ? this.#options.deaths : 0
    const child = spawn(process.execPath, [script, this.#folder, String(this.#port), String(share)], {
      // They end when their input does, so none is left when this process dies.
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#children.add(child)
    this.#ready = once(child.stdout!, 'data').then(() => {})
    child.on('exit', () => {
      this.#children.delete(child)
      if (this.#isOver) return
      this.deaths++
      this.#serve()
    })
  }

  #write(command: string, args: readonly string[]): Writer {
    const number = ++this.#writers
    const child = spawn(command, [...args, this.#url, String(number), this.#path], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, LANCEDB_LOG: 'error', LANCE_LOG: 'error' },
    })
    this.#children.add(child)
    let errors = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2_000)
    })
    let rest = ''
    let started: Line | undefined
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const told = JSON.parse(line) as Line
        if (told.op) started = told
        else if (started) {
          this.model.take(started, told)
          started = undefined
          if (told.end === 'done') this.done.set(command, (this.done.get(command) ?? 0) + 1)
        }
      }
    })
    // Lance for Java aborts its process where a merge meets the end of the server.
    const isAborted = () => {
      const ended = child.exitCode ?? child.signalCode
      if (ended === null) return false
      if (ended === 'SIGABRT' && errors.includes('panic in a function that cannot unwind')) return true
      throw new Error(`A writer ended by itself: ${command}, ${ended}. ${errors}`)
    }
    const kill = async () => {
      if (!isAborted()) {
        const closed = once(child, 'close')
        child.kill('SIGKILL')
        await closed
      }
      this.#children.delete(child)
      if (started) this.model.take(started, undefined)
      started = undefined
    }
    return { isAborted, kill, replace: () => kill().then(() => this.#write(command, args)) }
  }

  /** Nothing is under way: readers of the files and the catalog must agree, and find every change. */
  async #check(): Promise<void> {
    await this.#quiet()
    const rows = await this.#agreed('t')
    this.model.check(rows)
    const { java } = this.#options
    if (java) assert.deepEqual((await this.#trying(() => java.rows(this.#url))).sort(inOrder), rows)
    const direct = await (await (await lancedb()).connect(this.#folder)).openTable('t')
    this.model.checkMark((await direct.schema()).metadata.get('mark') ?? '')
    this.model.checkPairs(await this.#agreed('u'), await this.#agreed('w'))
  }

  /** Resolves when the server works on no request. One of a writer that was killed may still be on its way. */
  async #quiet(): Promise<void> {
    for (let inARow = 0; inARow < 3; ) {
      const text = await this.#trying(async () => (await fetch(`${this.#url}/metrics`)).text())
      inARow = /^tabularium_requests_in_flight 0$/m.test(text) ? inARow + 1 : 0
    }
  }

  /** The rows of a table, on which the catalog and the files must agree. */
  async #agreed(name: string) {
    const { connect, connectNamespace } = await lancedb()
    const seen = await this.#trying(async () => {
      const listed = await this.#post(`${name}/version/list?limit=1000`, {})
      const managed = await (await connectNamespace('rest', { uri: this.#url })).openTable(name)
      return { listed, rows: await rowsOf(managed) }
    })
    const direct = await (await connect(this.#folder)).openTable(name)
    assert.deepEqual(await rowsOf(direct), seen.rows)
    const { versions } = seen.listed as { versions: { version: number }[] }
    assert.deepEqual(
      versions.map(({ version }) => version),
      (await direct.listVersions()).map(({ version }) => version).sort((a, b) => a - b),
    )
    return seen.rows
  }

  /** What each version changed. */
  async #history(): Promise<string[]> {
    const table = await (await (await lancedb()).connect(this.#folder)).openTable('t')
    const versions = (await table.listVersions()).sort((a, b) => a.version - b.version)
    const lines: string[] = []
    let before = new Set<string>()
    for (const { version } of versions) {
      await table.checkout(version)
      const rows = (await rowsOf(table)).map(({ id, n }) => `${id}:${n}`)
      const now = new Set(rows)
      const came = rows.filter((row) => !before.has(row))
      const went = [...before].filter((row) => !now.has(row))
      const isFirst = before.size === 0
      lines.push(`${version}: ${rows.length} rows, +${isFirst ? 'all' : came} -${went}`)
      before = now
    }
    return lines
  }

  async #post(path: string, body: object): Promise<unknown> {
    const answer = await fetch(`${this.#url}/v1/table/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200)
    return answer.json()
  }

  /** Asks again while the server is away. */
  async #trying<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.#ready
      try {
        return await ask()
      } catch (error) {
        if (attempt === 20) throw error
        await sleep(100)
      }
    }
  }
}

interface Writer {
  /** Whether Lance ended its process. Throws if it ended otherwise. */
  isAborted(): boolean
  kill(): Promise<void>
  replace(): Promise<Writer>
}

const lancedb = () => import('@lancedb/lancedb')

async function rowsOf(table: { query(): { toArray(): Promise<{ id: unknown; n: unknown }[]> } }) {
  const rows = (await table.query().toArray()).map(({ id, n }) => ({ id: Number(id), n: Number(n) }))
  return rows.sort(inOrder)
}

function inOrder(a: { id: number; n: number }, b: { id: number; n: number }): number {
  return a.id - b.id || a.n - b.n
}

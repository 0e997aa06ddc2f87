import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import fc from 'fast-check'
import { principalKey } from '../../../src/catalog/lookup/access.ts'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { connect } from '../../../src/client/index.ts'
import {
  type AuthorizeRequest,
  type FetchHandler,
  fetchHandler,
  type HttpOptions,
} from '../../../src/server/index.ts'
import {
  type Catalog,
  CatalogError,
  type CatalogOptions,
  type LocalCatalog,
} from '../../../src/tabularium/index.ts'
import { type Attack, attacks, type Known } from './attack-requests.ts'

/*
 * Two callers share a catalog, and each may see and change its own namespace only. One of them knows the names, ids,
 * locations and tokens of the other, and tries them in every operation. Nothing that it does not know comes back to it,
 * and nothing of the other's changes.
 */

const victim = 'vict1m'
const attacker = 'mallory'
const tokenOf = (name: string) => `${name}-and-a-long-random-token`

/** The hook as the page shows it, for tables below a location. */
export function hookOfPage(tables: string): AuthorizeRequest {
  const page = readFileSync(new URL('../../../docs/serve.md', import.meta.url), 'utf8')
  const source = /^\/\*\* These name what.*?^ {2}\}$/ms.exec(page)![0]
  const { code } = transformSync(source, { loader: 'ts' })
  const make = new Function(`${code}\nreturn ownNamespaceOnly`) as () => (tables: string) => AuthorizeRequest
  return make()(tables)
}

/** A way into the catalog, as somebody. */
export interface Door {
  /** A handle that runs operations as a caller. */
  as(name: string): Catalog
  /** What the attacker was answered last, headers included, where that is more than the handle's answers. */
  readonly heard?: () => string
}

/** Over HTTP, with the hook at the server. */
export async function overHttp(catalog: Catalog): Promise<Door & AsyncDisposable> {
  const handler: FetchHandler = await fetchHandler(catalog, await servedTo(catalog))
  return {
    ...throughFetch((request) => handler(request)),
    [Symbol.asyncDispose]: () => handler.close(),
  }
}

/** How a catalog is served to the callers. */
export async function servedTo(catalog: Catalog): Promise<HttpOptions> {
  return {
    auth: { tokens: [victim, attacker].map((name) => ({ token: tokenOf(name), name })) },
    authorize: hookOfPage(await tablesOf(catalog)),
    limits: { eventLoopDelay: 0 },
  }
}

/** Over whatever answers requests. */
export function throughFetch(
  answer: (request: Request) => Promise<Response>,
  base = 'http://localhost',
): Door {
  let heard = ''
  const fetch = async (request: Request) => {
    const response = await answer(request)
    const body = new Uint8Array(await response.clone().arrayBuffer())
    heard += JSON.stringify([...response.headers]) + new TextDecoder().decode(body)
    return response
  }
  return {
    as: (name) => connect(base, { token: tokenOf(name), fetch, retries: 0 }),
    heard: () => {
      const all = heard
      heard = ''
      return all
    },
  }
}

/** In process, with the hook as an option of the catalog, which `open` opens. */
export async function inProcess(open: (options: CatalogOptions) => Promise<LocalCatalog>): Promise<Door> {
  let hook: AuthorizeRequest | undefined
  const catalog = await open({
    authorize: ({ operation, id, location, context }) => {
      const name = context?.[principalKey]
      if (hook === undefined) return true
      return hook(name === undefined ? undefined : { name }, operation as OperationName, id, {
        location,
      } as never)
    },
  })
  hook = hookOfPage(await tablesOf(catalog))
  return { as: (name) => withPrincipal(catalog, name) }
}

function withPrincipal(catalog: LocalCatalog, name: string): Catalog {
  return new Proxy(catalog, {
    get: (target, member) => {
      const method = Reflect.get(target, member) as unknown
      if (typeof member !== 'string' || !Object.hasOwn(operations, member)) return method
      return (request: { context?: object }, options: object) =>
        (method as (...given: unknown[]) => unknown).call(
          target,
          { ...request, context: { ...request.context, [principalKey]: name } },
          options,
        )
    },
  })
}

/** Where the catalog keeps the tables that it chooses a location for. */
async function tablesOf(catalog: Catalog): Promise<string> {
  const { location } = await catalog.declareTable({ id: ['probe'] })
  await catalog.dropTable({ id: ['probe'] })
  return location.slice(0, location.lastIndexOf('/') + 1)
}

const rows = [
  { n: 1, s: 's3cret-row' },
  { n: 2, s: 's3cret-row' },
]

/**
 * What the victim has, and what the attacker knows of it. Of some tables it knows the names, and of others where they lie
 * and what was done to them. So whatever else comes back was told by the catalog, and is no echo.
 */
interface Prey {
  readonly known: Known
  /** What the attacker does not know. */
  readonly secrets: readonly string[]
  /** What the catalog says of all of it. */
  dump(): Promise<string>
}

async function settle(door: Door): Promise<Prey> {
  const catalog = door.as(victim)
  await catalog.createNamespace({ id: [victim], properties: { note: 's3cret-note' } })
  await catalog.createNamespace({ id: [victim, 'space'] })
  await catalog.createNamespace({ id: [victim, 's3cret-space'] })
  const named = await settleNamed(catalog)
  const found = await settleFound(catalog)
  const { page_token: pageToken } = await catalog.listTables({ id: [victim], limit: 1 })
  return {
    known: {
      identifiers: [[victim], [victim, 'space'], ...named.identifiers],
      locations: found.locations.flatMap((one) => [one, `${one}/`, `${one}/data`]),
      transactions: found.transactions,
      texts: ['tag', 'branch', 'own', pageToken!, found.manifest],
    },
    secrets: ['s3cret', ...named.locations.map((one) => one.slice(one.lastIndexOf('/') + 1))],
    dump: () => dumpOf(catalog, found.transactions[0]!),
  }
}

/** Tables whose names the attacker knows. */
async function settleNamed(catalog: Catalog) {
  const table = [victim, 'table']
  const deep = [victim, 'space', 'deep']
  const declared = [victim, 'declared']
  const gone = [victim, 'gone']
  const locations = []
  for (const id of [table, deep, gone]) {
    const { location } = await catalog.createTable({
      id,
      data: rows,
      properties: { note: 's3cret-property' },
    })
    locations.push(location)
  }
  locations.push((await catalog.declareTable({ id: declared })).location)
  await catalog.createTableTag({ id: table, tag: 'tag', version: 1 })
  await catalog.createTableTag({ id: table, tag: 's3cret-tag', version: 1 })
  await catalog.createTableBranch({ id: table, name: 'branch' })
  await catalog.createTableBranch({ id: table, name: 's3cret-branch' })
  await catalog.deregisterTable({ id: gone })
  return { identifiers: [table, deep, declared, gone], locations }
}

/** Tables of which the attacker knows where they lie, and the transactions. */
async function settleFound(catalog: Catalog) {
  const id = [victim, 's3cret-table']
  const locations = []
  const done = []
  for (const name of ['table', 'gone', 'left', 'source']) {
    const made = await catalog.createTable({ id: [victim, `s3cret-${name}`], data: rows })
    locations.push(made.location)
    done.push(made.transaction_id)
  }
  for (const name of ['s3cret-gone', 's3cret-left'])
    done.push((await catalog.deregisterTable({ id: [victim, name] })).transaction_id)
  locations.push((await catalog.declareTable({ id: [victim, 's3cret-declared'] })).location)
  done.push((await catalog.insertIntoTable({ id, data: rows })).transaction_id)
  // A dropped table whose files a clone still needs.
  await catalog.cloneTable({ id: [victim, 's3cret-heir'], source: [victim, 's3cret-source'] })
  done.push((await catalog.dropTable({ id: [victim, 's3cret-source'] })).transaction_id)
  const batch = await catalog.batchCommitTables({
    operations: [{ declare_table: { id: [victim, 's3cret-batched'] } }],
  })
  const space = await catalog.createNamespace({ id: [victim, 's3cret-space', 's3cret-deep'] })
  const { transaction_id: open } = await catalog.beginTransaction({
    properties: { note: 's3cret-open' },
    idle_timeout_seconds: 3_600,
  })
  await catalog.deleteFromTable({ id, predicate: 'n = 1' }, { transaction: open })
  const { versions } = await catalog.listTableVersions({ id })
  const transactions = [open, ...done, batch.transaction_id, String(space.transaction_id)]
  return {
    locations,
    transactions: transactions.filter((one) => one !== undefined),
    manifest: versions[0]!.manifest_path,
  }
}

async function dumpOf(catalog: Catalog, open: string): Promise<string> {
  const said: unknown[] = [await catalog.describeTransaction({ id: [open] })]
  const visit = async (id: string[]): Promise<void> => {
    said.push(id, await catalog.describeNamespace({ id }))
    const { tables } = await catalog.listTables({ id, include_declared: true })
    const { namespaces } = await catalog.listNamespaces({ id })
    for (const name of tables.filter((one) => !one.slice(id.join('$').length + 1).includes('$'))) {
      const table = [...id, name.split('$').at(-1)!]
      const found = await catalog.describeTable({ id: table, load_detailed_metadata: true })
      said.push(found, await catalog.listTableVersions({ id: table }))
      said.push(await catalog.listTableTags({ id: table }), await catalog.listTableBranches({ id: table }))
      if (found.version != null) said.push(await catalog.countTableRows({ id: table }))
    }
    for (const name of namespaces) await visit([...id, name.split('$').at(-1)!])
  }
  await visit([victim])
  const { transactions } = await catalog.listTransactions({})
  said.push(transactions.filter(({ transaction_id }) => transaction_id !== open))
  // The server renews the lease of what is open, whoever asks.
  return JSON.stringify(said, (key, value) =>
    key === 'context' || key === 'lease_until' ? undefined : value,
  )
}

/** What the attacker has: made again where an attack has used it up. */
async function equip(catalog: Catalog): Promise<Known> {
  const id = [attacker, 't']
  const spare = [attacker, 'u']
  const inner = [attacker, 'inner']
  const gone = [attacker, 'gone']
  const unused = [
    [attacker, 'new'],
    [attacker, 'newer'],
  ]
  // An attack may have put a table where a namespace was, and the other way about.
  for (const table of [[attacker], inner, ...unused]) await catalog.dropTable({ id: table }).catch(() => {})
  for (const space of [id, spare, gone, ...unused])
    await catalog.dropNamespace({ id: space, behavior: 'Cascade' }).catch(() => {})
  const own = [{ n: 1, s: 'own' }]
  await catalog.createNamespace({ id: [attacker], mode: 'ExistOk' })
  await catalog.createNamespace({ id: inner, mode: 'ExistOk' }).catch(() => {})
  for (const table of [id, spare, gone]) {
    // A table that an attack left without versions would keep its branches, and go on with the next version.
    await catalog.dropTable({ id: table }).catch(() => {})
    await catalog.createTable({ id: table, data: own, mode: 'Overwrite' })
  }
  await catalog.createTableTag({ id, tag: 'own', version: 1 })
  await catalog.createTableBranch({ id, name: 'dev' })
  await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE', name: 'by-n' }).catch(() => {})
  const { location: waiting, transaction_id: done } = await catalog.deregisterTable({ id: gone })
  const { transaction_id: open } = await catalog.beginTransaction({ idle_timeout_seconds: 3_600 })
  const { location } = await catalog.describeTable({ id: spare })
  return {
    identifiers: [id, id, id, spare, [attacker], inner, ...unused],
    locations: [location, waiting],
    transactions: [open, done!],
    texts: ['own', 'dev', 'by-n', 'new', '_versions/1.manifest'],
  }
}

/** Attacks between two times that the attacker gets everything anew. */
const inOneGo = 20

/** Attacks the door, and answers which operations the attacker could do with what is its own. */
export async function attackThrough(door: Door, count: number, seed: number): Promise<Set<string>> {
  const prey = await settle(door)
  const names = Object.keys(operations) as OperationName[]
  const done = new Set<string>()
  const mallory = door.as(attacker)
  const before = await prey.dump()
  for (let round = 0; round * inOneGo < count; round++) {
    const own = await equip(mallory)
    // Each operation comes up as often as any other.
    const some = Array.from({ length: inOneGo }, (_, i) => names[(round * inOneGo + i) % names.length]!)
    const tried: Attack[] = []
    for (const [i, name] of some.entries()) {
      const sampling = { numRuns: 1, seed: seed + round * inOneGo + i }
      const [attack] = fc.sample(attacks([name], own, prey.known), sampling) as [Attack]
      tried.push(attack)
      const { answer, isDone } = await tryOne(mallory, door, attack)
      if (isDone) done.add(name)
      const sent = JSON.stringify([attack.request, attack.transaction])
      const leaked = prey.secrets.filter((secret) => answer.includes(secret))
      if (leaked.length > 0)
        assert.fail(`${name} ${sent} (seed ${sampling.seed}) answers ${leaked}: ${answer.slice(0, 2_000)}`)
    }
    const [open] = own.transactions
    await mallory.rollbackTransaction({ id: [open!] }).catch(() => {})
    const after = await prey.dump()
    if (after !== before)
      assert.fail(
        `${changeOf(before, after)} by one of ${JSON.stringify(tried)} (seed ${seed + round * inOneGo})`,
      )
    door.heard?.()
  }
  return done
}

/** Where two texts part, with what stands around it in each. */
function changeOf(before: string, after: string): string {
  let at = 0
  while (before[at] === after[at]) at++
  const around = (text: string) => text.slice(Math.max(0, at - 200), at + 200)
  return `${around(before)} became ${around(after)}`
}

async function tryOne(catalog: Catalog, door: Door, { operation, request, transaction }: Attack) {
  const run = catalog[operation] as (request: object, options: object) => Promise<object>
  door.heard?.()
  const [answer, isDone] = await run(request, { transaction }).then(
    (response) => [JSON.stringify(response, readable), true] as const,
    (error: unknown) => {
      if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
      return [JSON.stringify([error.message, error.code, error.transaction_id]), false] as const
    },
  )
  return { answer: answer + (door.heard?.() ?? ''), isDone }
}

/** Rows as text, where strings lie as they are. */
function readable(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : value
}

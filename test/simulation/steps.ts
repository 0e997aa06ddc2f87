import { CatalogError, type LocalCatalog } from '../../src/tabularium/index.ts'
import type { Draw } from '../support/draw.ts'
import { type Client, codeOf, ledgerTables, rowsOf, type StepContext } from './client.ts'
import { type Change, Violation } from './ledger.ts'
import { ownSteps } from './own-steps.ts'
import type { StepKind } from './script.ts'

type Perform = (at: StepContext) => Promise<unknown>

/** A unique value. */
function newValue({ history }: Client): number {
  return ++history.values
}

function insertion(client: Client, table: string, key: string): Change {
  return client.ledger.begin(table, key, newValue(client), client.now)
}

const rowOf = ({ key, value }: Change) => ({ k: key, v: value! })

const insert: Perform = async ({ catalog, client, draw }) => {
  const table = draw.oneOf(ledgerTables)
  const key = client.newName('k')
  const change = insertion(client, table, key)
  const done = await client.change([change], () =>
    catalog.insertIntoTable({ id: [table], data: [rowOf(change)] }),
  )
  if (done) client.keys.set(key, { table })
}

const update: Perform = async ({ catalog, client, draw }) => {
  if (client.keys.size === 0) return
  const [key, { table }] = draw.oneOf([...client.keys])
  const change = client.ledger.begin(table, key, newValue(client), client.now)
  await client.change(
    [change],
    () =>
      catalog.updateTable({
        id: [table],
        updates: [['v', String(change.value)]],
        predicate: `k = '${key}'`,
      }),
    () => client.keys.delete(key),
  )
}

const remove: Perform = async ({ catalog, client, draw }) => {
  if (client.keys.size === 0) return
  const [key, { table }] = draw.oneOf([...client.keys])
  const change = client.ledger.begin(table, key, undefined, client.now)
  const forget = () => client.keys.delete(key)
  const done = await client.change(
    [change],
    () => catalog.deleteFromTable({ id: [table], predicate: `k = '${key}'` }),
    forget,
  )
  if (done) forget()
}

/** Inserts the same row into both tables atomically. Nothing changes it later. */
const pair: Perform = async ({ catalog, client }) => {
  const key = client.newName('p')
  const changes = ledgerTables.map((table) => insertion(client, table, key))
  await client.change(changes, async () => {
    let transaction_id = ''
    await catalog.transaction(async (tx) => {
      transaction_id = tx.transactionId
      for (const change of changes) await tx.insertIntoTable({ id: [change.table], data: [rowOf(change)] })
    })
    return { transaction_id }
  })
}

/** Inserts a pair by a transaction that is begun, waits, and is ended by its id. */
const session: Perform = async ({ catalog, client, draw }) => {
  const { history } = client
  const begun = await client.ask(() =>
    catalog.beginTransaction({ idle_timeout_seconds: draw.oneOf([5, 60, 600]) }),
  )
  if (begun === undefined) return
  const { transaction_id: transaction } = begun
  const key = client.newName('p')
  const changes = ledgerTables.map((table) => insertion(client, table, key))
  history.began(transaction, changes)
  const rest = draw.oneOf([0, 50, 2_000, 70_000]) * draw.next()
  const commits = draw.chance(0.8)
  await client.change(changes, async () => {
    for (const change of changes) {
      await catalog.insertIntoTable({ id: [change.table], data: [rowOf(change)] }, { transaction })
      await client.fleet.scheduler.sleep(client.server.actor, rest)
    }
    if (commits) {
      if (client.mayStall(draw)) askElsewhere(client, transaction, draw)
      const start = client.now
      const { status } = await catalog.commitTransaction({ id: [transaction] })
      history.reported(transaction, status, start)
      return { transaction_id: transaction }
    }
    const start = client.now
    const { status } = await catalog.rollbackTransaction({ id: [transaction] })
    history.reported(transaction, status, start)
    throw new CatalogError('Throttling', 'It was given up, as it should be.')
  })
}

/** After a timeout of a commit, asks another server for the outcome, while others vacuum there. */
function askElsewhere({ fleet, server, history }: Client, id: string, draw: Draw): void {
  const others = fleet.servers.filter((other) => other !== server)
  if (others.length === 0) return
  for (let i = 0; i < 3; i++) {
    fleet.scheduler.after(fleet.scheduler.environment, draw.next() * 150_000, 'asked elsewhere', () =>
      fleet.inside(draw.oneOf(others), async (catalog) => {
        if (draw.chance(0.6)) await lookAt(catalog, { fleet, history }, id)
        else await catalog.vacuum({ graceMillis: 0 }).catch(codeOf)
      }),
    )
  }
}

const readBoth: Perform = async ({ catalog, client }) => {
  const start = client.now
  const both = await client.ask(() =>
    catalog.transaction(async (tx) => [await rowsOf(tx, 'l0'), await rowsOf(tx, 'l1')] as const),
  )
  if (both === undefined) return
  for (const [i, rows] of both.entries()) client.ledger.check(ledgerTables[i]!, rows, start, client.now)
  const [one, other] = both.map((rows) => rows.flatMap(({ k }) => (k.startsWith('p') ? [k] : [])).sort())
  if (String(one) !== String(other))
    throw new Violation(`A transaction saw half of a pair: ${one} in l0, and ${other} in l1.`)
}

const look: Perform = async ({ catalog, client, draw }) => {
  const { ids } = client.history
  if (ids.length === 0) return
  const id = draw.chance(0.7) ? ids.at(-1 - draw.below(Math.min(4, ids.length)))! : draw.oneOf(ids)
  if (draw.chance(0.3)) {
    const start = client.now
    const listed = await client.ask(() => catalog.listTransactions({}))
    for (const { transaction_id, status } of listed?.transactions ?? [])
      if (ids.includes(transaction_id)) client.history.reported(transaction_id, status, start)
    return
  }
  await lookAt(catalog, client, id)
}

async function lookAt(
  catalog: LocalCatalog,
  { fleet, history }: Pick<Client, 'fleet' | 'history'>,
  id: string,
): Promise<void> {
  const start = fleet.scheduler.now
  const described = await catalog.describeTransaction({ id: [id] }).catch(codeOf)
  if (typeof described === 'object') history.reported(id, described.status, start)
}

const cancel: Perform = async ({ catalog, client, draw }) => {
  const { ids } = client.history
  if (ids.length === 0) return
  const id = ids.at(-1 - draw.below(Math.min(3, ids.length)))!
  const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
  const start = client.now
  const altered = await client.ask(() => catalog.alterTransaction({ id: [id], actions }))
  if (altered) client.history.reported(id, altered.status, start)
}

const tag: Perform = async ({ catalog, client, draw }) => {
  const table = draw.oneOf(ledgerTables)
  const found = await client.ask(() => catalog.describeTable({ id: [table] }))
  if (found?.version == null) return
  const tag = client.newName('tag')
  const { version } = found
  const done = await client.change([], () => catalog.createTableTag({ id: [table], tag, version }))
  if (done) client.history.tags.push({ table, tag, version })
}

/** Declares two tables atomically. */
const batch: Perform = async ({ catalog, client }) => {
  const names = [client.newName('b'), client.newName('b')]
  const change = client.ledger.begin('batches', names[0]!, 1, client.now)
  client.history.batches.push({ names, change })
  await client.change([change], () =>
    catalog.batchCommitTables({ operations: names.map((name) => ({ declare_table: { id: [name] } })) }),
  )
}

const watch: Perform = async ({ catalog, client, draw }) => {
  const ended = new AbortController()
  const { actor } = client.server
  const ids: string[] = []
  client.history.seen.push({ ids })
  client.fleet.scheduler.after(actor, draw.next() * 3_000, 'watched enough', () => ended.abort())
  try {
    for await (const { transaction_id } of catalog.watch({ signal: ended.signal })) ids.push(transaction_id)
  } catch (error) {
    if (!ended.signal.aborted) codeOf(error)
  }
}

const steps: Readonly<Record<StepKind, Perform>> = {
  insert,
  update,
  remove,
  pair,
  session,
  'read both': readBoth,
  read: ({ catalog, client, draw }) => {
    const table = draw.oneOf(ledgerTables)
    return client.read(catalog, table, table)
  },
  optimize: ({ catalog, client, draw }) =>
    client.ask(() => catalog.optimizeTable({ id: [draw.oneOf(ledgerTables)] })),
  vacuum: ({ catalog, client, draw }) =>
    client.ask(() => catalog.vacuum(draw.chance(0.7) ? { graceMillis: 0 } : {})),
  tag,
  look,
  cancel,
  batch,
  watch,
  ...ownSteps,
}

/** Runs a step of a client. */
export async function perform(at: StepContext, kind: StepKind): Promise<void> {
  await steps[kind](at)
}

import { type Client, type OwnTable, rowsOf, type StepContext } from './client.ts'
import { root } from './fleet.ts'
import { Violation } from './ledger.ts'
import type { StepKind } from './script.ts'

type OwnKind = 'create' | 'drop' | 'rename' | 'deregister' | 'register' | 'take'

function one({ client, draw }: StepContext, state: OwnTable['state']): OwnTable | undefined {
  const found = client.tables.filter((table) => table.state === state)
  return found.length === 0 ? undefined : draw.oneOf(found)
}

/** Changes a table whose name is unknown until the change is acknowledged. */
function changeOf<T>(client: Client, table: OwnTable, call: () => Promise<T>): Promise<T | undefined> {
  const before = table.state
  table.state = 'unknown'
  const change = client.ledger.begin('own tables', client.newName('change'), 1, client.now)
  return client.change([change], call).then((answer) => {
    if (change.outcome === 'refused') table.state = before
    return answer
  })
}

async function create(at: StepContext): Promise<void> {
  const { catalog, client, draw } = at
  const label = client.newName('own')
  const table: OwnTable = { label, name: label, state: 'gone', location: '' }
  client.tables.push(table)
  const value = ++client.history.values
  const data = [{ k: label, v: value }]
  const row = client.ledger.begin(label, label, value, client.now)
  const id = [label]
  const made = await changeOf(client, table, async () => {
    if (draw.chance(0.5)) return catalog.createTable({ id, data })
    const location = `${root}/at/${label}`
    await catalog.declareTable({ id, location })
    const { transaction_id } = await catalog.insertIntoTable({ id, data })
    return { location, transaction_id }
  })
  Object.assign(row, { outcome: made ? 'done' : 'unknown', end: client.now })
  // It may have been declared without rows.
  if (made === undefined) table.state = 'unknown'
  if (made === undefined) return
  table.state = 'there'
  table.location = made.location
}

async function drop(at: StepContext): Promise<void> {
  const table = one(at, 'there')
  if (table === undefined) return
  if (await changeOf(at.client, table, () => at.catalog.dropTable({ id: [table.name] }))) table.state = 'gone'
}

async function rename(at: StepContext): Promise<void> {
  const table = one(at, 'there')
  if (table === undefined) return
  const { name } = table
  const next = at.client.newName('own')
  const done = await changeOf(at.client, table, () =>
    at.catalog.renameTable({ id: [name], new_table_name: next }),
  )
  if (done === undefined) return
  Object.assign(table, { name: next, state: 'there' })
  at.client.history.gone.push(name)
}

async function deregister(at: StepContext): Promise<void> {
  const table = one(at, 'there')
  if (table === undefined) return
  const { name } = table
  const done = await changeOf(at.client, table, () => at.catalog.deregisterTable({ id: [name] }))
  if (done === undefined) return
  Object.assign(table, { state: 'out', location: done.location })
  at.client.history.gone.push(name)
  at.client.history.waiting.push(table)
}

async function register(at: StepContext): Promise<void> {
  const table = one(at, 'out')
  if (table !== undefined) await takeBack(at, table)
}

/** Registers the content of a deregistered table again, and reads it. */
async function takeBack({ catalog, client }: Omit<StepContext, 'draw'>, table: OwnTable): Promise<void> {
  const name = client.newName('own')
  const done = await changeOf(client, table, () =>
    catalog.registerTable({ id: [name], location: table.location }),
  )
  if (done === undefined) return
  Object.assign(table, { state: 'there', name })
  await client.read(catalog, name, table.label)
}

/** Claims the location of a table that another client deregistered. The winner drops the table with its content. */
async function take({ catalog, client, draw }: StepContext): Promise<void> {
  const { waiting } = client.history
  if (waiting.length === 0) return
  const { location, label } = draw.oneOf(waiting)
  const id = [client.newName('taken')]
  const below = draw.chance(0.3) ? `${location.replace(/\/$/, '')}/below` : location
  if ((await client.ask(() => catalog.declareTable({ id, location: below }))) === undefined) return
  await client.ask(() => catalog.dropTable({ id }))
  client.fleet.scheduler.note(client.server.actor, `took the place of ${label}`)
}

/** Steps with tables that only one client uses. */
export const ownSteps: Readonly<Record<OwnKind & StepKind, (at: StepContext) => Promise<void>>> = {
  create,
  drop,
  rename,
  deregister,
  register,
  take,
}

/** Checks at the end that exactly the acknowledged tables exist, with their rows. */
export async function checkOwn({ catalog, client }: Omit<StepContext, 'draw'>): Promise<void> {
  for (const table of client.tables) {
    if (table.state === 'out') {
      await takeBack({ catalog, client }, table)
      if (String(table.state) !== 'there')
        throw new Violation(`Nobody can register ${table.location} again, which waits for that.`)
    }
    const there = await client.ask(() => catalog.tableExists({ id: [table.name] }))
    if (table.state === 'there') {
      if (there === undefined) throw new Violation(`Table ${table.name} was acknowledged and is not there.`)
      const rows = await rowsOf(catalog, table.name)
      client.ledger.check(table.label, rows, client.now, client.now)
    } else if (table.state === 'gone' && there !== undefined && client.tables.includes(table)) {
      throw new Violation(`Table ${table.name} was dropped, and is there.`)
    }
  }
}

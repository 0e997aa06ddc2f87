import { Client } from './client.ts'
import { plan } from './faults.ts'
import { Fleet, type Mutation } from './fleet.ts'
import { checkAfterLoad, checkLeftovers } from './growth.ts'
import { feedSince, History } from './history.ts'
import { judge } from './judge.ts'
import { Ledger } from './ledger.ts'
import { calm, fair } from './network.ts'
import { Scheduler } from './scheduler.ts'
import type { Script } from './script.ts'
import { perform } from './steps.ts'
import { realTurn, takeOverTime } from './virtual-time.ts'

/** What a run came to. */
export interface Run {
  /** A number that follows from all that happened, in its order. */
  readonly hash: number
  readonly events: number
  /** How long it took there, in milliseconds. */
  readonly millis: number
  /** Why a law is broken, if one is. */
  readonly failure: Error | undefined
  readonly recent: readonly string[]
}

const minute = 60_000
const day = 24 * 60 * minute

/** Longer than any wait that the catalog allows itself, after all that the script waits for. */
const patience = 30 * minute

/** Runs a fleet by a script. Two runs of one script are the same. */
export async function simulate(
  script: Script,
  mutation: Mutation = {},
  { loadingMillis = 0 } = {},
): Promise<Run> {
  const scheduler = new Scheduler(script.seed, realTurn)
  scheduler.loading = loadingMillis
  const giveBack = takeOverTime(scheduler, script.seed)
  let failure: Error | undefined
  try {
    await runFleet(scheduler, script, mutation)
  } catch (error) {
    failure = error as Error
  }
  const { hash, events, now: millis, recent } = scheduler
  await scheduler.endTurns()
  giveBack()
  return { hash, events, millis, failure, recent }
}

async function runFleet(scheduler: Scheduler, script: Script, mutation: Mutation): Promise<void> {
  const fleet = new Fleet(scheduler, script, mutation)
  const ledger = new Ledger()
  const history = new History(() => scheduler.now)
  const common = { ledger, history }
  const clients = script.clients.map((client, number) => new Client(number, client, fleet, common, perform))
  const until = async (isOver: () => boolean, millis: number) => {
    await scheduler.run(() => fleet.failure !== undefined || isOver(), scheduler.now + millis)
    if (fleet.failure !== undefined) throw fleet.failure
  }
  /** Does something at a server, and waits until it is done. */
  const once = async (number: number, work: Parameters<Fleet['inside']>[1]) => {
    let isDone = false
    fleet.inside(fleet.servers[number]!, async (catalog) => {
      await work(catalog)
      isDone = true
    })
    await until(() => isDone, patience)
  }

  fleet.network.weather = calm
  fleet.start(fleet.servers[0]!)
  await once(0, async (catalog) => {
    for (const name of ['l0', 'l1']) {
      const change = ledger.begin(name, 'first', 0, scheduler.now)
      await catalog.createTable({ id: [name], data: [{ k: 'first', v: 0 }] })
      Object.assign(change, { outcome: 'done', end: scheduler.now })
    }
    history.beginning = await catalog.watch().token()
  })

  fleet.network.weather = fair
  for (const server of fleet.servers.slice(1)) fleet.start(server)
  fleet.onStart = (server) => {
    for (const client of clients) if (client.server === server) client.begin()
  }
  for (const client of clients) if (client.server === fleet.servers[0]) client.begin()
  const end = plan(fleet, script.faults)
  const rests = script.clients.map(({ steps }) => steps.reduce((sum, { rest }) => sum + rest, 0))
  await until(() => clients.every(({ isDone }) => isDone), end + Math.max(0, ...rests) + patience)

  // A fault that came after all is well would be taken for a broken law.
  await pass(fleet, until, Math.max(0, end - scheduler.now))
  fleet.onStart = () => {}
  await heal(fleet, until)
  // Whoever did the upkeep may have died, or may not have given its lease back. The next change makes it go on.
  await once(0, async (catalog) => {
    await catalog.createNamespace({ id: ['after the load'] })
  })
  await pass(fleet, until, minute)
  await checkAfterLoad(fleet, script)
  await judge({ fleet, ledger, history, clients, once, feedSince })
  await pass(fleet, until, 8 * day)
  await once(0, async (catalog) => {
    // As many as make the upkeep begin.
    for (let n = 0; n < 12; n++) await catalog.createNamespace({ id: [`later ${n}`] })
  })
  await pass(fleet, until, 2 * minute)
  await once(0, (catalog) => checkLeftovers(fleet, catalog))
}

/** All is well again: the weather, the clocks and the servers, of which some begin anew. Then leases have time to end. */
async function heal(fleet: Fleet, until: (isOver: () => boolean, millis: number) => Promise<void>) {
  const { scheduler, network, machines, servers, services } = fleet
  await pass(fleet, until, 4 * minute)
  network.weather = calm
  network.stalls.clear()
  for (const machine of machines) machine.offset = 0
  for (const actor of [...services, ...servers.map((server) => server.actor)]) actor.pausedUntil = 0
  for (const server of servers) if (scheduler.draw.chance(0.7)) fleet.kill(server, 10)
  await pass(fleet, until, 6 * minute)
}

/** Lets time pass. */
export async function pass(
  { scheduler }: Fleet,
  until: (isOver: () => boolean, millis: number) => Promise<void>,
  millis: number,
): Promise<void> {
  let isOver = false
  scheduler.after(scheduler.nature, millis, 'time has passed', () => {
    isOver = true
  })
  await until(() => isOver, millis + minute)
}

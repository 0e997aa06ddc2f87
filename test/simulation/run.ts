import { Client } from './client.ts'
import { plan } from './faults.ts'
import { Fleet, type Mutation } from './fleet.ts'
import { checkAfterLoad, checkLeftovers } from './growth.ts'
import { feedSince, History } from './history.ts'
import { judge } from './judge.ts'
import { Ledger } from './ledger.ts'
import { noFaults, usualRates } from './network.ts'
import { Scheduler } from './scheduler.ts'
import type { Script } from './script.ts'
import { perform } from './steps.ts'
import { realTurn, takeOverTime } from './virtual-time.ts'

/** The result of a run. */
export interface Run {
  /** A hash of all events, in order. */
  readonly hash: number
  readonly events: number
  /** The virtual duration, in milliseconds. */
  readonly millis: number
  /** The violation of an invariant, if any. */
  readonly failure: Error | undefined
  readonly recent: readonly string[]
}

const minute = 60_000
const day = 24 * 60 * minute

/** Longer than any timeout of the catalog, in addition to the waits of the script. */
const patience = 30 * minute

/** Runs a fleet by a script. Runs of the same script are identical. */
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
  /** Runs work at a server and waits for its end. */
  const once = async (number: number, work: Parameters<Fleet['inside']>[1]) => {
    let isDone = false
    fleet.inside(fleet.servers[number]!, async (catalog) => {
      await work(catalog)
      isDone = true
    })
    await until(() => isDone, patience)
  }

  fleet.network.rates = noFaults
  fleet.start(fleet.servers[0]!)
  await once(0, async (catalog) => {
    for (const name of ['l0', 'l1']) {
      const change = ledger.begin(name, 'first', 0, scheduler.now)
      await catalog.createTable({ id: [name], data: [{ k: 'first', v: 0 }] })
      Object.assign(change, { outcome: 'done', end: scheduler.now })
    }
    history.beginning = await catalog.watch().token()
  })

  fleet.network.rates = usualRates
  for (const server of fleet.servers.slice(1)) fleet.start(server)
  fleet.onStart = (server) => {
    for (const client of clients) if (client.server === server) client.begin()
  }
  for (const client of clients) if (client.server === fleet.servers[0]) client.begin()
  const end = plan(fleet, script.faults)
  const delays = script.clients.map(({ steps }) => steps.reduce((sum, { delay }) => sum + delay, 0))
  await until(() => clients.every(({ isDone }) => isDone), end + Math.max(0, ...delays) + patience)

  // A fault after the recovery would look like a violation.
  await pass(fleet, until, Math.max(0, end - scheduler.now))
  fleet.onStart = () => {}
  await heal(fleet, until)
  // The process with the upkeep lease may have died or kept it. The next change resumes the upkeep.
  await once(0, async (catalog) => {
    await catalog.createNamespace({ id: ['after the load'] })
  })
  await pass(fleet, until, minute)
  await checkAfterLoad(fleet, script)
  await judge({ fleet, ledger, history, clients, once, feedSince })
  await pass(fleet, until, 8 * day)
  await once(0, async (catalog) => {
    // Enough changes to start the upkeep.
    for (let n = 0; n < 12; n++) await catalog.createNamespace({ id: [`later ${n}`] })
  })
  await pass(fleet, until, 2 * minute)
  await once(0, (catalog) => checkLeftovers(fleet, catalog))
}

/** Recovers the network, the clocks and the servers, some of which restart. Then lets leases expire. */
async function heal(fleet: Fleet, until: (isOver: () => boolean, millis: number) => Promise<void>) {
  const { scheduler, network, machines, servers, services } = fleet
  await pass(fleet, until, 4 * minute)
  network.rates = noFaults
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
  scheduler.after(scheduler.environment, millis, 'time has passed', () => {
    isOver = true
  })
  await until(() => isOver, millis + minute)
}

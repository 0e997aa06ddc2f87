/** What does one operation of every kind cost, and does it cost more where there are a million tables? */
import { type Arena, openArena } from './support/arena.ts'
import { about, chart, figure, type Target } from './support/figures.ts'
import { race, type Spread, spread } from './support/measure.ts'
import { type OperationCase, operationCases } from './support/operation-cases.ts'
import { count, most, pick, rounds, sizes } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

about(`Every operation on catalogs of ${sizes.map(count).join(', ')} tables, one after the other and with 64 in
flight; what is measured adds some thousands to each. Each catalog has a process of its own, with the peers that hold as many tables; all take turns. On disk
a change is synced before it is acknowledged. The peers check nothing and keep no record of transactions.
better-sqlite3 is synchronous: 64 in flight is there 64 in turn, each with a commit of its own.`)

const stores = ['memory', 'disk'] as const
const targets: Record<string, number> = {
  'memory/describeTable': 3,
  'disk/describeTable': 6,
  'disk/listTables': 100,
}
const headlines: Record<string, string> = {
  'memory/describeTable/1': 'Describe a table, in memory',
  'disk/describeTable/1': 'Describe a table, on disk',
  'disk/listTables/1': 'List a page of 100, on disk',
  'disk/declareTable/64': 'Declare a table, durable, 64 at once',
}
/** How fast a declaration is to be beside a peer. */
const declarations: Record<string, Target> = {
  'lmdb/64': { atLeast: 0.8 },
  'sqlite memory/1': { atLeast: 0.7 },
}
const remarks: Record<string, string> = {
  'sqlite memory': 'in memory too; nothing checked, no transaction record',
  'sqlite FULL': 'durable too; nothing checked, no transaction record',
  'sqlite NORMAL': 'not durable: loses acknowledged changes when the machine stops',
  lmdb: 'durable too; the bare two puts or gets, nothing checked',
}

for (const store of stores) await ask(store)

async function ask(store: (typeof stores)[number]): Promise<void> {
  const folder = newFolder('operations')
  const arenas = new Map<number, Arena>()
  try {
    await Promise.all(
      sizes.map(async (size) => arenas.set(size, await openArena('operations', store, String(size), folder))),
    )
    const curves = new Map<string, Map<number, Spread>>()
    for (const [name, one] of Object.entries(operationCases(most))) {
      for (const atOnce of [1, 64]) {
        const key = `${name}/${atOnce}`
        try {
          const measured = await raceAll(arenas, key, timesOf(store, one, atOnce))
          conclude(store, name, atOnce, measured)
          curves.set(key, new Map(sizes.map((size) => [size, spread(measured[`ours@${size}`]!)])))
        } catch (error) {
          console.error(`${key} failed: ${(error as Error).message}`)
          process.exitCode = 1
        }
      }
    }
    draw(store, curves)
  } finally {
    for (const arena of arenas.values()) await arena.close()
  }
}

/** How often in a round: some tens of milliseconds of work. V8 takes thousands of calls to make reads fast. */
function timesOf(store: string, { reads, rows, page }: OperationCase, atOnce: number): number {
  if (rows && reads) return pick(20, 64)
  if (page) return pick(20, 300)
  if (rows) return store === 'disk' ? (atOnce === 1 ? 4 : 64) : pick(20, 64)
  if (reads) return pick(300, 5_000)
  return store === 'disk' ? (atOnce === 1 ? pick(5, 25) : pick(128, 640)) : pick(100, 500)
}

function raceAll(arenas: Map<number, Arena>, key: string, times: number): Promise<Record<string, number[]>> {
  const contenders: Record<string, () => Promise<number>> = {}
  for (const [size, arena] of [...arenas].sort(([a], [b]) => a - b)) {
    for (const name of arena.contenders) {
      const [who, ...rest] = name.split('/')
      if (rest.join('/') === key) contenders[`${who}@${size}`] = () => arena.run(name, times)
    }
  }
  return race(rounds, contenders)
}

function conclude(store: string, name: string, atOnce: number, measured: Record<string, number[]>): void {
  const mode = atOnce === 1 ? 'alone' : '64 in flight'
  for (const size of sizes) {
    const peers = Object.keys(remarks).filter((peer) => `${peer}@${size}` in measured)
    if (peers.length === 0 && size !== most) continue
    const grows =
      size === most
        ? [
            {
              peer: `itself at ${count(sizes[0]!)} tables`,
              samples: measured[`ours@${sizes[0]}`]!,
              as: 'cost' as const,
              target: {
                atMost: 1.3,
                group: `one operation at ${count(most)} tables against ${count(sizes[0]!)}, ${store}`,
              },
            },
          ]
        : []
    const limit = atOnce === 1 ? targets[`${store}/${name}`] : undefined
    figure(`${name}, ${store}, ${mode}, ${count(size)} tables`, measured[`ours@${size}`]!, {
      unit: 'µs',
      target: limit === undefined ? undefined : { below: limit },
      headline: size === most ? headlines[`${store}/${name}/${atOnce}`] : undefined,
      against: [
        ...peers.map((peer) => ({
          peer,
          samples: measured[`${peer}@${size}`]!,
          remark: remarks[peer],
          aside: peer === 'sqlite NORMAL',
          target: name === 'declareTable' ? declarations[`${peer}/${atOnce}`] : undefined,
        })),
        ...grows,
      ],
    })
  }
}

function draw(store: string, curves: Map<string, Map<number, Spread>>): void {
  for (const mode of ['1', '64']) {
    const shown = [
      'describeTable',
      'listTables',
      'declareTable',
      'renameTable',
      'dropTable',
      'createTableTag',
      'createTable',
    ]
    chart({
      id: `operations-${store}-${mode}`,
      title: `Cost of an operation, ${store}, ${mode === '1' ? 'one after the other' : '64 in flight'}`,
      x: 'tables in the catalog',
      y: 'µs each',
      points: shown.flatMap((name) =>
        [...(curves.get(`${name}/${mode}`) ?? [])].map(([x, middle]) => ({ series: name, x, ...middle })),
      ),
    })
  }
}

import { parseArgs } from 'node:util'
import bundleScripts from '../support/scripts.ts'
import { clock } from './clock.ts'
import { commands } from './commands.ts'
import { crashes } from './crash.ts'
import { fullDisk } from './full-disk.ts'
import { histories } from './histories.ts'
import { hostile } from './hostile.ts'
import { iceberg } from './iceberg.ts'
import { lance } from './lance.ts'
import { linear } from './linear.ts'
import { beginning, opening } from './opening.ts'
import { postgres } from './postgres.ts'
import { predicates } from './predicates.ts'
import type { Begin, Scenario } from './scenario.ts'
import { seeds } from './seeds.ts'
import { simulation } from './simulation.ts'
import { tenants } from './tenants.ts'
import { valid } from './valid.ts'

/*
 * Runs the random tests for a given time: `npm run soak -- --minutes 30`.
 */

const scenarios: Readonly<Record<string, { readonly about: string; readonly begin: Begin }>> = {
  crash: {
    about: 'processes are killed at work: inserts, deletes, batches, moves, vacuum, leaving and returning',
    begin: crashes(0),
  },
  disk: {
    about: 'the same on a disk that fails, or writes less than it should, now and then',
    begin: crashes(0.05),
  },
  transactions: {
    about: 'processes are killed in the middle of transactions on several tables, in process and over HTTP',
    begin: crashes(0, 'pairs'),
  },
  full: {
    about:
      'more writers than run at once, in process and over HTTP, on a disk that runs full again and again',
    begin: fullDisk,
  },
  clock: { about: 'two handles write and vacuum while their clock steps by hours', begin: clock },
  opening: { about: 'processes open, write, close, leave and are killed, all on one store', begin: opening },
  beginning: { about: 'new stores that four processes open in the same instant', begin: beginning },
  commands: { about: 'commands of four shells on the catalog of a server that writes', begin: commands },
  linear: { about: 'calls of several processes at once, some over HTTP, against a model', begin: linear },
  postgres: {
    about:
      'the same in PostgreSQL, beside writers whose connections are cut and whose server is killed, over a bad network, and by clocks that stand hours apart',
    begin: postgres,
  },
  lance: {
    about: 'clients of Lance, with Python and Node, that are killed like their server',
    begin: lance,
  },
  iceberg: {
    about:
      'clients of Iceberg change several tables at once, while servers are killed and paused, disks are full and connections are cut',
    begin: iceberg,
  },
  hostile: {
    about: 'hostile bodies, predicates and queries against a server: its memory and its answers are watched',
    begin: hostile,
  },
  tenants: {
    about: 'one tenant attacks what is of another by every operation, in process and over HTTP',
    begin: tenants,
  },
  predicates: {
    about: 'random predicates and expressions, against LanceDB, an interpreter and columns of their values',
    begin: predicates,
  },
  valid: {
    about:
      'valid requests of every operation, at the bounds of every field: memory, disk and the main thread are watched',
    begin: valid,
  },
  simulation: {
    about:
      'whole fleets in virtual time, with late messages, dying processes and stepping clocks, under one seed',
    begin: simulation,
  },
  histories: { about: 'random histories on each store and over HTTP, against a model', begin: histories },
  seeds: { about: 'the random tests of the suite, which always draw the same, by other seeds', begin: seeds },
}

const help = `npm run soak -- [--minutes N] [--only NAME,NAME] [--seed N]

Looks for broken promises: what was acknowledged is there after a crash, nothing is there in part, and what
happens at the same time comes to what some order of it does. Ends with exit code 1 when a promise was broken, and
with the smallest case found in the time that is left. Ctrl-C ends it early, with all checks of the end.

  --minutes N    how long once a scenario has begun, 5 unless told otherwise
  --only NAMES   some of these, at the same time:
${Object.entries(scenarios)
  .map(([name, { about }]) => `                   ${name.padEnd(12)} ${about}`)
  .join('\n')}
  --seed N       where random choices begin; another one each time unless told
`

interface Asked {
  readonly minutes: number
  readonly names: readonly string[]
  readonly seed: number
}

function readArguments(): Asked | undefined {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      only: { type: 'string', default: Object.keys(scenarios).join(',') },
      seed: { type: 'string', default: String(Date.now() % 0x7fffffff) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  const asked = { minutes: Number(values.minutes), names: values.only.split(','), seed: Number(values.seed) }
  const unknown = asked.names.find((name) => !Object.hasOwn(scenarios, name))
  if (unknown !== undefined) throw new Error(`There is no scenario ${JSON.stringify(unknown)}.`)
  if (!(asked.minutes > 0)) throw new Error('--minutes must be a number above 0.')
  if (!Number.isSafeInteger(asked.seed)) throw new Error('--seed must be a whole number.')
  return asked
}

async function soak({ minutes, names, seed }: Asked): Promise<boolean> {
  await bundleScripts()
  let isOver = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isOver = true
      console.log('Ending; press Ctrl-C again to stop at once.')
    })
  const begun = new Map<string, Scenario>()
  const broken: string[] = []
  const started = Date.now()
  const tell = () => {
    const seconds = Math.round((Date.now() - started) / 1000)
    console.log(`after ${seconds} s`)
    for (const [name, { counts }] of begun) {
      const told = Object.entries(counts).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
      console.log(`  ${name.padEnd(12)} ${told.join(', ')}${broken.includes(name) ? ' BROKEN' : ''}`)
    }
  }
  const telling = setInterval(tell, process.stdout.isTTY ? 10_000 : 60_000)
  console.log(`For ${minutes} minutes, seed ${seed}: ${names.join(', ')}`)

  await Promise.all(
    names.map(async (name) => {
      try {
        const scenario = await scenarios[name]!.begin(seed)
        begun.set(name, scenario)
        // Clients and servers may have to be installed first, which takes a while.
        const until = Date.now() + minutes * 60_000
        while (!isOver && Date.now() < until) await scenario.round(until)
        await scenario.end()
      } catch (error) {
        broken.push(name)
        isOver = true
        console.error(`${name}: a promise is broken.\n`, error)
      }
    }),
  )
  clearInterval(telling)
  tell()
  for (const [name, { notes = [] }] of begun) for (const note of notes) console.log(`${name}: ${note}`)
  console.log(broken.length === 0 ? 'No promise was broken.' : `Broken: ${broken.join(', ')}`)
  return broken.length === 0
}

try {
  const asked = readArguments()
  if (asked === undefined) console.log(help)
  else process.exit((await soak(asked)) ? 0 : 1)
} catch (error) {
  console.error(`${(error as Error).message}\n\n${help}`)
  process.exit(2)
}

import { writeSync } from 'node:fs'
import { openCatalog } from '../../src/tabularium/index.ts'

/*
 * Drops tables, brings them back and purges them, until it is killed. It says each step before and after it. Another one,
 * with the word `vacuum`, vacuums all the time.
 */

const [directory, word, seed] = process.argv.slice(2) as [string, string, string]
const hour = 3_600_000
const catalog = await openCatalog(directory, { retainDropped: hour })
writeSync(1, 'ready\n')

if (word === 'vacuum') {
  for (;;) await catalog.vacuum({ graceMillis: 0 })
}

let state = Number(seed)
/** Numbers that follow from the seed. */
function draw(below: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((state / 2_147_483_648) * below)
}

/** What may be done with a table of each kind. */
const steps = {
  none: ['create'],
  live: ['insert', 'insert', 'drop', 'both'],
  held: ['undrop', 'undrop', 'purge'],
} as const

async function kindOf(id: string[]): Promise<keyof typeof steps> {
  if ((await catalog.listAllTables({})).tables.includes(id[0]!)) return 'live'
  const { dropped: tables } = await catalog.listDroppedTables({ id: [] })
  return tables.some((one) => one.id[0] === id[0]) ? 'held' : 'none'
}

for (;;) {
  const id = [`t${draw(3)}`]
  const choices = steps[await kindOf(id)]
  const step = choices[draw(choices.length)]!
  writeSync(1, `try ${step} ${id[0]}\n`)
  if (step === 'create') await catalog.createTable({ id, data: [{ x: 0 }] })
  else if (step === 'insert') await catalog.insertIntoTable({ id, data: [{ x: 1 }] })
  else if (step === 'drop') await catalog.dropTable({ id })
  else if (step === 'undrop') await catalog.undropTable({ id })
  else if (step === 'purge') await catalog.purgeTable({ id })
  else {
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data: [{ x: 2 }] })
      await tx.dropTable({ id })
    })
  }
  writeSync(1, `did ${step} ${id[0]}\n`)
}

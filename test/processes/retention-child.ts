import { writeSync } from 'node:fs'
import { openCatalog } from '../../src/tabularium/index.ts'

/*
 * Changes tables under a rule of retention, tags versions and reads them, until it is killed. It says each step before and
 * after it. Another one, with the word `vacuum`, vacuums all the time.
 */

const [directory, word, seed] = process.argv.slice(2) as [string, string, string]
const catalog = await openCatalog(directory, { retention: { versions: 3 }, transactionCount: 20 })
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

const id = ['t']
for (let n = 0; ; n++) {
  const { versions } = await catalog.listTableVersions({ id })
  const { version } = versions[draw(versions.length)]!
  const step = ['insert', 'insert', 'insert', 'tag', 'branch', 'transaction'][draw(6)]!
  const name = `${step}-${seed}-${n}`
  writeSync(1, `try ${step} ${name} ${version}\n`)
  const isGone = (error: unknown) => {
    if (/Retention removed/.test(String(error))) return true
    throw error
  }
  let gone = false
  if (step === 'insert') await catalog.insertIntoTable({ id, data: [{ x: 1 }] })
  else if (step === 'tag')
    gone = await catalog.createTableTag({ id, tag: name, version }).then(() => false, isGone)
  else if (step === 'branch')
    gone = await catalog.createTableBranch({ id, name, from_version: version }).then(() => false, isGone)
  else
    gone = await catalog
      .transaction(async (tx) => {
        const { count } = await tx.countTableRows({ id, version, predicate: 'x > 0' })
        await new Promise((resolve) => setTimeout(resolve, 5))
        const again = await tx.countTableRows({ id, version, predicate: 'x > 0' })
        if (again.count !== count || count !== version)
          throw new Error(`${count} and ${again.count} of ${version}`)
      })
      .then(() => false, isGone)
  writeSync(1, `${gone ? 'gone' : 'did'} ${step} ${name} ${version}\n`)
}

import { writeSync } from 'node:fs'
import { openCatalog } from '../../../src/tabularium/index.ts'

/*
 * Makes tables of Lance, and changes the rows of one that others change too, until it is killed. It says what was
 * acknowledged.
 */

const [directory, word, isolated] = process.argv.slice(2) as [string, string, string?]
const lance = { isolate: isolated === 'isolated' }
const catalog = await openCatalog(directory, { format: 'lance', lance })
const shared = ['shared']
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n, word }))
await catalog.createTable({ id: shared, data: rows(0).concat({ n: -1, word }), mode: 'ExistOk' })
writeSync(1, 'ready\n')

for (let turn = 0; ; turn++) {
  const name = `${word}_${turn}`
  const work = turn % 4
  if (work === 0) await catalog.createTable({ id: [name], data: rows(turn + 1) })
  else if (work === 1) await catalog.insertIntoTable({ id: shared, data: [{ n: turn, word }] })
  else if (work === 2) {
    await catalog.declareTable({ id: [name] })
    await catalog.insertIntoTable({ id: [name], data: rows(turn + 1) })
  } else {
    await catalog.transaction(async (tx) => {
      await tx.createTable({ id: [name], data: rows(turn + 1) })
      await tx.insertIntoTable({ id: shared, data: [{ n: turn, word }] })
    })
  }
  writeSync(1, `${turn}\n`)
}

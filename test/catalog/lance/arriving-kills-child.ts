import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { batchOf, numbersFrom } from './arriving-support.ts'

/* Gives rows that arrive to tables of Lance, until it is killed. It says each step, and what was acknowledged. */

const [directory, word, isolated] = process.argv.slice(2) as [string, string, string?]
const catalog = await openCatalog(directory, { format: 'lance', lance: { isolate: isolated === 'isolated' } })
await catalog.createTable({ id: ['shared'], data: batchOf([-1]), mode: 'ExistOk' })
writeSync(1, 'ready\n')

function* source() {
  for (let i = 0; i < 3; i++) {
    writeSync(1, 'step\n')
    yield batchOf(numbersFrom(i * 600_000, 600_000))
  }
  writeSync(1, 'step\n')
}

for (let turn = 0; ; turn++) {
  if (turn % 3 === 1) await catalog.createTable({ id: [`${word}_${turn}`], data: source() })
  else await catalog.insertIntoTable({ id: ['shared'], data: source() })
  writeSync(1, `${turn}\n`)
  await sleep(1)
}

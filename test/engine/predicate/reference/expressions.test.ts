import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { tableToIPC } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { limitEach } from '../../../support/time-limit.ts'
import { byLength, type Difference, textOf } from './difference.ts'
import { expressions } from './expressions.ts'
import { isKnown } from './known.ts'
import { randomTable } from './rows.ts'
import { agree, answered, computed, difference, valueDifferences } from './value-judge.ts'

// It asks the reference for hundreds of random expressions.
limitEach(60)

const runs = Number(process.env.PREDICATE_RUNS ?? 1_200)
const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

it('computes random expressions as the reference does', async () => {
  const differences = await valueDifferences(seed + 3, runs)
  expect(textOf(differences), `${differences.length} differ`).toBe('')
})

/** Columns that values are assigned to. */
const targets = ['i8', 'i', 'big', 'u8', 'f', 'f32', 's', 'b', 'd', 'ts', 'tsm', 'dec', 'tags', 'li']

it('assigns random expressions as the reference does, or refuses what loses something', async () => {
  const table = randomTable(seed + 4, 6)
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-assigned-'))
  const database = await connect(directory)
  const data = tableToIPC(table, { format: 'file' })!
  const differences: Difference[] = []
  try {
    const texts = fc.sample(expressions, { seed: seed + 1, numRuns: Math.ceil(runs / 10) })
    for (const [i, text] of texts.entries()) {
      if (text.includes('"')) continue
      const name = targets[i % targets.length]!
      const found = computed(table, text, name)
      const opened = await database.createTable(`t${i}`, tableFromIPC(data))
      const expected = await answered(async () => {
        await opened.update({ valuesSql: { [name]: text } })
        return opened.query().select([name]).toArrow()
      }, name)
      opened.close()
      // A number is cut there, and a value that is no list becomes a list of one.
      const isStricter =
        'error' in found &&
        /does not fit|takes arrays of exactly|for column "\w+" of type list.*cannot be converted/.test(
          found.error,
        )
      // What is compared with NULL has the type of a comparison there, and here that of NULL.
      const isUntyped =
        'error' in expected &&
        /Cannot automatically convert Boolean/.test(expected.error) &&
        /[=<>] NULL|NULL [=<>]/.test(text)
      if (!isStricter && !isUntyped && !agree(expected, found) && !isKnown(text, expected, found, table))
        differences.push(difference(`${name} = ${text}`, expected, found))
    }
    expect(textOf(byLength(differences)), `${differences.length} differ`).toBe('')
  } finally {
    database.close()
    await rm(directory, { recursive: true })
  }
})

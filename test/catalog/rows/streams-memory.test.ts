import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import type { Kind } from './children/streams.ts'

// Many millions of rows are written and read.
limitEach(900)

/** Does work with so many rows in a process of its own, and returns the most memory that it had, in MiB. */
async function peakOf(kind: Kind, count: number): Promise<number> {
  const child = [
    scriptPath('test/catalog/rows/children/streams.ts'),
    kind,
    await freshFolder(),
    String(count),
  ]
  const { stdout } = await promisify(execFile)(process.execPath, child)
  const { peak, rows } = JSON.parse(stdout)
  expect(rows).toBe(count)
  return peak
}

it.each<[Kind, number]>([
  ['batches', 12_000_000],
  ['served', 12_000_000],
  ['objects', 1_000_000],
  ['parquet', 1_500_000],
])('%s: four times the rows take no more memory', async (kind, count) => {
  // The garbage of the first some hundred megabytes is collected late: fewer rows would end before.
  const [some, first] = [await peakOf(kind, count), await peakOf(kind, 4 * count)]
  // Where other processes take the processors, garbage is collected later still. Rows that are kept are kept each time.
  const many = first < 1.15 * some ? first : Math.min(first, await peakOf(kind, 4 * count))
  expect({ kind, some, many, isLevel: many < 1.15 * some }).toMatchObject({ isLevel: true })
})

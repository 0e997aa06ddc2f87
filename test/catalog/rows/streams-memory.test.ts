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
async function peakOf(kind: Kind, count: number, folder?: string): Promise<number> {
  const child = [
    scriptPath('test/catalog/rows/children/streams.ts'),
    kind,
    folder ?? (await freshFolder()),
    String(count),
  ]
  const { stdout } = await promisify(execFile)(process.execPath, child)
  const { peak, rows } = JSON.parse(stdout)
  expect(rows).toBe(count)
  return peak
}

it.each<[Kind, number]>([
  ['served', 12_000_000],
  ['lance', 5_000_000],
  ['objects', 2_000_000],
  ['parquet', 700_000],
  ['piped', 700_000],
])('%s: three times the rows take no more memory', async (kind, count) => {
  await expectLevel(kind, (times) => peakOf(kind, times * count))
})

it('in batches, exported and queried as Parquet: three times the rows take no more memory', async () => {
  // The columns of all these rows would have room in the cache.
  const count = 12_000_000
  const folders = { 1: '', 3: '' }
  await expectLevel('batches', async (times) => {
    folders[times] = await freshFolder()
    return peakOf('batches', times * count, folders[times])
  })
  for (const kind of ['exported', 'queried'] as const)
    await expectLevel(kind, (times) => peakOf(kind, times * count, folders[times]))
})

/** How much more memory, in MiB, three times the rows may take. They are 80 MiB more, or several times that. */
const most = 40

async function expectLevel(kind: Kind, peak: (times: 1 | 3) => Promise<number>): Promise<void> {
  const [some, many] = [await peak(1), await peak(3)]
  expect({ kind, some, many, isLevel: many < some + most }).toMatchObject({ isLevel: true })
}

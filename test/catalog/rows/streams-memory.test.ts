import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import type { Kind } from './children/streams.ts'

// Many millions of rows are written and read.
limitEach(900)

/** Does work with so many rows in a process of its own, and returns the most memory that it used, in MiB. */
async function mostOf(kind: Kind, count: number, folder?: string): Promise<number> {
  const child = [
    scriptPath('test/catalog/rows/children/streams.ts'),
    kind,
    folder ?? (await freshFolder()),
    String(count),
  ]
  const { stdout } = await promisify(execFile)(process.execPath, child)
  const { most, rows } = JSON.parse(stdout)
  expect(rows).toBe(count)
  return Math.round(most / 2 ** 20)
}

it.each<[Kind, number, number]>([
  ['served', 4_000_000, 16],
  ['lance', 8_000_000, 16],
  ['objects', 1_500_000, 24],
  ['parquet', 300_000, 400],
  ['piped', 300_000, 400],
])('%s: three times the rows take no more memory', async (kind, count, rowBytes) => {
  await expectLevel(kind, count * rowBytes, (times) => mostOf(kind, times * count))
})

it('in batches, exported and queried as Parquet: three times the rows take no more memory', async () => {
  // The columns of all these rows would have room in the cache.
  const count = 4_000_000
  const folders = { 1: '', 3: '' }
  await expectLevel('batches', count * 16, async (times) => {
    folders[times] = await freshFolder()
    return mostOf('batches', times * count, folders[times])
  })
  for (const kind of ['exported', 'queried'] as const)
    await expectLevel(kind, count * 16, (times) => mostOf(kind, times * count, folders[times]))
})

/** Three times the rows, where once they have so many bytes, take no more than half of what is added. */
async function expectLevel(
  kind: Kind,
  bytes: number,
  most: (times: 1 | 3) => Promise<number>,
): Promise<void> {
  const [some, many] = [await most(1), await most(3)]
  expect({ kind, some, many, isLevel: many < some + bytes / 2 ** 20 }).toMatchObject({
    isLevel: true,
  })
}

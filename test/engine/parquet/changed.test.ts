import { appendFile, open, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inputOf } from '../../../src/cli/rows/input.ts'
import { readParquet, writeParquet } from '../../../src/engine/parquet/index.ts'
import { fakeCatalog } from '../../../src/testing/index.ts'
import { freshFolder } from '../../support/catalogs.ts'

/* Files that somebody writes while rows are read from them. */

const batchRows = 1_000
const batches = 5
const said = /was changed while it was read.*\bcopy of it/

/** Ways to change a file. Each is later than what was read by more than clocks of file systems differ. */
const changes: Readonly<Record<string, (file: string) => Promise<unknown>>> = {
  grows: (file) => appendFile(file, 'more'),
  shrinks: (file) => truncate(file, 100),
  'is emptied': (file) => truncate(file),
  'is overwritten in part': async (file) => {
    const handle = await open(file, 'r+')
    await handle.write('other bytes', 40)
    await handle.close()
  },
}
const later = () => wait(30)

async function parquetFile(): Promise<string> {
  const file = join(await freshFolder(), 'rows.parquet')
  const rows = Array.from({ length: batchRows * batches }, (_, n) => ({ n }))
  const parts: Uint8Array[] = []
  for await (const part of writeParquet([rows])) parts.push(part)
  await writeFile(file, Buffer.concat(parts))
  return file
}

test.each(Object.keys(changes))('a Parquet file that %s while it is read is refused', async (kind) => {
  for (let after = 1; after <= batches; after++) {
    const file = await parquetFile()
    let read = 0
    const all = async () => {
      for await (const _ of readParquet(file, { batchRows })) {
        if (++read !== after) continue
        await later()
        await changes[kind]!(file)
      }
    }
    await expect(all()).rejects.toMatchObject({ code: 'InvalidInput', message: expect.stringMatching(said) })
    expect(read).toBeGreaterThanOrEqual(after)
  }
})

test('an insert from a Parquet file that changes meanwhile changes nothing', async () => {
  const file = await parquetFile()
  const fake = await fakeCatalog({ seed: { t: [{ n: 1 }] } })
  async function* rows() {
    let read = 0
    for await (const table of readParquet(file, { batchRows })) {
      yield table
      if (++read !== batches) continue
      await later()
      await appendFile(file, 'more')
    }
  }
  await expect(fake.insertIntoTable({ id: ['t'], data: rows() })).rejects.toThrow(said)
  expect(await fake.countTableRows({ id: ['t'] })).toEqual({ count: 1 })
  expect((await fake.listTableVersions({ id: ['t'] })).versions.length).toBe(1)
})

test.each(Object.keys(changes))(
  'a file of any other format that %s while it is read is refused',
  async (kind) => {
    const file = join(await freshFolder(), 'rows.csv')
    await writeFile(file, `n\n${'1\n'.repeat(200_000)}`)
    const input = await inputOf(file, { signal: new AbortController().signal } as never)
    const all = async () => {
      let isFirst = true
      for await (const _ of input.open()) {
        if (!isFirst) continue
        isFirst = false
        await later()
        await changes[kind]!(file)
      }
    }
    await expect(all()).rejects.toThrow(said)
  },
)

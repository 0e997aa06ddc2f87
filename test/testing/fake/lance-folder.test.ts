import { randomUUID } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { type FakeCatalog, type FakeOptions, fakeCatalog } from '../../../src/testing/index.ts'
import { nameOf } from '../../catalog/lance/support.ts'
import { freshFolder } from '../../support/catalogs.ts'

async function fakeWith(options: FakeOptions): Promise<FakeCatalog> {
  const fake = await fakeCatalog(options)
  onTestFinished(() => fake.close())
  return fake
}

const id = ['t']

/** Writes a version of a table as Lance does, and has the catalog publish it. */
async function write(fake: FakeCatalog, location: string, version: number) {
  const folder = join(fileURLToPath(location), '_versions')
  await mkdir(folder, { recursive: true })
  const staged = join(folder, `${nameOf(version)}-${randomUUID()}`)
  await writeFile(staged, 'a manifest')
  await fake.createTableVersion({ id, version, manifest_path: staged.slice(1), naming_scheme: 'V2' })
  return readdir(folder)
}

it('declared tables lie in the folder, and the fake publishes their versions', async () => {
  const fake = await fakeWith({ lanceFolder: await freshFolder() })
  const { location, managed_versioning } = await fake.declareTable({ id })
  expect([location, managed_versioning]).toEqual([expect.stringMatching(/^file:\/\//), true])
  expect(await write(fake, location, 1)).toEqual([nameOf(1)])
  const inMemory = await fake.createTable({ id: ['u'], data: [{ a: 1 }] })
  expect(inMemory.location).toMatch(/^memory:/)
  await fake.dropTable({ id })
  await expect(readdir(fileURLToPath(location))).rejects.toThrow(/ENOENT/)
})

it('a table is declared where nobody wrote before, after going back and in forks', async () => {
  const fake = await fakeWith({ lanceFolder: await freshFolder() })
  const first = fake.snapshot()
  const places = new Set<string>()
  const declare = async (from: FakeCatalog) => {
    const { location } = await from.declareTable({ id })
    expect(await write(from, location, 1)).toEqual([nameOf(1)])
    places.add(location)
  }
  await declare(fake)
  fake.reset()
  await declare(fake)
  fake.restore(first)
  await declare(fake)
  fake.restore(first)
  const fork = fake.fork()
  onTestFinished(() => fork.close())
  await declare(fork)
  await declare(fake)
  expect(places.size).toBe(5)
})

it('a batch and a transaction declare there, too', async () => {
  const fake = await fakeWith({ lanceFolder: await freshFolder() })
  await fake.batchCommitTables({ operations: [{ declare_table: { id } }] })
  await fake.transaction((tx) => tx.declareTable({ id: ['u'] }))
  for (const name of ['t', 'u']) expect((await fake.describeTable({ id: [name] })).location).toMatch(/^file:/)
})

it('a folder that is not empty or not there is refused', async () => {
  const folder = await freshFolder()
  await expect(fakeCatalog({ lanceFolder: join(folder, 'missing') })).rejects.toThrow(
    /lanceFolder: the folder .*missing" cannot be reached/,
  )
  await writeFile(join(folder, 'notes.txt'), '')
  await expect(fakeCatalog({ lanceFolder: folder })).rejects.toThrow(
    /holds "notes.txt". Give an empty folder/,
  )
  await expect(fakeCatalog({ lanceFolder: '' })).rejects.toThrow(/The option lanceFolder is/)
})

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, type LocalCatalog, openCatalog, operations } from '../../../src/tabularium/index.ts'
import { type SmallDisk, smallDisk } from '../../contents/small-disk.ts'
import { scriptPath } from '../../support/scripts.ts'

const id = ['t']
let directory: string
let disk: SmallDisk | undefined

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tabularium-read-only-'))
  chmodSync(directory, 0o755)
})

afterEach(async () => {
  vi.restoreAllMocks()
  disk?.unmount()
  disk = undefined
  await rm(directory, { recursive: true, force: true })
})

async function fill(folder: string): Promise<void> {
  await using catalog = await openCatalog(folder)
  await catalog.createTable({ id, data: [{ x: 1 }, { x: 2 }] })
  await catalog.createTableTag({ id, tag: 'first', version: 1 })
}

/** All that lies in a folder, but for the files in which processes take locks. */
function contentOf(folder: string): unknown {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/\.lock$|-lock$/.test(name))
    .sort()
    .map((name) => {
      const path = join(folder, name)
      const { mtimeMs } = statSync(path)
      return [name, mtimeMs, statSync(path).isFile() ? readFileSync(path).toString('base64') : '']
    })
}

async function readsAndRefuses(catalog: Catalog): Promise<void> {
  expect((await catalog.countTableRows({ id, predicate: 'x > 1' })).count).toBe(1)
  expect((await catalog.listTableVersions({ id })).versions.length).toBe(1)
  expect((await catalog.describeTable({ id, tag: 'first', load_detailed_metadata: true })).version).toBe(1)
  expect((await catalog.listAllTables({})).tables).toEqual(['t'])
  const rows: unknown[] = []
  for await (const row of catalog.rows({ id })) rows.push(row)
  expect(rows).toEqual([{ x: 1 }, { x: 2 }])
  await expect(catalog.dropTable({ id })).rejects.toMatchObject({ code: 'PermissionDenied' })
}

test('reads, refuses every change, and writes nothing', async () => {
  await fill(directory)
  const before = contentOf(directory)
  const catalog = await openCatalog(directory, { readOnly: true, optimize: 'background' })
  await readsAndRefuses(catalog)
  const refusal = { code: 'PermissionDenied', message: expect.stringContaining('opened read-only') }
  const changes = Object.values(operations).filter(({ definition }) => definition.changes)
  expect(changes.length).toBeGreaterThan(20)
  for (const { definition } of changes) {
    const call = catalog[definition.name] as (request: object) => Promise<unknown>
    await expect(call({ id }), definition.name).rejects.toMatchObject(refusal)
  }
  await expect(catalog.transaction(async () => {})).rejects.toMatchObject(refusal)
  await expect(catalog.vacuum()).rejects.toMatchObject(refusal)
  await expect(catalog.importFrom(directory)).rejects.toMatchObject(refusal)
  expect((await catalog.verify()).ok).toBe(true)
  await catalog.close()
  expect(contentOf(directory)).toEqual(before)
})

test('a catalog that is not there is not made', async () => {
  const missing = join(directory, 'none')
  const refusal = { code: 'InvalidInput', message: expect.stringContaining('no catalog') }
  await expect(openCatalog(missing, { readOnly: true })).rejects.toMatchObject(refusal)
  expect(readdirSync(directory)).toEqual([])
  const given = { store: memoryStore(), content: memoryContent(), readOnly: true }
  await expect(openCatalog(given)).rejects.toMatchObject(refusal)
})

test('shows what others change meanwhile', async () => {
  await fill(directory)
  await using reading = await openCatalog(directory, { readOnly: true })
  const writing = await openCatalog(directory)
  await writing.insertIntoTable({ id, data: [{ x: 3 }] })
  expect((await reading.countTableRows({ id })).count).toBe(3)
  await writing.close()
  expect((await reading.countTableRows({ id })).count).toBe(3)
})

test('a store of another kind is never written', async () => {
  const [store, content] = [memoryStore(), memoryContent()]
  const first: LocalCatalog = await openCatalog({ store, content })
  await first.createTable({ id, data: [{ x: 1 }, { x: 2 }] })
  await first.createTableTag({ id, tag: 'first', version: 1 })
  const write = vi.spyOn(store, 'write')
  const reading = await openCatalog({ store, content, readOnly: true })
  await readsAndRefuses(reading)
  expect(write).not.toHaveBeenCalled()
})

test('works on a disk that cannot be written', async (ctx) => {
  const mounted = smallDisk(8 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  await fill(disk.path)
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  await using catalog = await openCatalog(disk.path, { readOnly: true })
  await readsAndRefuses(catalog)
})

describe('tabularium serve --read-only', () => {
  /** Serves the folder, as another user where one is given, until `work` is done. */
  async function served(user: { uid?: number; gid?: number }, work: (url: string) => Promise<void>) {
    const given = ['serve', directory, '--read-only', '--no-auth', '--port', '0']
    const child = spawn(process.execPath, [scriptPath('src/cli/index.ts'), ...given], {
      ...user,
      stdio: 'pipe',
    })
    const ended = once(child, 'exit')
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    try {
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.on('data', (chunk) => {
          const found = /listening on (\S+)/.exec(String(chunk))
          if (found) resolve(found[1]!)
        })
        child.once('exit', () => reject(new Error(said)))
      })
      await work(url)
    } finally {
      child.kill()
      await ended
    }
  }

  test('serves beside a process that writes', async () => {
    await fill(directory)
    await using writing = await openCatalog(directory)
    await served({}, async (url) => {
      await using remote = connect(url)
      await readsAndRefuses(remote)
      await writing.insertIntoTable({ id, data: [{ x: 3 }] })
      expect((await remote.countTableRows({ id })).count).toBe(3)
    })
  })

  test('serves a folder that its user may not write', async (ctx) => {
    if (process.getuid?.() !== 0) return ctx.skip('Only root may start a process of another user.')
    await fill(directory)
    const before = contentOf(directory)
    await served({ uid: 65_534, gid: 65_534 }, async (url) => {
      await using remote = connect(url)
      await readsAndRefuses(remote)
    })
    expect(contentOf(directory)).toEqual(before)
    // Its reads cannot be protected from a writer, which it hears of.
    await using _writing = await openCatalog(directory)
    const nobody = { uid: 65_534, gid: 65_534 }
    await expect(served(nobody, async () => {})).rejects.toThrow('has the catalog open for writing')
  })
})

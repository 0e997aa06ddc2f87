import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { StoreLock } from '../../../src/stores/lmdb/store-lock.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'

/*
 * A caller that has an answer may block its thread: it waits for another program, or computes. So no lock that other
 * processes need is held any more when a change is answered, and nothing that began by itself holds it.
 */

const t = { id: ['t'] }

const changes: Readonly<Record<string, (catalog: LocalCatalog) => Promise<unknown>>> = {
  createNamespace: (catalog) => catalog.createNamespace({ id: ['n'] }),
  createTable: (catalog) => catalog.createTable({ ...t, data: [{ x: 1 }] }),
  insert: (catalog) => catalog.insertIntoTable({ ...t, data: [{ x: 2 }] }),
  'an insert of a file': (catalog) =>
    catalog.insertIntoTable({ ...t, data: Array.from({ length: 10_000 }, (_, x) => ({ x })) }),
  update: (catalog) => catalog.updateTable({ ...t, updates: [['x', 'x + 1']] }),
  delete: (catalog) => catalog.deleteFromTable({ ...t, predicate: 'x = 3' }),
  optimize: (catalog) => catalog.optimizeTable(t),
  tag: (catalog) => catalog.createTableTag({ ...t, tag: 'a', version: 1 }),
  'a batch': (catalog) =>
    catalog.batchCommitTables({
      operations: Array.from({ length: 50 }, (_, i) => ({ declare_table: { id: [`b${i}`] } })),
    }),
  'changes at the same time': (catalog) =>
    Promise.all(Array.from({ length: 20 }, (_, i) => catalog.declareTable({ id: [`p${i}`] }))),
  'a transaction': (catalog) =>
    catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ ...t, data: [{ x: 5 }] })
      await tx.declareTable({ id: ['in'] })
    }),
  'a change that fails': (catalog) => catalog.declareTable(t).catch(() => {}),
  deregister: (catalog) => catalog.deregisterTable({ id: ['in'] }),
  drop: (catalog) => catalog.dropTable(t),
}

it('an answered change leaves the lock of the directory to other processes', async () => {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder))
  const lock = new StoreLock(new FileLock(join(folder, 'catalog.lock')))
  const held: string[] = []
  for (const [name, change] of Object.entries(changes)) {
    await change(catalog)
    if (lock.tryAcquire()) lock.release()
    else held.push(name)
  }
  lock.close()
  expect(held).toEqual([])
})

it.each(['createTable', 'insert', 'a transaction'])('so does %s after which upkeep begins', async (name) => {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder))
  await changes.createNamespace!(catalog)
  if (name !== 'createTable') await changes.createTable!(catalog)
  const lock = new StoreLock(new FileLock(join(folder, 'catalog.lock')))
  coreOf(catalog).upkeep.changes = 999
  await changes[name]!(catalog)
  expect(lock.tryAcquire()).toBe(true)
  lock.release()
  lock.close()
})

it('a caller that blocks its thread after a change can run a command on the same directory', async () => {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder))
  await catalog.createTable({ ...t, data: [{ x: 1 }] })
  await catalog.insertIntoTable({ ...t, data: [{ x: 2 }] })
  const list = (...args: string[]) =>
    execFileSync(process.execPath, [scriptPath('src/cli/index.ts'), ...args], {
      encoding: 'utf8',
      timeout: 20_000,
    })
  expect(list('list', folder)).toContain('"t"')
  await catalog.insertIntoTable({ ...t, data: [{ x: 3 }] })
  list('declare', folder, 'u')
  expect(await catalog.tableExists({ id: ['u'] })).toBeDefined()
})

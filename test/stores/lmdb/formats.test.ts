import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { compactFormat, keys, type TransactionRecord } from '../../../src/base/store/records.ts'
import type { Key, Reader, Value } from '../../../src/base/store/store.ts'
import { wholeEntry } from '../../../src/catalog/transactions/recorded-changes.ts'
import { loadDriver } from '../../../src/stores/lmdb/driver.ts'
import { sealed } from '../../../src/stores/lmdb/encode-value.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { changesSince } from '../../catalog/handle/watch-model.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(60)

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabularium-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** The file as releases before compact values open it: the driver parses each value as JSON. */
function openAsEarlier(directory: string) {
  return loadDriver().open<string, never>({
    path: join(directory, 'catalog.mdb'),
    noSubdir: true,
    encoding: 'string',
    overlappingSync: false,
  })
}

/** Turns all records into those of an earlier release, with a format of that time. */
async function makeEarlier(directory: string, format: number): Promise<void> {
  const store = await openLmdbStore(directory)
  const entries = await store.read((reader) =>
    Array.from(reader.range({}), ({ key, value }) => ({ key, value: earlier(reader, key, value, format) })),
  )
  await store.close()
  const db = openAsEarlier(directory)
  for (const { key, value } of entries) await db.put(key as never, sealed(key, value))
  await db.close()
}

/** Entries of the feed held the changes, which the records of transactions did not. */
function earlier(reader: Reader, key: Key, value: Value, format: number): Value {
  if (key[0] === keys.catalog[0]) return { ...(value as object), v: format }
  if (key[0] === keys.feed[0]) return wholeEntry(reader, value as string) ?? value
  if (key[0] !== keys.transactions[0]) return value
  const { changes: _, origin: __, parts: ___, ...record } = value as TransactionRecord
  return record
}

async function textAt(directory: string, key: Key): Promise<string | undefined> {
  const db = openAsEarlier(directory)
  const text = db.get(key as never)
  await db.close()
  return text
}

test('records of an earlier release are read, and those beside them are compact after a change', async () => {
  const id = ['ns', 'flights']
  const catalog = await openCatalog(folder)
  const since = await catalog.watch().token()
  await catalog.createNamespace({ id: ['ns'] })
  await catalog.declareTable({ id, properties: { owner: 'me' } })
  const before = await changesSince(catalog, since)
  expect(before.length).toBe(2)
  await catalog.close()
  await makeEarlier(folder, 2)

  const again = await openCatalog(folder)
  expect((await again.describeTable({ id })).properties).toMatchObject({ owner: 'me' })
  expect((await again.verify()).problems).toBe(0)
  // Opening and reading change nothing: the earlier release may still use it.
  await again.close()
  expect(JSON.parse((await textAt(folder, keys.catalog))!)).toMatchObject({ v: 2 })

  const writing = await openCatalog(folder)
  await writing.declareTable({ id: ['ns', 'weather'] })
  expect((await writing.listTables({ id: ['ns'] })).tables).toEqual(['ns$flights', 'ns$weather'])
  expect((await writing.verify()).problems).toBe(0)
  expect((await writing.listTransactions({})).transactions.length).toBe(3)
  // The feed goes on where it was: entries of both forms, in one order.
  const after = await changesSince(writing, since)
  expect(after.slice(0, 2)).toEqual(before)
  expect(after[2]!.changes).toMatchObject([{ id: ['ns', 'weather'], effect: 'created', kind: 'table' }])
  expect((await changesSince(writing, before[1]!.token)).length).toBe(1)
  await writing.close()
  expect(JSON.parse((await textAt(folder, keys.catalog))!)).toMatchObject({ v: compactFormat })
})

test('earlier releases read the format of a new catalog, which tells them to refuse it', async () => {
  const catalog = await openCatalog(folder)
  await catalog.createNamespace({ id: ['ns'] })
  await catalog.close()
  expect(JSON.parse((await textAt(folder, keys.catalog))!)).toMatchObject({ v: compactFormat })
  // They ask the store for its state before.
  expect(JSON.parse((await textAt(folder, Symbol.for('state') as never))!)).toBeGreaterThan(0)
})

test('a change that is undone raises no format, and the next one does', async () => {
  const store = await openLmdbStore(folder)
  await store.write((writer) => writer.put(keys.catalog, { v: compactFormat, id: 'x' }))
  await store.close()
  await makeEarlier(folder, 3)
  const again = await openLmdbStore(folder)
  const failed = await again
    .write((writer) => {
      writer.put(['k'], 'value')
      throw new Error('on purpose')
    })
    .catch((error: Error) => error.message)
  expect(failed).toBe('on purpose')
  expect(await again.read((reader) => reader.get(keys.catalog))).toMatchObject({ v: 3 })
  await Promise.all(['a', 'b'].map((name) => again.write((writer) => writer.put(['k', name], name))))
  expect(await again.read((reader) => reader.get(keys.catalog))).toMatchObject({ v: compactFormat, id: 'x' })
  await again.close()
})

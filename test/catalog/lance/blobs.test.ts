import { tableFromArrays, tableFromIPC, tableToIPC } from '@uwdata/flechette'
import { tableFromIPC as apacheTable, Field, Int32, Schema, Struct } from 'apache-arrow'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished } from 'vitest'
import { readBlobs } from '../../../src/engine/lance/blobs.ts'
import type { NativeTable } from '../../../src/engine/lance/native.ts'
import type { CatalogOptions, LocalCatalog } from '../../../src/tabularium/index.ts'
import { served } from '../../server/dialects/lancedb/support/served.ts'
import { lance, lanceIt } from '../../support/lance-package.ts'
import { fails } from '../../support/refusals.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* Blobs of Lance (`lance.blob.v2`), which lie beside the rows. */

type Blob = Uint8Array | null

async function opened(options: CatalogOptions = {}) {
  const server = await served('lmdb', { format: 'lance', ...options })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

const schemaOf = () =>
  new Schema([
    new Field('n', new Int32(), true),
    lance.blob('b'),
    new Field('s', new Struct([lance.blob('in side')]), true),
  ])

interface Row {
  readonly n: number
  readonly b: Blob
  readonly inside: Blob
}

const asBlob = (bytes: Blob) => bytes && { data: Buffer.from(bytes), uri: null }

/** Rows as LanceDB for Node takes them. */
const rowsToSend = (rows: readonly Row[]) =>
  rows.map(({ n, b, inside }) => ({ n, b: asBlob(b), s: { 'in side': asBlob(inside) } }))

const bytesOf = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + seed * 7 + (i >> 8)) & 255)

/** The ids of rows, by their numbers. */
async function idsOf(catalog: Pick<LocalCatalog, 'queryTable'>, id: string[]) {
  const { data } = await catalog.queryTable({ id, columns: ['n'], with_row_id: true })
  const rows = tableFromIPC(data).toArray() as { n: number; _rowid: number }[]
  return new Map(rows.map((row) => [row.n, Number(row._rowid)]))
}

type Fetched = Parameters<LocalCatalog['fetchTableBlobs']>[0]

async function fetched(catalog: Pick<LocalCatalog, 'fetchTableBlobs'>, request: Fetched): Promise<Blob[]> {
  const { data } = await catalog.fetchTableBlobs(request)
  const table = tableFromIPC(data)
  expect(table.schema.fields.map(({ name }) => name)).toEqual([request.column])
  // By another library, too.
  expect(apacheTable(data).numRows).toBe(request.row_ids.length)
  return [...(table.getChildAt(0) as Iterable<Blob>)]
}

const same = (found: readonly Blob[], expected: readonly Blob[]) =>
  expect(found.map((blob) => blob && Buffer.from(blob).toString('base64'))).toEqual(
    expected.map((blob) => blob && Buffer.from(blob).toString('base64')),
  )

describe.each([
  ['in this process', undefined],
  ['in a process of its own', { isolate: true }],
])('Lance %s', (_, how) => {
  lanceIt('answers blobs of any rows, in the order of their ids, as they were written', async () => {
    const server = await opened({ lance: how })
    const { catalog } = server
    const db = await server.remote()
    const blob = fc.oneof(
      fc.constant(null),
      fc.constant(new Uint8Array()),
      fc.uint8Array({ maxLength: 20 }),
      fc.nat(120_000).map((length) => bytesOf(length, length)),
    )
    const filled = blob.filter((bytes) => bytes !== null)
    const row = fc.record({ b: blob, inside: filled })
    let count = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 6 }),
        // LanceDB for Node refuses nulls beside others within a struct, and where it adds rows.
        fc.array(fc.record({ b: filled, inside: filled }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(20), { maxLength: 12 }),
        async (first, more, picks) => {
          const id = [`t${count++}`]
          const rows = [...first, ...more].map((given, n) => ({ n, ...given }))
          const schema = schemaOf()
          const table = await db.createTable(id[0]!, rowsToSend(rows.slice(0, first.length)), { schema })
          await table.add(rowsToSend(rows.slice(first.length)))
          const ids = await idsOf(catalog, id)
          await catalog.deleteFromTable({ id, predicate: 'n = 0' })
          const left = rows.slice(1)
          const wanted = picks.map((pick) => left[pick % left.length]!)
          const row_ids = wanted.map(({ n }) => ids.get(n)!)
          same(
            await fetched(catalog, { id, column: 'b', row_ids }),
            wanted.map(({ b }) => b),
          )
          same(
            await fetched(catalog, { id, column: 's.in side', row_ids }),
            wanted.map(({ inside }) => inside),
          )
          // Version 2 still has the row that version 3 lost.
          const gone = { id, column: 'b', row_ids: [ids.get(0)!] }
          same(await fetched(catalog, { ...gone, version: 2 }), [rows[0]!.b])
          await fails(catalog.fetchTableBlobs(gone), 'InvalidInput', `no row with the id ${gone.row_ids[0]}`)
        },
      ),
      { numRuns: 6 },
    )
  })

  lanceIt('answers a blob that is larger than a portion, beside others', async () => {
    const server = await opened({ lance: how })
    const { catalog } = server
    const id = ['large']
    const rows = [3, (16 << 20) + 5, 0, 40].map((length, n) => ({ n, b: bytesOf(length, n), inside: null }))
    await (await server.remote()).createTable('large', rowsToSend(rows), { schema: schemaOf() })
    const ids = await idsOf(catalog, id)
    const order = [0, 1, 2, 3, 1, 0]
    const found = await fetched(catalog, { id, column: 'b', row_ids: order.map((n) => ids.get(n)!) })
    expect(found.map((blob, i) => Buffer.compare(blob!, rows[order[i]!]!.b))).toEqual([0, 0, 0, 0, 0, 0])
  })

  lanceIt("gives LanceDB's client handles of blobs, which read any part of them", async () => {
    const server = await opened({ lance: how })
    const db = await server.remote()
    const blobs = [null, new Uint8Array(), bytesOf(7, 1), bytesOf(3 << 20, 2), bytesOf(90_000, 3)]
    const rows = rowsToSend(blobs.slice(1).map((b, i) => ({ n: i + 1, b, inside: bytesOf(i + 2, i + 1) })))
    const table = await db.createTable('films', rows, { schema: schemaOf() })
    await table.add([{ n: 0, b: null, s: null }])
    const ids = await idsOf(server.catalog, ['films'])
    const order = [3, 0, 2, 1, 4, 2]
    const files = await table.fetchBlobFiles(
      'b',
      order.map((n) => ids.get(n)!),
    )
    expect(files.map((file) => file && Number(file.size()))).toEqual(
      order.map((n) => blobs[n]?.length ?? null),
    )
    same(
      await Promise.all(files.map((file) => file?.read() ?? null)),
      order.map((n) => blobs[n]!),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(3, 2, 4), fc.nat(1_000), fc.nat(1_000), async (n, a, b) => {
        const [from, to] = [a, b]
          .sort((x, y) => x - y)
          .map((part) => Math.floor((blobs[n]!.length * part) / 1_000))
        const part = await files[order.indexOf(n)]!.readRange(BigInt(from!), BigInt(to!))
        same([part], [blobs[n]!.subarray(from, to)])
      }),
      { numRuns: 15 },
    )
    const [inside] = await table.fetchBlobFiles('s.in side', [ids.get(4)!])
    same([await inside!.read()], [bytesOf(5, 4)])
    await expect(table.fetchBlobFiles('b', [99])).rejects.toThrow(/no row with the id 99/)
    await expect(table.fetchBlobFiles('n', [0])).rejects.toThrow(/is not a blob column/)
  })
})

lanceIt('one blob is read by its path, whole and in ranges, of each version', async () => {
  const server = await opened()
  const { catalog, token, url } = server
  const made = await (await server.remote()).createTable(
    't',
    rowsToSend([new Uint8Array(), bytesOf(1_000, 1)].map((b, n) => ({ n, b, inside: bytesOf(3, 2) }))),
    { schema: schemaOf() },
  )
  await made.add([{ n: 2, b: null, s: null }])
  const ids = await idsOf(catalog, ['t'])
  await catalog.deleteFromTable({ id: ['t'], predicate: 'n = 1' })
  const ask = async (path: string, range?: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${token}`, ...(range && { range }) }
    const answer = await fetch(`${url}/v1/table/t/blob/${path}`, { method, headers })
    const bytes = Buffer.from(await answer.arrayBuffer())
    return { status: answer.status, range: answer.headers.get('content-range'), bytes, text: String(bytes) }
  }
  const path = `b/${ids.get(1)}/bytes?version=2`
  const bytes = Buffer.from(bytesOf(1_000, 1))
  expect(await ask(path)).toMatchObject({ status: 200, range: null, bytes })
  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-', 10, 1_000],
    ['bytes=990-5000', 990, 1_000],
  ] as const) {
    expect(await ask(path, range)).toMatchObject({
      status: 206,
      range: `bytes ${from}-${to - 1}/1000`,
      bytes: bytes.subarray(from, to),
    })
  }
  for (const range of ['bytes=5-4', 'bytes=-3', 'bytes=1-2,5-6', 'rows=1-2'])
    expect(await ask(path, range)).toMatchObject({ status: 200, bytes })
  expect(await ask(path, 'bytes=1000-')).toMatchObject({ status: 416, range: 'bytes */1000', text: '' })
  expect(await ask(path, 'bytes=0-3', 'HEAD')).toMatchObject({
    status: 206,
    range: 'bytes 0-3/1000',
    text: '',
  })
  expect(await ask(`b/${ids.get(0)}/bytes`, 'bytes=0-0')).toMatchObject({ status: 416, range: 'bytes */0' })
  expect(await ask(`b/${ids.get(2)}/bytes`, 'bytes=0-0')).toMatchObject({ status: 204, text: '' })
  expect(await ask(`s.in%20side/${ids.get(0)}/bytes`)).toMatchObject({
    status: 200,
    bytes: Buffer.from(bytesOf(3, 2)),
  })
  for (const [wrong, status, text] of [
    [`b/${ids.get(1)}/bytes`, 400, 'no row with the id'],
    ['b/one/bytes', 400, 'row_ids[0]'],
    ['n/0/bytes', 404, 'is not a blob column'],
    ['b/0/bytes?version=9', 404, 'no version 9'],
    ['b/0/bytes?k=1', 400, 'takes no query parameter'],
    ['b/0/pixels', 404, 'There is no GET'],
  ] as const)
    expect(await ask(wrong)).toMatchObject({ status, text: expect.stringContaining(text) })
  expect((await ask(path, undefined, 'POST')).status).toBe(405)
  // Later releases of LanceDB's client go on with the version that answered them first.
  const headers = { 'x-api-key': token, 'x-lancedb-database': 'shop', range: 'bytes=0-0' }
  for (const [n, status] of [
    [0, 416],
    [2, 204],
  ] as const) {
    const answer = await fetch(`${url}/v1/table/t/blob/b/${ids.get(n)}/bytes`, { headers })
    expect([answer.status, answer.headers.get('x-lancedb-version')]).toEqual([status, '3'])
  }
})

lanceIt('what is asked wrong is refused, and says what would be right', async () => {
  const server = await opened({ resultBytes: 10_000 })
  const { catalog } = server
  const id = ['t']
  const rows = rowsToSend([{ n: 1, b: bytesOf(6_000, 1), inside: null }])
  await (await server.remote()).createTable('t', rows, { schema: schemaOf() })
  const fetch = (more: Partial<Fetched>) =>
    catalog.fetchTableBlobs({ id, column: 'b', row_ids: [0], ...more })
  same(await fetched(catalog, { id, column: 'b', row_ids: [0] }), [bytesOf(6_000, 1)])
  await fails(fetch({ row_ids: [0, 0] }), 'InvalidInput', '12,000 bytes')
  await fails(fetch({ column: 'n' }), 'TableColumnNotFound', 'is not a blob column', '"b", "s.in side"')
  await fails(fetch({ column: 'none' }), 'TableColumnNotFound', '"none"')
  await fails(fetch({ row_ids: [2 ** 40] }), 'InvalidInput', 'row_ids[0]')
  await fails(fetch({ row_ids: [-1] }), 'InvalidInput', 'row_ids[0]')
  await fails(fetch({ row_ids: Array(10_001).fill(0) }), 'InvalidInput', '10,000')
  await fails(fetch({ version: 9 }), 'TableVersionNotFound')
  await catalog.createTable({ id: ['own'], data: [{ b: 1 }], properties: { format: 'arrow' } })
  await fails(fetch({ id: ['own'] }), 'Unsupported', 'by a query')
  await catalog.createTable({ id: ['plain'], data: [{ b: 1 }] })
  await fails(fetch({ id: ['plain'] }), 'TableColumnNotFound', 'It has no column of blobs')
})

lanceIt('a blob at a place that its writer chose is not read', async () => {
  // Lance for Node writes none. Whoever writes files of a table by other means may.
  for (const place of [
    { kind: 3, size: 9n, blob_uri: '' },
    { kind: 0, size: 9n, blob_uri: 'file:///etc/hostname' },
  ]) {
    const rows = tableToIPC(tableFromArrays({ b: [place], _rowid: [5] }), { format: 'file' })!
    const batches = [rows, null]
    const query = {
      selectColumns() {},
      withRowId() {},
      execute: async () => ({ next: async () => batches.shift()! }),
    }
    const table = { blobColumns: async () => ['b'], takeRowIds: () => query } as unknown as NativeTable
    const reading = readBlobs(table, 'version 1 of t', { column: 'b', rowIds: [5] }, {})
    await fails(reading, 'Unsupported', 'the id 5', 'outside of its table')
  }
})

describe('the remote client of LanceDB', () => {
  lanceIt('creates tables with blobs, opens them, adds to them and fetches blobs', async () => {
    const server = await opened()
    const db = await server.remote()
    const made = await db.createTable('t', [{ n: 1, b: Buffer.from('one'), s: null }], { schema: schemaOf() })
    await made.add([{ n: 2, b: null, s: null }])
    for (const table of [made, await db.openTable('t')]) {
      expect(await table.blobColumns()).toEqual(['b', 's.in side'])
      const ids = await idsOf(server.catalog, ['t'])
      same(await table.fetchBlobs('b', [ids.get(2)!, ids.get(1)!]), [null, Buffer.from('one')])
      await expect(table.fetchBlobs('b', [99])).rejects.toThrow(/no row with the id 99/)
    }
    // Lance refuses blobs at places that are not the table's.
    const elsewhere = { data: null, uri: 'file:///etc/hostname' }
    await expect(made.add([{ n: 3, b: elsewhere as never, s: null }])).rejects.toThrow(/External blob URI/)
    // Rows of code give a blob as its struct.
    const id = ['t']
    await server.catalog.insertIntoTable({ id, data: [{ n: 4, b: { data: bytesOf(9, 4), uri: null } }] })
    const row_ids = [(await idsOf(server.catalog, id)).get(4)!]
    same(await fetched(server.catalog, { id, column: 'b', row_ids }), [bytesOf(9, 4)])
    // A table without blobs is used as before.
    const plain = await db.createTable('plain', [{ n: 1 }])
    await expect(plain.fetchBlobs('n', [0])).rejects.toThrow(/not supported on this/)
  })

  lanceIt('is told what to do in place of rows in several parts', async () => {
    const server = await opened()
    const db = await server.remote()
    await db.createTable('t', [{ n: 1, b: Buffer.from('one'), s: null }], { schema: schemaOf() })
    // So the client asks where it would send rows in parts.
    const answer = await fetch(`${server.url}/v1/table/t/multipart_write/create`, {
      method: 'POST',
      headers: { 'x-api-key': server.token, 'x-lancedb-database': 'team' },
    })
    expect([answer.status, await answer.text()]).toEqual([
      406,
      expect.stringContaining('Add at most a million rows at once'),
    ])
  })

  lanceIt("is told that tables of the catalog's own have none", async () => {
    const server = await opened({ format: 'arrow' })
    const db = await server.remote()
    const creating = db.createTable('t', [{ n: 1, b: Buffer.from('one'), s: null }], { schema: schemaOf() })
    await expect(creating).rejects.toThrow(
      /is a blob, which LanceDB's clients cannot read outside of tables of Lance/,
    )
  })
})

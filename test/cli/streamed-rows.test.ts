import { once } from 'node:events'
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeParquet } from '../../src/engine/parquet/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { run, start } from './run.ts'

/*
 * Rows of CSV, JSON lines and Arrow streams that are written while they are read: more of them than are held in memory.
 */

// The command and the codecs are loaded by the first of them.
limitEach(60)

const rows = 20_000

let folder: string
let location: string

beforeEach(async () => {
  folder = await freshFolder()
  location = join(folder, 'catalog')
})

async function file(name: string, bytes: string | Uint8Array): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}

const create = (...more: string[]) => ['create', location, 't', '--data', ...more]

async function table() {
  await using catalog = await openCatalog(location)
  const { schema } = await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })
  const sums: unknown[] = []
  let count = 0
  for await (const row of catalog.rows({ id: ['t'] })) {
    if (count < 2) sums.push(row)
    count++
  }
  return {
    types: schema!.fields.map(({ name, type }) => `${name} ${type.type}`),
    count,
    first: sums,
    versions: (await catalog.listTableVersions({ id: ['t'] })).versions.length,
  }
}

const cells = (i: number) => [i % 7, `seven ${i % 7}`, (i % 7) / 2] as const
const csv = () => `n,name,half\n${Array.from({ length: rows }, (_, i) => `${cells(i).join(',')}\n`).join('')}`
const json = () =>
  Array.from({ length: rows }, (_, i) => {
    const [n, name, half] = cells(i)
    return `${JSON.stringify({ n, name, half: half === 0 ? 0 : half })}\n`
  }).join('')

const expected = {
  types: ['n int64', 'name string', 'half double'],
  count: rows,
  first: [
    { n: 0n, name: 'seven 0', half: 0 },
    { n: 1n, name: 'seven 1', half: 0.5 },
  ],
  versions: 1,
}

/** The same CSV as zstd 1.5 compresses it. */
const zstd = Buffer.from(
  'KLUv/aTMRQQATAIAosMLELDrwE0Y+WFQFC1JpNVksw4/YUKamf0Fj9EUoj90CE3E/u6DZZphfk8qyEaV5RUKILAj45D/ZdbuBDebbICbTTYF7pGRMUQAAAABAP3/ZR6APQAAAAEAycUOgEaLv4M=',
  'base64',
)

it.each<[string, () => string | Uint8Array]>([
  ['a.csv', csv],
  ['a.jsonl', json],
  ['a.jsonl.gz', () => gzipSync(json())],
  ['a.csv.zst', () => zstd],
])('%s becomes a table', async (name, bytes) => {
  expect((await run(create(await file(name, bytes())))).err).toBe('')
  expect(await table()).toEqual(expected)
})

it.each<[string, () => string | Uint8Array]>([
  ['JSON lines', json],
  ['CSV as zstd', () => zstd],
])('%s of standard input becomes a table, and rows of it', async (_, bytes) => {
  const stdin = bytes()
  expect(
    (await run(create('-'), { stdin: typeof stdin === 'string' ? stdin : new Uint8Array(stdin) })).err,
  ).toBe('')
  expect(await table()).toEqual(expected)
  const again = ['insert', location, 't', '--data', '-']
  expect((await run(again, { stdin: typeof stdin === 'string' ? stdin : new Uint8Array(stdin) })).err).toBe(
    '',
  )
  expect(await table()).toEqual({ ...expected, count: 2 * rows, versions: 2 })
})

it('the types of a file are those of all its rows, and those of standard input of the first 65,536', async () => {
  const many = `n\n${'1\n'.repeat(70_000)}x\n`
  expect((await run(create(await file('a.csv', many)))).err).toBe('')
  expect((await table()).types).toEqual(['n string'])
  const { err, code } = await run(['create', location, 'u', '--data', '-'], { stdin: many })
  expect(err).toMatch(/line 70002 of standard input: column "n" holds x, and int64 takes .* --schema/)
  expect(code).toBe(2)
  await using catalog = await openCatalog(location)
  expect((await catalog.listAllTables({})).tables).toEqual(['t'])
})

it('a fault after many rows names its line, and leaves no table', async () => {
  const wide = await run(create(await file('a.csv', `${csv()}1,2\n`)))
  expect(wide.err).toMatch(/line 20002 of .*: record 20002 has 2 fields/)
  const cut = await run(create(await file('a.jsonl', `${json()}{"n":`)))
  expect(cut.err).toMatch(/line 20001 of .* is not JSON/)
  const packed = gzipSync(csv())
  const short = await run(create(await file('a.csv.gz', packed.subarray(0, packed.length - 20))))
  expect(short.err).toMatch(/cannot be decompressed/)
  expect([wide.code, cut.code, short.code]).toEqual([2, 2, 2])
  for (const damaged of [
    zstd.subarray(0, 60),
    zstd.with(84, 0),
    Buffer.concat([zstd, Buffer.from('more')]),
  ]) {
    const { err, code } = await run(create(await file('a.csv.zst', damaged)))
    expect([err, code]).toEqual([expect.stringMatching(/cannot be decompressed/), 2])
  }
  await using catalog = await openCatalog(location)
  expect((await catalog.listAllTables({})).tables).toEqual([])
})

it.each(['csv', 'jsonl'])('rows of one column of nulls survive the way out and in, as %s', async (format) => {
  await using catalog = await openCatalog(location)
  const fields = [{ name: 'n', type: { type: 'int64' }, nullable: true }]
  await catalog.createTable({ id: ['t'], data: [{ n: null }, { n: 1 }, { n: null }], schema: { fields } })
  await catalog.createTable({ id: ['all'], data: [{ n: null }, { n: null }], schema: { fields } })
  for (const [name, values] of [
    ['t', [null, 1, null]],
    ['all', [null, null]],
  ] as const) {
    const path = join(folder, `${name}.${format}`)
    expect((await run(['query', location, name, '-o', path])).err).toBe('')
    expect((await run(['create', location, `${name}2`, '--data', path])).err).toBe('')
    const found: unknown[] = []
    for await (const { n } of catalog.rows({ id: [`${name}2`] })) found.push(n)
    expect(found.map((n) => (n === null ? n : Number(n)))).toEqual(values)
  }
})

describe('Parquet of standard input', () => {
  const { TMPDIR } = process.env
  let temporary: string
  let bytes: Uint8Array

  beforeEach(async () => {
    temporary = join(folder, 'temporary')
    await mkdir(temporary)
    process.env.TMPDIR = temporary
    const items = Array.from({ length: rows }, (_, i) => {
      const [n, name, half] = cells(i)
      return { n: BigInt(n), name, half }
    })
    const pieces: Uint8Array[] = []
    for await (const piece of writeParquet([items], { groupRows: 3_000 })) pieces.push(piece)
    bytes = new Uint8Array(Buffer.concat(pieces))
  })

  afterEach(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })

  it('becomes a table, and rows of it, and so does a compressed file', async () => {
    expect((await run(create('-'), { stdin: bytes })).err).toBe('')
    expect(await table()).toEqual(expected)
    const packed = await file('a.parquet.gz', gzipSync(bytes))
    expect((await run(['insert', location, 't', '--data', packed])).err).toBe('')
    expect(await table()).toEqual({ ...expected, count: 2 * rows, versions: 2 })
    const merge = ['merge', location, 't', '--on', 'n', '--when-not-matched-insert-all', '--data', '-']
    expect((await run(merge, { stdin: bytes })).err).toBe('')
    expect(await table()).toEqual({ ...expected, count: 2 * rows, versions: 3 })
    expect(await readdir(temporary)).toEqual([])
  })

  it('that is damaged, cut off or has no room leaves neither a table nor a file', async () => {
    const cut = await run(create('-'), { stdin: bytes.subarray(0, bytes.length - 20) })
    expect([cut.err, cut.code]).toEqual([expect.stringMatching(/--data -: The Parquet file/), 2])
    const short = await run(create(await file('a.parquet.gz', gzipSync(bytes).subarray(0, -20))))
    expect([short.err, short.code]).toEqual([expect.stringMatching(/cannot be decompressed/), 2])
    expect(await readdir(temporary)).toEqual([])
    process.env.TMPDIR = join(folder, 'missing')
    const homeless = await run(create('-'), { stdin: bytes })
    expect([homeless.err, homeless.code]).toEqual([
      expect.stringMatching(
        /cannot be kept in .*missing until then: ENOENT.* Set TMPDIR to a folder with room/,
      ),
      2,
    ])
    await using catalog = await openCatalog(location)
    expect((await catalog.listAllTables({})).tables).toEqual([])
  })

  it.each<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGKILL'])(
    'leaves no file behind where %s ends the command',
    async (signal) => {
      const child = start(create('-'), { TMPDIR: temporary })
      const ended = once(child, 'close')
      child.stdin.on('error', () => {}).write(Buffer.concat([bytes, Buffer.alloc(1 << 20)]))
      if (process.platform === 'linux') {
        // It is there, and has no name any more.
        const nameless = new RegExp(`^${temporary}/.* \\(deleted\\)$`)
        await expect.poll(() => openFiles(child.pid!)).toContainEqual(expect.stringMatching(nameless))
      }
      child.kill(signal)
      if (signal !== 'SIGKILL') child.stdin.end()
      await ended
      expect(await readdir(temporary)).toEqual([])
      if (signal === 'SIGKILL') return
      await using catalog = await openCatalog(location)
      expect((await catalog.listAllTables({})).tables).toEqual([])
    },
  )
})

async function openFiles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder)
  return Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')))
}

import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

/*
 * Answers that are written while they are read: more rows than an answer has that is made as a whole.
 */

// Tens of megabytes are written.
limitEach(300)

const rows = 50_000
/** Answers of more than 16 MiB come in parts. */
const filler = 'x'.repeat(400)

async function filled() {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  const catalog = await openCatalog(location)
  const data = (function* () {
    for (let n = 0; n < rows; n++) yield { n, half: n % 3 === 0 ? null : n / 2, text: `${n}${filler}` }
  })()
  await catalog.createTable({ id: ['t'], data })
  await catalog.close()
  return { folder, location }
}

interface Row {
  readonly n: bigint | number
  readonly half: number | null
  readonly text: string
}

/** What tells rows apart from others, or from the same ones in another order. */
function tellOf(all: readonly Row[]) {
  let sum = 0
  for (const [i, { n, half, text }] of all.entries())
    sum += (i % 101) * (Number(n) + (half ?? 7) + text.length)
  return { sum, count: all.length, last: all.at(-1)?.text }
}

async function digest(location: string, name: string) {
  await using catalog = await openCatalog(location)
  const all: Row[] = []
  for await (const row of catalog.rows<Row>({ id: [name] })) all.push(row)
  return tellOf(all)
}

const hasZstd = 'createZstdCompress' in zlib

it('a query without rows writes what inserts no rows, in each format, and empty files of no format are refused', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  await run(['create', location, 't', '--data', '[{"n":1,"s":"a"}]'])
  const insert = (path: string) => run(['insert', location, 't', '--data', path])
  const plain = ['arrow', 'arrows', 'parquet', 'csv', 'jsonl']
  const endings = plain.flatMap((ending) =>
    ['', '.gz', ...(hasZstd ? ['.zst'] : [])].map((more) => ending + more),
  )
  let version = 1
  for (const ending of endings) {
    const path = join(folder, `none.${ending}`)
    expect((await run(['query', location, 't', '--limit', '0', '-o', path])).err).toBe('')
    const { out, err } = await insert(path)
    expect([ending, err]).toEqual([ending, ''])
    expect(JSON.parse(out)).toMatchObject({ num_inserted_rows: 0, version: ++version })
  }
  for (const [name, text] of [
    ['blank.ndjson', ' \n\n'],
    ['list.json', '[]'],
  ] as const) {
    await writeFile(join(folder, name), text)
    expect(await insert(join(folder, name))).toMatchObject({ code: 0, err: '' })
    version++
  }
  const schema = JSON.stringify({ fields: [{ name: 'n', nullable: true, type: { type: 'int64' } }] })
  const make = ['create', location, 'made', '--data', join(folder, 'none.jsonl')]
  expect(await run(make)).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Give a schema') })
  expect(await run([...make, '--schema', schema])).toMatchObject({ code: 0, err: '' })
  for (const ending of [...plain, ...plain.map((one) => `${one}.gz`), 'json', 'txt', 'jsonl.zst']) {
    if (ending === 'jsonl') continue
    const path = join(folder, `empty.${ending}`)
    await writeFile(path, '')
    const { code, out, err } = await insert(path)
    expect([ending, code, out]).toEqual([ending, 2, ''])
    expect(err).toContain(`empty.${ending}`)
  }
  expect(await run(['insert', location, 't', '--data', '-'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('standard input is empty'),
  })
  await using catalog = await openCatalog(location)
  expect((await catalog.listTableVersions({ id: ['t'] })).versions).toHaveLength(version)
})

it('each format has all rows, from a directory and from a server, and is read again', async () => {
  const { folder, location } = await filled()
  const expected = await digest(location, 't')
  expect(expected.count).toBe(rows)
  const endings = ['parquet', 'arrow', 'arrows', 'csv.gz', 'jsonl', ...(hasZstd ? ['csv.zst'] : [])]
  for (const [i, ending] of endings.entries()) {
    const path = join(folder, `rows.${ending}`)
    expect(await run(['query', location, 't', '-o', path])).toEqual({ code: 0, out: '', err: '' })
    // JSON lines are read exactly, and slowly.
    if (ending === 'jsonl') {
      expect(
        tellOf(
          (await readFile(path, 'utf8'))
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ),
      ).toEqual(expected)
      continue
    }
    expect((await run(['create', location, `t${i}`, '--data', path])).err).toBe('')
    expect([ending, await digest(location, `t${i}`)]).toEqual([ending, expected])
  }
  await using catalog = await openCatalog(location)
  const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port: 0, log: false })
  onTestFinished(() => server.close())
  const { url } = server
  for (const [i, ending] of endings.entries()) {
    const path = join(folder, `sent.${ending}`)
    expect(await run(['query', url, 't', '-o', path])).toEqual({ code: 0, out: '', err: '' })
    const [sent, own] = [await readFile(path), await readFile(join(folder, `rows.${ending}`))]
    expect([ending, sent.equals(own)]).toEqual([ending, true])
    if (ending !== 'parquet') continue
    expect((await run(['create', url, `s${i}`, '--data', path])).err).toBe('')
    expect(await digest(url, `s${i}`)).toEqual(expected)
  }
})

it('rows are made no faster than standard output takes them', async () => {
  const { location } = await filled()
  let waiting = 0
  let most = 0
  let lines = 0
  let wake: (() => void) | undefined
  const stdout = {
    get writableNeedDrain() {
      return waiting > 0
    },
    write(chunk: string | Uint8Array) {
      waiting += chunk.length
      most = Math.max(most, waiting)
      lines += String(chunk).split('\n').length - 1
      setImmediate(() => {
        waiting = 0
        wake?.()
        wake = undefined
      })
    },
    once(_event: 'drain', listener: () => void) {
      wake = listener
    },
  }
  const stderr = { write: () => {} }
  const stdin = (async function* (): AsyncGenerator<Uint8Array> {})()
  const io = { stdin, stdout, stderr, env: {}, version: '1.2.3', signal: new AbortController().signal }
  expect(await main(['query', location, 't'], io)).toBe(0)
  expect(lines).toBe(rows)
  expect(most).toBeLessThan(12 << 20)
})

it('an answer that fails in the middle leaves the file as it was', async () => {
  const { folder, location } = await filled()
  const path = join(folder, 'rows.csv')
  await writeFile(path, 'before')
  const columns = JSON.stringify({
    column_aliases: { text: 'text', m: `1 / (cast(n as bigint) - ${rows - 1})` },
  })
  const { code, err } = await run(['query', location, 't', '--columns', columns, '-o', path])
  expect(code).toBe(1)
  expect(err).toMatch(/^tabularium: InvalidInput: .*zero/)
  expect(await readFile(path, 'utf8')).toBe('before')
  expect((await readdir(folder)).sort()).toEqual(['catalog', 'rows.csv'])
  expect(await run(['query', location, 't', '--limit', '1', '--columns', 'n', '-o', path])).toMatchObject({
    code: 0,
  })
  expect(await readFile(path, 'utf8')).toBe('n\r\n0\r\n')
})

it('a server that goes away in the middle of an answer is told, and no file is left', async () => {
  const { folder, location } = await filled()
  const whole = join(folder, 'whole.arrow')
  await run(['query', location, 't', '-o', whole])
  const bytes = await readFile(whole)
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.apache.arrow.file' })
    response.write(bytes.subarray(0, 10 << 20), () => response.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const path = join(folder, 'rows.jsonl')
  const { code, err } = await run(['query', url, 't', '-o', path])
  expect(code).toBe(1)
  expect(err).toMatch(/^tabularium: ServiceUnavailable: The server at .* broke off its answer/)
  expect(await readdir(folder)).not.toContain('rows.jsonl')
})

it('a file that cannot be written is told, and ends the request', async () => {
  const { folder, location } = await filled()
  const path = join(folder, 'none', 'rows.csv')
  const { code, err } = await run(['query', location, 't', '-o', path])
  expect(code).toBe(2)
  expect(err).toMatch(/^tabularium: --output cannot be written to .*none.rows\.csv: its folder is not there/)
})

import '../support/quiet.ts'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Connection } from '@lancedb/lancedb'
import * as arrow from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonPrograms } from '../../../../support/python-clients.ts'
import { limitEach } from '../../../../support/time-limit.ts'
import { type Served, served } from '../support/served.ts'

// Clients in Python and Node make, read and change tables of every type.
limitEach(180)

const run = promisify(execFile)

const python = await pythonPrograms()
if (typeof python === 'string') console.warn(python)

const script = fileURLToPath(new URL('all_types.py', import.meta.url))

/** What a client came to with a table: the step that failed with an error, or `done`. */
interface Result {
  readonly case: string
  readonly stage: string
  readonly error?: string
  readonly described?: string
  readonly answered?: string
  /** Whether the values that were answered are those that were sent. */
  readonly same?: boolean
  /** Whether a table that was refused is there. */
  readonly left?: boolean
}

/** What is refused: of these types, wherever they lie, and in maps. */
const refused =
  /^(?:interval|map|sorted_map|sparse_union|dense_union|run_ends|blob_v2|dictionary_of_(?:view|fixed|day|moment|decimal|list))\.|\.map$/

/** The errors of the Node client's library for types that it cannot read or write, from any server. */
const unknownToNode = /Unrecognized type|Unsupported|not support|from user's Body stream/

describe.skipIf(typeof python === 'string')('columns of every type of Arrow, by LanceDB’s clients', () => {
  const { bin } = python as { bin: string }
  let server: Served
  let folder: string
  let names: string[]
  beforeAll(async () => {
    server = await served('memory')
    folder = await mkdtemp(join(tmpdir(), 'tabularium-types-'))
    await clients('make', folder)
    names = (await readdir(folder)).sort()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function clients(command: 'make' | 'create' | 'open', ...rest: string[]): Promise<Result[]> {
    const { stdout } = await run(`${bin}/python`, [script, command, ...rest], {
      maxBuffer: 1 << 28,
      env: { ...process.env, LANCEDB_LOG: 'error' },
    })
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Result)
  }

  it('are created and used, or refused with what to use instead', async () => {
    const results = await clients('create', server.url)
    expect(results.length).toBeGreaterThan(400)
    expect(results.map((result) => result.case).sort()).toEqual(names)
    for (const { case: name, stage, error, same, left, described, answered } of results) {
      if (refused.test(name)) {
        expect([name, stage, left], error).toEqual([name, 'create', false])
        expect(error).toMatch(
          /Column \\?"v[^"]*" is .* which LanceDB's clients cannot read(?: outside of tables of Lance)?\. Use .* instead\./,
        )
      } else {
        expect([name, stage, same], error).toEqual([name, 'done', true])
        expect(described).toEqual(answered)
      }
    }
  })

  it('of tables that others made are used, or refused when such a table is opened', async () => {
    // Every third has each type among them.
    const mine = names.filter((name) => !name.endsWith('.empty')).filter((_, i) => i % 3 === 0)
    const others = await served('memory')
    try {
      for (const [i, name] of mine.entries()) {
        const data = await readFile(join(folder, name))
        if (i % 2 === 0) await others.catalog.createTable({ id: [name], data })
        else await postRows(others, name, data)
      }
      const results = await clients('open', others.url, ...mine)
      expect(results).toHaveLength(mine.length)
      for (const { case: name, stage, error, same } of results) {
        if (refused.test(name)) {
          expect([name, stage]).toEqual([name, 'open'])
          expect(error).toMatch(/Column \\?"v[^"]*" of the table .* which LanceDB's clients cannot read/)
        } else expect([name, stage, same], error).toEqual([name, 'done', true])
      }
    } finally {
      await others[Symbol.asyncDispose]()
    }
  })

  it('are the same for the client for Node, as far as its library of Arrow knows them', async () => {
    const db = await server.remote()
    const mine = names.filter((name) => /\.(?:bare|struct|list|list_view|map)$/.test(name))
    let read = 0
    for (const name of mine) {
      const { stage, error } = await useByNode(db, `node.${name}`, await readFile(join(folder, name)))
      if (stage === 'read' || unknownToNode.test(error ?? '')) continue
      read++
      if (refused.test(name)) {
        expect([name, stage]).toEqual([name, 'create'])
        expect(error).toMatch(/Column \\?"v.*cannot read\. Use .* instead\./)
      } else expect([name, stage], error).toEqual([name, 'done'])
    }
    expect(read).toBeGreaterThan(100)
  })
})

async function postRows({ url }: Served, name: string, body: Uint8Array): Promise<void> {
  const response = await fetch(`${url}/v1/table/${name}/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.apache.arrow.stream', 'x-api-key': 'a-token-for-tests' },
    body: body as Uint8Array<ArrayBuffer>,
  })
  expect(response.status, name).toBe(200)
}

/** The same steps as those of the script. */
async function useByNode(db: Connection, name: string, data: Uint8Array): Promise<Result> {
  let stage = 'read'
  try {
    const given = arrow.tableFromIPC(data)
    stage = 'create'
    await db.createTable(name, given, { mode: 'overwrite' })
    stage = 'open'
    const table = await db.openTable(name)
    stage = 'schema'
    await table.schema()
    stage = 'count'
    expect(await table.countRows()).toBe(2)
    stage = 'search'
    const answer = await table.query().limit(5).toArrow()
    expect(answer.numRows).toBe(2)
    stage = 'filter'
    expect((await table.query().where('id = 1').toArrow()).numRows).toBe(1)
    stage = 'add'
    await table.add(given)
    stage = 'add columns'
    await table.addColumns([{ name: 'copy', valueSql: 'v' }])
    expect((await table.query().toArrow()).numRows).toBe(4)
    return { case: name, stage: 'done' }
  } catch (error) {
    return { case: name, stage, error: String(error) }
  }
}

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freshFolder } from '../support/catalogs.ts'
import { lines, run } from './run.ts'
import { overHttpServer } from './server.ts'

const id = 'prod.flights'
const rows = '[{"origin":"SFO","delay":75},{"origin":"OAK","delay":12},{"origin":"LAX","delay":null}]'

async function inDirectory() {
  return fill(join(await freshFolder(), 'catalog'))
}

/** A catalog with two versions of a table, the first with a tag, and a branch with a third one. */
async function fill(location: string) {
  for (const line of [
    ['mkns', location, 'prod'],
    ['create', location, id, '--data', rows, '--properties', 'owner=ann'],
    ['tag', location, id, 'stable', '1'],
    ['delete', location, id, '--where', "origin = 'OAK'"],
    ['branch', location, id, 'try'],
    ['insert', location, id, '--branch', 'try', '--data', '[{"origin":"JFK","delay":1}]'],
    ['tag', location, id, 'tried', '3', '--branch', 'try'],
  ]) {
    expect(await run(line)).toMatchObject({ code: 0, err: '' })
  }
  return location
}

describe.each([
  ['a directory', inDirectory],
  ['a server', () => overHttpServer().then(fill)],
])('on %s', (_, open) => {
  it('describe tells all that there is', async () => {
    const location = await open()
    const [latest] = lines(await run(['describe', location, id]))
    expect(latest).toEqual({
      table: id,
      location: expect.any(String),
      version: 2,
      branch: 'main',
      rows: 2,
      deleted_rows: 1,
      bytes: expect.any(Number),
      fragments: 1,
      indexes: 0,
      versions: { count: 2, first: 1, latest: 2 },
      tags: { stable: { version: 1 }, tried: { version: 3, branch: 'try' } },
      branches: { try: { from_version: 2 } },
      properties: { owner: 'ann' },
      metadata: {},
      schema: { fields: expect.objectContaining({ length: 2 }) },
    })
    const [stable] = lines(await run(['describe', location, id, '--tag', 'stable']))
    expect(stable).toMatchObject({ version: 1, branch: 'main', rows: 3, deleted_rows: 0 })
    const [tried] = lines(await run(['describe', location, id, '--tag', 'tried']))
    expect(tried).toMatchObject({ version: 3, branch: 'try', rows: 3, versions: { count: 2, latest: 3 } })
    const [first] = lines(await run(['describe', location, id, '--version', '1']))
    expect(first).toMatchObject({ version: 1, rows: 3 })
    const [branch] = lines(await run(['describe', location, id, '--branch', 'try']))
    expect(branch).toMatchObject({ version: 3, branch: 'try', rows: 3 })
  })

  it('head shows the first rows of a version, and schema its columns', async () => {
    const location = await open()
    expect(lines(await run(['head', location, id]))).toEqual([
      { origin: 'SFO', delay: 75 },
      { origin: 'LAX', delay: null },
    ])
    expect(lines(await run(['head', location, id, '-n', '1']))).toEqual([{ origin: 'SFO', delay: 75 }])
    expect(lines(await run(['head', location, id, '--tag', 'stable']))).toHaveLength(3)
    expect(lines(await run(['head', location, id, '--branch', 'try', '-n', '3']))).toHaveLength(3)
    await run(['add-columns', location, id, '--new-columns', '[{"name":"late","expression":"delay > 60"}]'])
    const columns = lines(await run(['schema', location, id]))
    expect(columns).toMatchObject([
      { column: 'origin', type: 'string', nullable: true },
      { column: 'delay', nullable: true },
      { column: 'late', type: 'bool', nullable: true },
    ])
    expect(lines(await run(['schema', location, id, '--version', '1']))).toHaveLength(2)
  })

  it('history tells what made each version', async () => {
    const location = await open()
    const history = lines(await run(['history', location, id])) as { transaction: string }[]
    expect(history).toMatchObject([
      { version: 2, operation: 'DeleteFromTable', tags: [], time: expect.stringMatching(/^20.*Z$/) },
      { version: 1, operation: 'CreateTable', tags: ['stable'] },
    ])
    const made = lines(await run(['transaction', location, history[0]!.transaction]))
    expect(made).toMatchObject([{ status: 'Succeeded', properties: { operation: 'DeleteFromTable' } }])
    expect(lines(await run(['history', location, id, '-n', '1']))).toMatchObject([{ version: 2 }])
    expect(lines(await run(['history', location, id, '--branch', 'try']))).toMatchObject([
      { version: 3, operation: 'InsertIntoTable', tags: ['tried'] },
      { version: 2, operation: 'DeleteFromTable', tags: [] },
    ])
  })

  it('query sorts by keys, each with its direction and its place for nulls', async () => {
    const location = await open()
    const origins = async (...options: string[]) => {
      const asked = ['query', location, id, '--tag', 'stable', '--select', 'origin', ...options]
      return (lines(await run(asked)) as { origin: string }[]).map(({ origin }) => origin).join(' ')
    }
    expect(await origins('--order-by', 'delay desc nulls last, origin')).toBe('SFO OAK LAX')
    expect(await origins('--order-by', 'delay nulls first')).toBe('LAX OAK SFO')
    expect(await origins('--order-by', 'delay desc nulls first', '--order-by', 'origin')).toBe('LAX SFO OAK')
    const json = '[{"column_name":"origin","ascending":false}]'
    expect(await origins('--order-by', json, '--limit', '1')).toBe('SFO')
    expect(await run(['query', location, id, '--order-by', json, '--order-by', 'x'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('give it once'),
    })
    const both = lines(
      await run(['query', location, id, '--select', 'origin', '--columns', 'delay', '--limit', '1']),
    )
    expect(both).toEqual([{ origin: 'SFO', delay: 75 }])
  })
})

describe('what is not there', () => {
  it('a table that is declared only has no rows and no columns', async () => {
    const location = await inDirectory()
    await run(['declare', location, 'd'])
    expect(lines(await run(['describe', location, 'd']))).toMatchObject([
      {
        table: 'd',
        version: null,
        rows: null,
        bytes: null,
        schema: null,
        is_only_declared: true,
        versions: { count: 0 },
      },
    ])
    expect(lines(await run(['history', location, 'd']))).toEqual([])
    expect(await run(['schema', location, 'd'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('InvalidTableState: The table is declared only'),
    })
  })

  it('what only another engine knows is null', async () => {
    const location = await inDirectory()
    await run(['declare', location, 'd'])
    await run(['create-version', location, 'd', '--version', '1', '--manifest-path', 'm1'])
    expect(lines(await run(['describe', location, 'd']))).toMatchObject([
      { version: 1, rows: null, schema: null },
    ])
    expect((await run(['schema', location, 'd'])).err).toContain('Another engine wrote version 1')
    expect(lines(await run(['history', location, 'd']))).toMatchObject([
      { version: 1, operation: 'CreateTableVersion' },
    ])
  })

  it('a tag says the version and the branch, so neither goes with it', async () => {
    for (const command of [
      'describe',
      'head',
      'schema',
      'count',
      'query',
      'stats',
      'describe-table',
      'revert',
    ]) {
      for (const other of [
        ['--version', '1'],
        ['--branch', 'b'],
      ]) {
        const { code, err } = await run([command, './none', 't', '--tag', 'x', ...other])
        // The version that a table reverts to is typed without its option.
        if (command === 'revert' && other[0] === '--version') continue
        expect([code, err]).toEqual([2, expect.stringContaining("'--tag <text>' cannot be used with option")])
      }
    }
  })

  it('columns to drop are names and paths, with commas between', async () => {
    const location = await inDirectory()
    const data = join(await freshFolder(), 'x.json')
    await writeFile(data, '[{"a":1,"b":2,"s":{"x":1,"y":2}}]')
    await run(['create', location, 'x', '--data', data])
    expect((await run(['drop-columns', location, 'x', '--columns', 's.x, b'])).err).toBe('')
    expect(lines(await run(['head', location, 'x']))).toEqual([{ a: 1, s: { y: 2 } }])
  })
})

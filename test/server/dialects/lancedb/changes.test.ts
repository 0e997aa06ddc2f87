import type { Connection } from '@lancedb/lancedb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Served, served } from './support/served.ts'

const people = [
  { id: 1, name: 'Ada', height: 1.5 },
  { id: 2, name: 'Bob', height: 2.5 },
  { id: 3, name: 'Eve', height: 3.5 },
]

describe('the remote client', () => {
  let server: Served
  let db: Connection
  beforeEach(async () => {
    server = await served('memory')
    db = await server.remote()
  })
  afterEach(() => server[Symbol.asyncDispose]())

  it('adds rows without some columns', async () => {
    const table = await db.createTable('people', people)
    await table.add([{ id: 4, name: 'Kim' }])
    expect(await table.countRows('height IS NULL')).toBe(1)
  })

  it('updates rows, by values and by expressions, on branches too', async () => {
    const table = await db.createTable('people', people)
    expect(await table.update({ valuesSql: { height: 'height + 1' }, where: 'id > 1' })).toEqual({
      rowsUpdated: 2,
      version: 2,
    })
    expect(await table.update({ values: { name: "O'Neil" }, where: 'id = 1' })).toMatchObject({ version: 3 })
    expect(await table.countRows("name = 'O''Neil' AND height = 1.5")).toBe(1)
    expect(await table.countRows('height > 3')).toBe(2)
    await expect(table.update({ valuesSql: { none: '1' } })).rejects.toThrow(/no column/)
    const dev = await (await table.branches()).create('dev')
    expect(await dev.update({ valuesSql: { height: '0' } })).toMatchObject({ rowsUpdated: 3 })
    expect([await dev.countRows('height = 0'), await table.countRows('height = 0')]).toEqual([3, 0])
  })

  it('merges rows, and hears of counts and of refusals', async () => {
    const table = await db.createTable('people', people)
    const merged = await table
      .mergeInsert('id')
      .whenMatchedUpdateAll({ where: 'source.height > target.height' })
      .whenNotMatchedInsertAll()
      .whenNotMatchedBySourceDelete({ where: "name = 'Eve'" })
      .execute([
        { id: 1, name: 'Ann', height: 9 },
        { id: 2, name: 'Bill', height: 0 },
        { id: 9, name: 'Zoe', height: 1 },
      ])
    expect(merged).toEqual({
      version: 2,
      numInsertedRows: 1,
      numUpdatedRows: 1,
      numDeletedRows: 1,
      numAttempts: 1,
      numRows: 2,
    })
    const found = (await table.query().select(['name']).toArray()).map(({ name }) => name)
    expect(found).toEqual(['Bob', 'Ann', 'Zoe'])
    const twice = table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .useIndex(false)
      .useLsm(false)
      .execute([people[0]!, people[0]!])
    await expect(twice).rejects.toThrow(/one row of the table/)
    const hurried = table.mergeInsert('id').whenMatchedUpdateAll().execute([people[0]!], { timeoutMs: 0 })
    await expect(hurried).rejects.toThrow('merge insert timed out')
    const patient = table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .execute([people[0]!], { timeoutMs: 60_000 })
    expect(await patient).toMatchObject({ numUpdatedRows: 1 })
  })
})

import type { Connection } from '@lancedb/lancedb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Served, served } from './support/served.ts'

const people = [
  { id: 1, name: 'Ada' },
  { id: 2, name: 'Bob' },
]

describe('the remote client', () => {
  let server: Served
  let db: Connection
  beforeEach(async () => {
    server = await served('memory')
    db = await server.remote()
  })
  afterEach(() => server[Symbol.asyncDispose]())

  const locationOf = async (name: string) => (await server.catalog.describeTable({ id: [name] })).location

  it('clones a table by its location, at a version or a tag, in a namespace too', async () => {
    const table = await db.createTable('people', people)
    await (await table.tags()).create('two', 1)
    await table.add([{ id: 3, name: 'Eve' }])
    const location = await locationOf('people')
    const clone = await db.cloneTable('clone', location)
    expect(await clone.countRows()).toBe(3)
    await clone.delete('id = 1')
    expect(await table.countRows()).toBe(3)
    expect(await (await db.cloneTable('first', location, { sourceVersion: 1 })).countRows()).toBe(2)
    expect(await (await db.cloneTable('tagged', location, { sourceTag: 'two' })).countRows()).toBe(2)
    expect(await (await db.cloneTable('deep', location, { isShallow: false })).countRows()).toBe(3)
    await db.createNamespace(['eu'])
    await db.cloneTable('people', location, { targetNamespacePath: ['eu'] })
    await db.dropTable('people')
    expect(await (await db.openTable('people', ['eu'])).countRows("name <> ''")).toBe(3)
    expect(await clone.countRows("name <> ''")).toBe(2)
  })

  it('hears what is wrong', async () => {
    await db.createTable('people', people)
    const location = await locationOf('people')
    await expect(db.cloneTable('people', location)).rejects.toThrow(/already exists/)
    await expect(db.cloneTable('x', 'memory://nowhere/none')).rejects.toThrow(/No table of this catalog/)
    await expect(db.cloneTable('x', '/data/people.lance')).rejects.toThrow(/Ask describeTable where/)
    await expect(db.cloneTable('x', location, { sourceVersion: 9 })).rejects.toThrow(/no version 9/)
    await expect(db.cloneTable('x', location, { sourceTag: 'none' })).rejects.toThrow(/no tag/)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Served, served } from './support/served.ts'

/*
 * How LanceDB's clients write names into paths, and what comes of it.
 */

const names = [
  'a b',
  'a+b',
  'a.b',
  'a:b',
  "a'b",
  'a"b',
  'a|b',
  'a&b=c',
  'é',
  '日本',
  '😀',
  '__proto__',
  'x'.repeat(255),
]

describe('unusual names', () => {
  let server: Served
  beforeAll(async () => {
    server = await served('lmdb', { listing: 'children' })
    await server.catalog.createNamespace({ id: ['remote'] })
    await server.catalog.createNamespace({ id: ['namespace'] })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it.each(names)('%s is a table through the remote client', async (name) => {
    const db = await server.remote()
    const table = await db.createTable(name, [{ id: 1 }], ['remote'])
    await table.add([{ id: 2 }])
    expect(await (await db.openTable(name, ['remote'])).countRows('id > 1')).toBe(1)
    expect(await db.tableNames(['remote'])).toContain(name)
    expect(await server.catalog.countTableRows({ id: ['remote', name] })).toMatchObject({ count: 2 })
  })

  // This client encodes names whole, so that slashes and the like are nothing special.
  it.each([...names, 'a/b', 'a?b', 'a#b', 'a%20b'])(
    '%s is a table through the namespace client',
    async (name) => {
      const db = await server.namespace()
      await db.createTable(name, [{ id: 1 }], ['namespace'])
      expect(await (await db.openTable(name, ['namespace'])).countRows()).toBe(1)
      expect(await db.tableNames(['namespace'])).toContain(name)
      await server.catalog.tableExists({ id: ['namespace', name] })
    },
  )

  it.each(['a b', 'a+b', 'é'])('%s is a namespace through both', async (name) => {
    const remote = await server.remote()
    await remote.createNamespace([name])
    await remote.createTable('t', [{ id: 1 }], [name])
    await remote.renameTable('t', 'u', { namespacePath: [name], newNamespacePath: ['remote'] })
    await remote.dropNamespace([name])
    const namespace = await server.namespace()
    await namespace.createNamespace([name])
    await namespace.createTable('t', [{ id: 1 }], [name])
    expect((await namespace.listNamespaces()).namespaces).toContain(name)
    await namespace.dropTable('t', [name])
    await remote.dropTable('u', ['remote'])
    await namespace.dropNamespace([name])
  })

  // The remote client writes these into the path as they are, where they mean something else.
  it.each(['a/b', 'a?b', 'a#b', '..'])(
    '%s does not reach the server through the remote client',
    async (name) => {
      const db = await server.remote()
      await expect(db.createTable(name, [{ id: 1 }])).rejects.toThrow('406')
    },
  )
})

describe('other delimiters', () => {
  it.each(['.', '::', '|', '€'])('%s through the remote client', async (idDelimiter) => {
    await using server = await served('memory')
    const db = await server.remote({ idDelimiter })
    await db.createNamespace(['a'])
    await db.createNamespace(['a', 'b'])
    const table = await db.createTable('t', [{ id: 1 }], ['a', 'b'])
    await table.add([{ id: 2 }])
    expect(await table.countRows()).toBe(2)
    expect([await db.tableNames(['a', 'b']), await db.tableNames()]).toEqual([['t'], []])
    expect((await db.listNamespaces(['a'])).namespaces).toEqual(['b'])
    // Its name of the root is the delimiter, and `.` in a path is a step to nowhere.
    if (idDelimiter !== '.') expect((await db.listNamespaces()).namespaces).toEqual(['a'])
    await server.catalog.tableExists({ id: ['a', 'b', 't'] })
    await db.dropTable('t', ['a', 'b'])
  })

  it('a base URL may end in a slash', async () => {
    await using server = await served('memory')
    const db = await server.remote({ path: '/' })
    await db.createTable('t', [{ id: 1 }])
    expect(await db.tableNames()).toEqual(['t'])
  })
})

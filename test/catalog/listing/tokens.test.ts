import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { type Stage, stages } from '../../histories/stages.ts'

const id = ['n', 't']
const refusal = { code: 'InvalidInput', message: expect.stringContaining('page_token') }

async function filled(store: string): Promise<Stage> {
  const stage = await stages[store]!()
  const { catalog } = stage
  for (const path of [['n'], ['m'], ['n', 'x'], ['n', 'y']]) await catalog.createNamespace({ id: path })
  for (const name of ['t', 'u']) {
    const table = ['n', name]
    await catalog.declareTable({ id: table })
    for (const version of [1, 2]) await catalog.createTableVersion({ id: table, version, manifest_path: 'm' })
    for (const tag of ['a', 'b']) await catalog.createTableTag({ id: table, tag, version: 1 })
    for (const branch of ['a', 'b']) await catalog.createTableBranch({ id: table, name: branch })
  }
  return stage
}

/** Every listing, each with what makes it another one. */
const listings: Readonly<Record<string, (catalog: LocalCatalog, page_token?: string) => Promise<object>>> = {
  tables: (c, page_token) => c.listTables({ id: ['n'], limit: 1, page_token }),
  'all tables': (c, page_token) => c.listAllTables({ limit: 1, page_token }),
  'created tables': (c, page_token) =>
    c.listTables({ id: ['n'], limit: 1, page_token, include_declared: false }),
  namespaces: (c, page_token) => c.listNamespaces({ id: ['n'], limit: 1, page_token }),
  'root namespaces': (c, page_token) => c.listNamespaces({ id: [], limit: 1, page_token }),
  versions: (c, page_token) => c.listTableVersions({ id, limit: 1, page_token }),
  'versions, latest first': (c, page_token) =>
    c.listTableVersions({ id, limit: 1, page_token, descending: true }),
  'versions of another table': (c, page_token) =>
    c.listTableVersions({ id: ['n', 'u'], limit: 1, page_token }),
  tags: (c, page_token) => c.listTableTags({ id, limit: 1, page_token }),
  branches: (c, page_token) => c.listTableBranches({ id, limit: 1, page_token }),
}

async function tokenOf(kind: string, catalog: LocalCatalog): Promise<string> {
  const { page_token } = (await listings[kind]!(catalog)) as { page_token?: string }
  expect(page_token, kind).toBeTypeOf('string')
  return page_token!
}

describe.each(['memory', 'lmdb'])('page tokens on %s', (store) => {
  test('serve the listing they came from and no other', async () => {
    await using stage = await filled(store)
    const { catalog } = stage
    const kinds = Object.keys(listings)
    for (const kind of kinds) {
      const token = await tokenOf(kind, catalog)
      for (const other of kinds) {
        const asked = listings[other]!(catalog, token)
        if (other === kind) await expect(asked).resolves.toBeTruthy()
        else await expect(asked, `${kind} → ${other}`).rejects.toMatchObject(refusal)
      }
    }
  })

  test('serve no other catalog', async () => {
    await using one = await filled(store)
    await using other = await filled(store)
    const token = await tokenOf('tables', one.catalog)
    await expect(listings.tables!(other.catalog, token)).rejects.toMatchObject(refusal)
  })

  test('go on with another limit and another delimiter', async () => {
    await using stage = await filled(store)
    const page_token = await tokenOf('tables', stage.catalog)
    const { tables } = await stage.catalog.listTables({ id: ['n'], page_token, limit: 50, delimiter: '::' })
    expect(tables).toEqual(['n::u'])
  })

  test('are refused when anything about them was changed', async () => {
    await using stage = await filled(store)
    const token = await tokenOf('tables', stage.catalog)
    await expect(listings.tables!(stage.catalog, token)).resolves.toBeTruthy()
    const changed = fc.oneof(
      fc.string({ minLength: 1, unit: 'binary' }),
      fc.base64String({ minLength: 1 }),
      fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
      fc
        .tuple(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '7', '-', '=', ' '))
        .map(([at, by]) => token.slice(0, at) + by + token.slice(at + 1)),
      fc.constantFrom(`${token}=`, `${token}AAAA`, ` ${token}`, token.toUpperCase(), 'x'.repeat(1_000_000)),
    )
    await fc.assert(
      fc.asyncProperty(changed, async (given) => {
        fc.pre(given !== token && given !== '')
        await expect(listings.tables!(stage.catalog, given)).rejects.toMatchObject(refusal)
      }),
      { numRuns: 200 },
    )
  })
})

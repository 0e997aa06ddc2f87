import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { fakeCatalog, type Seed } from '../../../src/testing/index.ts'
import { outcome } from './ways.ts'

describe('a seed', () => {
  it('makes namespaces and tables with all that belongs to them', async () => {
    const fake = await fakeCatalog({
      seed: {
        prod: {
          $properties: { owner: 'ops' },
          flights: [{ delay: 75 }, { delay: 12 }],
          arrow: tableFromArrays({ x: [1, 2, 3] }),
          bytes: tableToIPC(tableFromArrays({ x: [1, 2] }), {})!,
          inbox: [],
          empty: { $rows: [], $schema: { fields: [{ name: 'x', nullable: true, type: { type: 'int64' } }] } },
          orders: {
            $rows: [{ id: 1 }],
            $properties: { kind: 'ledger' },
            $changes: [
              { insert: [{ id: 2 }, { id: 3 }] },
              { delete: 'id = 1' },
              { metadata: { unit: 'eur' } },
            ],
            $tags: { audited: 2 },
            $branches: { dev: 3 },
          },
          lance: {
            $location: 's3://bucket/lance',
            $versions: [{ manifest_path: 'v1' }, { manifest_path: 'v2' }],
          },
          eu: {},
        },
        top: [{ x: 1 }],
      },
    })
    expect(fake.calls.length).toBe(0)
    expect((await fake.listTables({ id: [] })).tables).toEqual(
      ['arrow', 'bytes', 'empty', 'flights', 'inbox', 'lance', 'orders']
        .map((name) => `prod$${name}`)
        .concat('top'),
    )
    expect((await fake.listNamespaces({ id: ['prod'] })).namespaces).toEqual(['eu'])
    expect((await fake.describeNamespace({ id: ['prod'] })).properties).toEqual({ owner: 'ops' })
    const count = async (name: string, version?: number) =>
      outcome(fake.countTableRows({ id: ['prod', name], ...(version ? { version } : {}) }))
    expect(
      await Promise.all(
        ['flights', 'arrow', 'bytes', 'inbox', 'empty', 'orders', 'lance'].map((name) => count(name)),
      ),
    ).toEqual([
      { count: 2 },
      { count: 3 },
      { count: 2 },
      'InvalidTableState',
      { count: 0 },
      { count: 2 },
      'InvalidTableState',
    ])
    const orders = ['prod', 'orders']
    const { version } = await fake.getTableTagVersion({ id: orders, tag: 'audited' })
    expect([version, await count('orders', version)]).toEqual([2, { count: 3 }])
    expect((await fake.listTableVersions({ id: orders })).versions.length).toBe(4)
    expect(Object.keys((await fake.listTableBranches({ id: orders })).branches)).toContain('dev')
    expect(await fake.describeTable({ id: orders })).toMatchObject({ properties: { kind: 'ledger' } })
    expect(await fake.describeTable({ id: ['prod', 'lance'] })).toMatchObject({
      location: 's3://bucket/lance',
    })
  })

  it('takes Arrow data in JSON as base64', async () => {
    const arrow = (x: number[]) =>
      Buffer.from(tableToIPC(tableFromArrays({ x: Int16Array.from(x) }), {})!).toString('base64')
    const table = { $arrow: arrow([1, 2]), $changes: [{ insert: { $arrow: arrow([3]) } }], $tags: { all: 2 } }
    const fake = await fakeCatalog({ seed: JSON.parse(JSON.stringify({ t: table })) })
    const { schema } = await fake.describeTable({ id: ['t'], load_detailed_metadata: true })
    expect(schema!.fields.map(({ name, type }) => [name, type.type])).toEqual([['x', 'int16']])
    expect(await fake.countTableRows({ id: ['t'], predicate: 'x > 1' })).toEqual({ count: 2 })
    for (const [seed, message] of [
      [{ t: { $arrow: 'no base 64!' } }, /seed\.t\.\$arrow must be Arrow IPC in base64/],
      [{ t: { $arrow: 'AAAA' } }, /seed\.t: .*Arrow/],
      [{ t: { $arrow: arrow([1]), $rows: [] } }, /seed\.t has both \$rows and \$arrow/],
      [{ t: { $arrow: arrow([1]), $location: 's3://b/t' } }, /seed\.t has rows/],
      [{ t: { $changes: [{ insert: { arrow: '' } }] } }, /seed\.t\.\$changes\[0\]/],
    ] as const)
      await expect(fakeCatalog({ seed: seed as unknown as Seed })).rejects.toThrow(message)
  })

  it('keeps tags of any name', async () => {
    const tags = ['__proto__', 'constructor', 'prototype']
    const $tags = JSON.parse('{"__proto__":1,"constructor":1,"prototype":1}')
    const fake = await fakeCatalog({ seed: { t: { $rows: [{ x: 1 }], $tags } } })
    expect(Object.keys((await fake.listTableTags({ id: ['t'] })).tags).toSorted()).toEqual(tags)
  })

  it('may be a function, and may be added to, unseen and untouched by faults', async () => {
    const fake = await fakeCatalog({
      seed: async (catalog) => {
        await catalog.declareTable({ id: ['t'] })
      },
      faults: [{ fail: 'Internal' }],
    })
    await fake.seed({ prod: { flights: [{ delay: 1 }] } })
    await fake.seed({ prod: { more: [{ delay: 1 }] } })
    expect([fake.calls.length, fake.faults.unused().length]).toEqual([0, 1])
    await fake.faults.clear()
    expect((await fake.listAllTables({})).tables).toEqual(['prod$flights', 'prod$more', 't'])
  })

  it.each([
    [5, /^seed must be an object of names/],
    [[], /^seed must be an object of names/],
    [{ $rows: [] }, /^seed: the root is a namespace/],
    [{ $properties: {} }, /^seed\.\$properties: the root namespace has none/],
    [{ a: { b: 'x' } }, /^seed\.a\.b is a string\. Give a list of rows/],
    [{ a: { 'b c': null } }, /^seed\.a\["b c"\] is null/],
    [{ a: { b$c: {} } }, /^seed\.a\.b\$c: .*holds '\$'/],
    [{ a: { t: { $rows: [{ x: 1 }], u: [] } } }, /^seed\.a\.t\.u: a table holds no other names/],
    [{ a: { t: { $row: [] } } }, /^seed\.a\.t\.\$row is not known\. A table may have \$rows,/],
    [{ a: { $properties: 5 } }, /^seed\.a\.\$properties must be an object/],
    [{ a: { $properties: { x: 5 } } }, /^seed\.a: .*properties must be an object whose values are strings/],
    [{ a: { t: [{ x: 1 }, { x: 'a' }] } }, /^seed\.a\.t: Column "x" holds a number in row 0/],
    [{ a: { t: [5] } }, /^seed\.a\.t: Row 0 is a number/],
    [{ a: { t: { $rows: 5 } } }, /^seed\.a\.t\.\$rows must be a list of row objects/],
    [{ a: { t: { $rows: [{ x: 1 }], $versions: [] } } }, /^seed\.a\.t has rows.*Leave out \$versions/],
    [{ a: { t: { $rows: [{ x: 1 }], $changes: [{ insrt: [] }] } } }, /^seed\.a\.t\.\$changes\[0\] must be/],
    [
      { a: { t: { $rows: [{ x: 1 }], $changes: [{ delete: 'y = 1' }] } } },
      /^seed\.a\.t\.\$changes\[0\]: .*no column/,
    ],
    [{ a: { t: { $rows: [{ x: 1 }], $tags: { t: 7 } } } }, /^seed\.a\.t\.\$tags\.t: .*no version 7/],
    [{ a: { t: { $rows: [{ x: 1 }], $tags: { t: 'x' } } } }, /^seed\.a\.t\.\$tags\.t must be the number/],
    [{ a: { t: { $rows: [{ x: 1 }], $branches: { b: 7 } } } }, /^seed\.a\.t\.\$branches\.b: /],
    [{ a: { t: { $versions: [{}] } } }, /^seed\.a\.t\.\$versions\[0\]\.manifest_path/],
    [{ a: { t: { $location: 's3://x' }, u: { $location: 's3://x' } } }, /^seed\.a\.u: .*belongs to/],
  ])('that cannot be says where: %j', async (seed, message) => {
    const error = await fakeCatalog({ seed: seed as unknown as Seed }).catch((error) => error)
    expect(error.name).toBe('CatalogError')
    expect(error.message).toMatch(message)
  })

  it('nested without end is refused', async () => {
    let seed: object = {}
    for (let i = 0; i < 40; i++) seed = { n: seed }
    await expect(fakeCatalog({ seed: seed as Seed })).rejects.toThrow(
      /deeper than 32 levels|32 levels are the most/,
    )
  })
})

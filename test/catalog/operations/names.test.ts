import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../../support/catalogs.ts'
import { inspect, tablesOf } from '../../support/inspect.ts'
import { fails, refuses, refusesEach } from '../../support/refusals.ts'
import { countOf, numbered } from '../../support/rows.ts'

const odd = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '.',
  '..',
  'a/b',
  '/',
  'a\\b',
  ' ',
  'x y',
  '%2F',
  '?',
  '#',
  '\u00e9',
  'e\u0301',
  '\u{1F6EB}',
  '\uffff',
  '\u{10ffff}',
  'CON',
  'null',
  '0',
  '\u202e',
  'x'.repeat(255),
  '\u{1F6EB}'.repeat(63),
]

const bad: readonly (readonly [string, unknown, string | RegExp])[] = [
  ['empty', '', 'is empty'],
  ['too long in ASCII', 'x'.repeat(256), '256 bytes'],
  ['too long in UTF-8', 'é'.repeat(128), '256 bytes'],
  ['with NUL', 'a\0b', 'U+0000'],
  ['with a control character', 'a\nb', 'U+000A'],
  ['with DEL', '\x7f', 'U+007F'],
  ['with half a surrogate pair', '\ud83d', 'surrogate'],
  ['with the default delimiter', 'a$b', "'$'"],
  ['a number', 7, 'must be a string'],
  ['null', null, 'must be a string'],
  ['a list', ['a'], 'must be a string'],
]

eachCatalog((open) => {
  describe('names', () => {
    // A URL takes these for steps in its path, when they stand alone.
    const inReach = (names: readonly string[]) =>
      names.filter((n) => !open.remote || (n !== '.' && n !== '..'))

    it('that look odd simply work, for namespaces and tables', async () => {
      const catalog = await open()
      const names = inReach(odd)
      for (const name of names) {
        await catalog.createNamespace({ id: [name], properties: { for: name } })
        await catalog.declareTable({ id: [name, name] })
      }
      expect((await catalog.listNamespaces({ id: [] })).namespaces).toEqual(
        [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      )
      for (const name of names) {
        expect(await catalog.describeNamespace({ id: [name] })).toEqual({ properties: { for: name } })
        expect(await catalog.tableExists({ id: [name, name] })).toEqual({})
        expect(await catalog.listTables({ id: [name] })).toEqual({ tables: [`${name}$${name}`] })
        await catalog.renameTable({ id: [name, name], new_table_name: 't' })
        await catalog
          .renameTable({ id: [name, 't'], new_table_name: name, new_namespace_id: [] })
          .catch((error) => {
            expect(error).toMatchObject({ code: 'TableAlreadyExists' })
          })
      }
      for (const name of names) await catalog.dropNamespace({ id: [name], behavior: 'Cascade' })
      expect(await inspect(catalog)).toEqual({ namespaces: {}, tables: {} })
    })

    it('that look odd hold rows like others', async () => {
      const catalog = await open()
      for (const name of inReach(['__proto__', '..', 'a/b', '\u{1F6EB}', 'x'.repeat(255)])) {
        await catalog.createTable({ id: [name], data: numbered(2) })
        await catalog.insertIntoTable({ id: [name], data: numbered(1) })
        expect(await countOf(catalog, [name])).toBe(3)
      }
    })

    it('are compared as given: case and Unicode form make another name', async () => {
      const catalog = await open()
      for (const name of ['a', 'A', '\u00e9', 'e\u0301']) await catalog.declareTable({ id: [name] })
      expect(await tablesOf(catalog)).toHaveLength(4)
    })

    it.each(bad)('%s are refused wherever one is given', async (_, name, why) => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      const id = ['n', name] as string[]
      await refusesEach(
        catalog,
        [
          () => catalog.createNamespace({ id }),
          () => catalog.describeNamespace({ id }),
          () => catalog.dropNamespace({ id, mode: 'Skip' }),
          () => catalog.listNamespaces({ id }),
          () => catalog.listTables({ id }),
          () => catalog.declareTable({ id }),
          () => catalog.createTable({ id, data: numbered(1) }),
          () => catalog.registerTable({ id, location: 's3://bucket/t' }),
          () => catalog.describeTable({ id }),
          () => catalog.dropTable({ id }),
          () => catalog.countTableRows({ id }),
          () => catalog.renameTable({ id: ['t'], new_table_name: 'u', new_namespace_id: id }),
          () => catalog.batchCommitTables({ operations: [{ declare_table: { id } }] }),
        ],
        'InvalidInput',
        why,
      )
      await refuses(
        catalog,
        () => catalog.renameTable({ id: ['t'], new_table_name: name as string }),
        'InvalidInput',
        'new_table_name',
        typeof name === 'string' ? why : 'must be a string',
      )
    })

    it('go 32 levels deep, and 33 or 40 are refused', async () => {
      const catalog = await open()
      const deep = (levels: number) =>
        Array.from({ length: levels }, (_, i) => `level ${i} ${'x'.repeat(200)}`)
      for (let levels = 1; levels < 32; levels++) await catalog.createNamespace({ id: deep(levels) })
      await catalog.createTable({ id: deep(32), data: numbered(1) })
      expect(await countOf(catalog, deep(32))).toBe(1)
      expect(await tablesOf(catalog)).toEqual([deep(32).join('$')])
      const { page_token } = await catalog.listAllTables({ limit: 0 })
      expect((await catalog.listAllTables({ page_token })).tables).toHaveLength(1)
      for (const levels of [33, 40, 100_000]) {
        const id = Array<string>(levels).fill('n')
        await refusesEach(
          catalog,
          [
            () => catalog.createNamespace({ id }),
            () => catalog.declareTable({ id }),
            () => catalog.listTables({ id }),
            () => catalog.tableExists({ id }),
          ],
          'InvalidInput',
          `${levels} names`,
          '32 levels are the most',
        )
      }
    })
  })

  describe('an id', () => {
    it.each([
      ['missing', undefined, 'id is missing'],
      ['null', null, 'id must be a list of names'],
      ['text', 'prod$t', 'id must be a list of names'],
      ['a number', 7, 'id must be a list of names'],
      ['an object', { 0: 't', length: 1 }, 'id must be a list of names'],
      ['a list with a hole', [undefined], /id(\[0\])? (is missing|must be)/],
    ])('that is %s is refused', async (_, id, message) => {
      const catalog = await open()
      await refusesEach(
        catalog,
        [
          () => catalog.declareTable({ id } as never),
          () => catalog.listTables({ id } as never),
          () => catalog.dropNamespace({ id } as never),
          () => catalog.countTableRows({ id } as never),
        ],
        'InvalidInput',
        message,
      )
    })

    it('of a table is not the root', async () => {
      const catalog = await open()
      await refusesEach(
        catalog,
        [
          () => catalog.declareTable({ id: [] }),
          () => catalog.dropTable({ id: [] }),
          () => catalog.renameTable({ id: [], new_table_name: 'x' }),
          () => catalog.countTableRows({ id: [] }),
        ],
        'InvalidInput',
        'id is empty, which is the root namespace',
        'give the table',
      )
    })
  })

  describe('page tokens', () => {
    it('forged, cut, changed, or used for another listing, namespace or filter are refused', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await catalog.createNamespace({ id: ['m'] })
      for (const id of [['a'], ['b'], ['n', 'a'], ['n', 'b'], ['m', 'a'], ['m', 'b']])
        await catalog.declareTable({ id })
      for (const version of [1, 2])
        await catalog.createTableVersion({ id: ['a'], version, manifest_path: 'm' })
      const { page_token } = await catalog.listTables({ id: ['n'], limit: 1 })
      const token = page_token!
      expect(await catalog.listTables({ id: ['n'], page_token: token })).toEqual({ tables: ['n$b'] })
      const forged = [
        'x',
        token.slice(1),
        token.slice(0, -1),
        `${token}A`,
        `${token}=`,
        token.toLowerCase(),
        [...token].reverse().join(''),
        Buffer.from('["a"]').toString('base64url'),
        'A'.repeat(100_000),
      ]
      for (const page_token of forged) {
        await fails(
          catalog.listTables({ id: ['n'], page_token }),
          'InvalidInput',
          'page_token',
          'leave it out',
        )
      }
      await refusesEach(
        catalog,
        [
          () => catalog.listTables({ id: ['m'], page_token: token }),
          () => catalog.listTables({ id: [], page_token: token }),
          () => catalog.listAllTables({ page_token: token }),
          () => catalog.listTables({ id: ['n'], page_token: token, include_declared: false }),
          () => catalog.listNamespaces({ id: ['n'], page_token: token }),
          () => catalog.listTableVersions({ id: ['n', 'a'], page_token: token }),
          () => catalog.listTableTags({ id: ['n', 'a'], page_token: token }),
          () => catalog.listTableBranches({ id: ['n', 'a'], page_token: token }),
        ],
        'InvalidInput',
        'page_token',
        'Pass back the page_token',
      )
      const versions = await catalog.listTableVersions({ id: ['a'], limit: 1 })
      await fails(
        catalog.listTableVersions({ id: ['a'], descending: true, page_token: versions.page_token }),
        'InvalidInput',
        'page_token',
      )
      const another = await open()
      await another.createNamespace({ id: ['n'] })
      await fails(another.listTables({ id: ['n'], page_token: token }), 'InvalidInput', 'page_token')
      await fails(
        catalog.listTables({ id: ['n'], page_token: 7 } as never),
        'InvalidInput',
        'page_token must be',
      )
    })

    it('go with any delimiter and any limit', async () => {
      const catalog = await open()
      for (const name of ['a', 'b', 'c']) await catalog.declareTable({ id: [name] })
      const { page_token } = await catalog.listTables({ id: [], limit: 1 })
      expect(await catalog.listTables({ id: [], limit: 2, delimiter: '.', page_token })).toEqual({
        tables: ['b', 'c'],
      })
    })
  })

  describe('numbers, words and maps', () => {
    it.each([-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1', true, [1], {}])(
      'the version %j is refused wherever one is given',
      async (version) => {
        const catalog = await open()
        await catalog.createTable({ id: ['t'], data: numbered(1) })
        await catalog.createTableTag({ id: ['t'], tag: 'x', version: 1 })
        const request = { id: ['t'], version } as never
        await refusesEach(
          catalog,
          [
            () => catalog.countTableRows(request),
            () => catalog.queryTable(request),
            () => catalog.describeTable(request),
            () => catalog.tableExists(request),
            () => catalog.describeTableVersion(request),
            () => catalog.restoreTable(request),
            () => catalog.updateTableTag({ id: ['t'], tag: 'x', version } as never),
            () => catalog.createTableTag({ id: ['t'], tag: 'y', version } as never),
            () => catalog.createTableVersion({ id: ['t'], version, manifest_path: 'm' } as never),
          ],
          'InvalidInput',
          'version must be a whole number from 0 to 2^53',
        )
        const ranges = [{ start_version: version, end_version: -1 }] as never
        await refuses(
          catalog,
          () => catalog.batchDeleteTableVersions({ id: ['t'], ranges }),
          'InvalidInput',
          'ranges[0].start_version must be',
        )
      },
    )

    it.each([-2, 0.5, 2 ** 53, '3'])('the end %j of a range is refused', async (end_version) => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      await refuses(
        catalog,
        () =>
          catalog.batchDeleteTableVersions({
            id: ['t'],
            ranges: [{ start_version: 0, end_version }],
          } as never),
        'InvalidInput',
        'ranges[0].end_version must be',
        '-1',
      )
    })

    it.each([-1, 0.5, '10', Number.NaN])('the limit %j is refused', async (limit) => {
      const catalog = await open()
      await refusesEach(
        catalog,
        [
          () => catalog.listTables({ id: [], limit } as never),
          () => catalog.listAllTables({ limit } as never),
          () => catalog.listNamespaces({ id: [], limit } as never),
        ],
        'InvalidInput',
        'limit must be a whole number from 0',
      )
    })

    it('unknown modes and behaviors are refused, naming those there are', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      for (const [attempt, message] of [
        [
          () => catalog.createNamespace({ id: ['x'], mode: 'Replace' }),
          'mode must be Create, ExistOk or Overwrite',
        ],
        [() => catalog.dropNamespace({ id: ['n'], mode: 'Ignore' }), 'mode must be Fail or Skip'],
        [() => catalog.dropNamespace({ id: ['n'], behavior: 'All' }), 'behavior must be Restrict or Cascade'],
        [
          () => catalog.createTable({ id: ['x'], data: [{}], mode: '' }),
          'mode must be Create, ExistOk or Overwrite',
        ],
        [
          () => catalog.insertIntoTable({ id: ['x'], data: [{}], mode: 'Add' }),
          'mode must be Append or Overwrite',
        ],
        [
          () => catalog.registerTable({ id: ['x'], location: 's3://b/x', mode: 'ExistOk' }),
          'mode must be Create or',
        ],
      ] as const) {
        await refuses(catalog, attempt, 'InvalidInput', message)
      }
    })

    it('properties and metadata are maps of text to text, of at most 1,000 entries and 64 KiB', async () => {
      const catalog = await open()
      await catalog.createTable({ id: ['t'], data: numbered(1) })
      const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, 'v']))
      for (const [map, message] of [
        [{ a: 1 }, 'values are strings'],
        [{ a: null }, 'values are strings'],
        [['a'], 'values are strings'],
        ['a', 'values are strings'],
        [many, '1001 entries; 1000 are the most'],
        [{ a: 'x'.repeat(65_536) }, '65,537 bytes'],
        [{ '\ud800': '' }, 'surrogate'],
      ] as const) {
        await refusesEach(
          catalog,
          [
            () => catalog.createNamespace({ id: ['x'], properties: map } as never),
            () => catalog.declareTable({ id: ['x'], properties: map } as never),
            () => catalog.createTable({ id: ['x'], data: numbered(1), properties: map } as never),
            () => catalog.updateTableSchemaMetadata({ id: ['t'], metadata: map } as never),
          ],
          'InvalidInput',
          message,
        )
      }
    })

    it('missing fields are named', async () => {
      const catalog = await open()
      await catalog.createTable({ id: ['t'], data: numbered(1) })
      for (const [attempt, field] of [
        [() => catalog.renameTable({ id: ['t'] } as never), 'new_table_name is missing'],
        [() => catalog.deleteFromTable({ id: ['t'] } as never), 'predicate is missing'],
        [() => catalog.registerTable({ id: ['x'] } as never), 'location is missing'],
        [() => catalog.createTableTag({ id: ['t'], version: 1 } as never), 'tag is missing'],
        [() => catalog.updateTableTag({ id: ['t'], tag: 'x' } as never), 'version is missing'],
        [() => catalog.updateTableSchemaMetadata({ id: ['t'] } as never), 'metadata is missing'],
        [() => catalog.createTableVersion({ id: ['t'], version: 2 } as never), 'manifest_path is missing'],
        [() => catalog.createTableBranch({ id: ['t'] } as never), 'name is missing'],
        [() => catalog.batchDeleteTableVersions({ id: ['t'] } as never), 'ranges is missing'],
        [() => catalog.alterTransaction({ id: ['x'] } as never), 'actions is missing'],
        [() => catalog.createTable({ id: ['x'] } as never), /data (is missing|must be)/],
        [() => catalog.insertIntoTable({ id: ['t'] } as never), /data (is missing|must be)/],
      ] as const) {
        await refuses(catalog, attempt, 'InvalidInput', field)
      }
    })

    it('identity and context of the wrong shape are refused', async () => {
      const catalog = await open()
      for (const extra of [
        { identity: 'me' },
        { identity: { api_key: 7 } },
        { context: { a: 1 } },
        { context: [] },
      ]) {
        await refuses(
          catalog,
          () => catalog.declareTable({ id: ['t'], ...extra } as never),
          'InvalidInput',
          Object.keys(extra)[0]!,
        )
      }
    })
  })
})

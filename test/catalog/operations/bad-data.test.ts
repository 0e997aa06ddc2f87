import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/tabularium/index.ts'
import { eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { eachContent, pathsOf } from '../../support/contents.ts'
import { inspect } from '../../support/inspect.ts'
import { fails, refuses, refusesEach } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

// It tries each cut and hundreds of flipped bits.
limitEach(60)

const id = ['t']

const arrow = tableFromArrays({ n: [1, 2, 3], s: ['a', null, 'ccc'], d: [0.5, 1.5, 2.5] })
const stream = tableToIPC(arrow, { format: 'stream' })!
const file = tableToIPC(arrow, { format: 'file' })!

eachLocalCatalog((open) => {
  describe('a predicate', () => {
    it.each([
      ['is empty', '', /./],
      ['is blank', '  \n', /./],
      ['ends too early', 'n >', /position|column|end/i],
      ['has a parenthesis too few', '(n > 1', /./],
      ['has a parenthesis too many', 'n > 1)', /./],
      ['has text after its end', 'n > 1; DROP TABLE t', /./],
      ['is a statement', 'SELECT * FROM t', /./],
      ['has two in a row', 'n > 1 n < 3', /./],
      ['has an unclosed text', "name = 'abc", /./],
      ['has an unclosed quoted name', '`name = 1', /./],
      ['names an unknown field', 'nothing = 1', 'nothing'],
      ['names an unknown nested field', 'place.nothing = 1', 'nothing'],
      ['names a member of Object', 'constructor = 1', 'constructor'],
      ['names __proto__', '__proto__ = 1', '__proto__'],
      ['compares a number with a text', "n = 'abc'", /./],
      ['is no condition', 'n + 1', /./],
      ['is a text', "'abc'", /./],
      ['adds a text', 'name + 1 > 2', /./],
      ['calls an unknown function', 'no_such(n) = 1', 'no_such'],
      ['has a broken regular expression', "regexp_like(name, '(')", /./],
      ['holds NUL', 'n = \0', /./],
      ['holds half a surrogate pair outside a text', 'n = \ud800', /./],
      ['nests 100,000 parentheses', `${'('.repeat(100_000)}n = 1${')'.repeat(100_000)}`, /./],
      ['nests 100,000 parentheses left open', '('.repeat(100_000), /./],
      ['nests 1,000 NOTs', `${'NOT '.repeat(1_000)}odd`, /./],
      ['is 10 MB long', `name = '${'x'.repeat(10_000_000)}'`, /64 KiB|65,?536|long/],
      ['is 10 MB of spaces', `n = 1${' '.repeat(10_000_000)}`, /64 KiB|65,?536|long/],
    ])('that %s is refused wherever one is given, and nothing changes', async (_, predicate, message) => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3).map((row) => ({ ...row, place: { city: 'Rome' } })) })
      const errors = await refusesEach(
        catalog,
        [
          () => catalog.countTableRows({ id, predicate }),
          () => catalog.deleteFromTable({ id, predicate }),
          () => catalog.queryTable({ id, filter: predicate }),
        ],
        'InvalidInput',
        message,
      )
      for (const error of errors) expect(error.message.length).toBeLessThan(1_000)
      expect(await countOf(catalog, id)).toBe(3)
    })

    it('that is no text is refused', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      for (const predicate of [7, true, ['true'], {}]) {
        await refuses(
          catalog,
          () => catalog.countTableRows({ id, predicate } as never),
          'InvalidInput',
          'predicate must',
        )
        await refuses(
          catalog,
          () => catalog.deleteFromTable({ id, predicate } as never),
          'InvalidInput',
          'predicate must',
        )
      }
    })

    it('is checked also when there are no rows to hold it against', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await catalog.deleteFromTable({ id, predicate: 'true' })
      for (const predicate of ['nothing = 1', 'n >', "n = 'abc'"]) {
        await fails(catalog.countTableRows({ id, predicate }), 'InvalidInput')
        await fails(catalog.deleteFromTable({ id, predicate }), 'InvalidInput')
      }
    })

    it('with a catastrophic regular expression does not hang', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ s: `${'a'.repeat(50_000)}!` }] })
      for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(.*a){20}$', '(a*)*b']) {
        const count = await countOf(catalog, id, { predicate: `regexp_like(s, '${pattern}')` }).catch(
          (error) => {
            expect(error).toBeInstanceOf(CatalogError)
            return 0
          },
        )
        expect(count).toBe(0)
      }
      expect(await countOf(catalog, id, { predicate: `s LIKE '${'%a'.repeat(1_000)}%b'` })).toBe(0)
    })

    it('means data, never code', async () => {
      const catalog = await open()
      const names = ['process.exit(1)', '"); throw 1; ("', '$' + '{1}', '\\', "it's", '`', '\u2028']
      await catalog.createTable({
        id,
        data: names.map((name) => ({ [name]: 1, name })).map(({ name }) => ({ name })),
      })
      for (const name of names) {
        expect(await countOf(catalog, id, { predicate: `name = '${name.replaceAll("'", "''")}'` })).toBe(1)
      }
      const row = Object.fromEntries(names.map((name, i) => [name, i]))
      await catalog.createTable({ id: ['columns'], data: [row] })
      for (const [name, i] of Object.entries(row)) {
        const predicate = `\`${name.replaceAll('`', '``')}\` = ${i}`
        expect(await countOf(catalog, ['columns'], { predicate })).toBe(1)
      }
    })
  })
})

eachCatalog((open) => {
  describe('Arrow bytes', () => {
    it('that are empty, or no Arrow at all, are refused', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: arrow })
      for (const data of [
        new Uint8Array(0),
        new Uint8Array(8),
        new Uint8Array(1_000),
        new TextEncoder().encode('ARROW1\0\0'),
        new TextEncoder().encode('{"n":1}'),
        Uint8Array.from({ length: 4_096 }, (_, i) => (i * 7_919) % 256),
        new ArrayBuffer(0),
      ]) {
        await refuses(catalog, () => catalog.createTable({ id: ['u'], data }), 'InvalidInput')
        await refuses(catalog, () => catalog.insertIntoTable({ id, data }), 'InvalidInput')
      }
      expect(await countOf(catalog, id)).toBe(3)
    })

    it.skipIf(open.remote)(
      'cut anywhere, or with any bit flipped, are refused or read as rows: never worse',
      async () => {
        const catalog = await open()
        await catalog.createTable({ id, data: arrow })
        const damaged: Uint8Array[] = []
        for (const bytes of [stream, file]) {
          for (let length = 0; length < bytes.length; length += 23) damaged.push(bytes.slice(0, length))
          for (let at = 0; at < bytes.length * 8; at += 61) {
            const flipped = bytes.slice()
            flipped[at >> 3]! ^= 1 << (at & 7)
            damaged.push(flipped)
          }
        }
        const before = await inspect(catalog)
        let refused = 0
        for (const data of damaged) {
          const error = await catalog.createTable({ id: ['u'], data }).then(
            () => undefined,
            (thrown: unknown) => thrown,
          )
          if (error === undefined) {
            // What was taken can be read to the end.
            await rowsOf(catalog, ['u'])
            await catalog.dropTable({ id: ['u'] })
            continue
          }
          refused++
          expect(error).toMatchObject({
            code: expect.stringMatching(/^(InvalidInput|TableSchemaValidationError|Unsupported)$/),
          })
        }
        expect(refused).toBeGreaterThan(damaged.length / 4)
        expect(await inspect(catalog)).toEqual(before)
      },
    )

    it('whose columns are others than the table’s are refused, naming them', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: arrow })
      for (const [columns, name] of [
        [{ other: [1] }, 'other'],
        [{ n: ['text'], s: ['a'], d: [1.5] }, 'n'],
        [{ n: [1], s: ['a'], d: [1.5], extra: [1] }, 'extra'],
      ] as const) {
        const data = tableToIPC(tableFromArrays(columns as unknown as Record<string, number[]>), {
          format: 'stream',
        })!
        await refuses(
          catalog,
          () => catalog.insertIntoTable({ id, data }),
          'TableSchemaValidationError',
          name,
        )
      }
    })

    it('of more than the limit are refused', async () => {
      const catalog = await open({ arrowBytes: 100 })
      await refuses(
        catalog,
        () => catalog.createTable({ id, data: stream }),
        'InvalidInput',
        '100 are the most',
        'Insert it in parts',
      )
    })
  })

  describe('rows', () => {
    it.each([
      ['text', 'rows'],
      ['a number', 7],
      ['null', null],
      ['a list of numbers', [1, 2]],
      ['a list of lists', [[1], [2]]],
      ['a list with a hole', [{ n: 1 }, undefined]],
      ['a row of functions', [{ n: () => 1 }]],
      ['columns of mixed types', [{ n: 1 }, { n: 'x' }]],
      ['an object that is no table', { n: [1, 2] }],
    ])('that are %s are refused', async (_, data) => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ n: 1 }] })
      for (const attempt of [
        () => catalog.createTable({ id: ['u'], data } as never),
        () => catalog.insertIntoTable({ id, data } as never),
      ]) {
        const before = await inspect(catalog)
        const error = await attempt().catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({
          code: expect.stringMatching(/^(InvalidInput|TableSchemaValidationError)$/),
        })
        expect(await inspect(catalog)).toEqual(before)
      }
    })

    it('of which none names a column are refused, and taken as soon as one does, whichever way they come', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [{ n: 1, s: 'x' }] })
      const schema = { fields: [{ name: 'n', nullable: true, type: { type: 'double' } }] } as const
      type Rows = readonly Record<string, number | null>[]
      async function* streamed(rows: Rows) {
        yield* rows
      }
      async function* grouped(rows: Rows) {
        yield rows.slice(0, 1)
        yield rows.slice(1)
      }
      let number = 0
      const ways: Record<string, (rows: Rows) => Promise<unknown>> = {
        insert: (data) => catalog.insertIntoTable({ id, data }),
        overwrite: (data) => catalog.insertIntoTable({ id, data, schema, mode: 'Overwrite' }),
        stream: (rows) => catalog.insertIntoTable({ id, data: streamed(rows) }),
        groups: (rows) => catalog.insertIntoTable({ id, data: grouped(rows) }),
        merge: (data) =>
          catalog.mergeInsertIntoTable({ id, on: 'n', data, when_not_matched_insert_all: true }),
        create: (data) => catalog.createTable({ id: [`c${number++}`], data, schema }),
        'create from a stream': (rows) =>
          catalog.createTable({ id: [`c${number++}`], data: streamed(rows), schema }),
        'insert in a transaction': (data) => catalog.transaction((tx) => tx.insertIntoTable({ id, data })),
        'stream in a transaction': (rows) =>
          catalog.transaction((tx) => tx.insertIntoTable({ id, data: streamed(rows) })),
      }
      // More rows than are held together become columns in parts.
      const count = fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 1, max: 4 }) },
        { weight: 1, arbitrary: fc.constantFrom(1_025, 4_097, 8_192, 8_193) },
      )
      const given = fc.record({
        way: fc.constantFrom(...Object.keys(ways)),
        count,
        named: fc.option(fc.nat()),
      })
      await fc.assert(
        fc.asyncProperty(given, async ({ way, count, named }) => {
          // A merge needs its key in each row.
          const isNamed = named !== null && way !== 'merge'
          const rows: Record<string, number | null>[] = Array.from({ length: count }, () => ({}))
          if (isNamed) rows[named % count] = { n: named % 2 === 0 ? null : named }
          const attempt = () => ways[way]!(rows)
          if (isNamed) await attempt()
          else {
            const subject = count === 1 ? 'The row names no column' : /None of the [\d,]+ rows names a column/
            await refuses(catalog, attempt, 'InvalidInput', subject, 'at least one column')
          }
        }),
        { numRuns: 40 },
      )
    })

    it('that are none need a schema', async () => {
      const catalog = await open()
      await refuses(catalog, () => catalog.createTable({ id, data: [] }), 'InvalidInput', 'schema')
    })

    it('with column names that mean something to JavaScript are kept', async () => {
      const catalog = await open()
      const row = JSON.parse('{"__proto__":1,"constructor":2,"toString":3}') as Record<string, number>
      await catalog.createTable({ id, data: [row] })
      expect(await countOf(catalog, id, { predicate: '`__proto__` = 1 AND constructor = 2' })).toBe(1)
      const { schema } = await catalog.describeTable({ id, load_detailed_metadata: true })
      expect(schema!.fields.map(({ name }) => name)).toEqual(['__proto__', 'constructor', 'toString'])
    })

    it('with a schema that is none are refused', async () => {
      const catalog = await open()
      for (const schema of [
        7,
        'int64',
        {},
        { fields: 7 },
        { fields: [{ name: 'n' }] },
        { fields: [null] },
        { fields: [{ name: 'n', type: { type: 'list', fields: [7] } }] },
        { fields: [{ name: 'n', type: { type: 'int64' }, metadata: { a: 1 } }] },
        { fields: [{ name: 'n', nullable: true, type: { type: 'no such type' } }] },
        { fields: [{ nullable: true, type: { type: 'int64' } }] },
      ]) {
        const before = await inspect(catalog)
        const error = await catalog
          .createTable({ id, data: [{ n: 1 }], schema } as never)
          .catch((thrown) => thrown)
        expect(error).toMatchObject({
          code: expect.stringMatching(/^(InvalidInput|TableSchemaValidationError|Unsupported)$/),
        })
        expect(await inspect(catalog)).toEqual(before)
      }
    })
  })
})

eachContent((open) => {
  describe('content that is', () => {
    const prepare = async () => {
      const { catalog, content } = await open({ cacheBytes: 0 })
      const first = await pathsOf(content)
      await catalog.createTable({ id, data: numbered(100) })
      const paths = (await pathsOf(content)).filter((path) => !first.includes(path))
      await catalog.createTable({ id: ['intact'], data: numbered(2) })
      return { catalog, content, paths }
    }
    const rewrite = async (
      content: Awaited<ReturnType<typeof open>>['content'],
      path: string,
      bytes: Uint8Array,
    ) => {
      await content.remove(path)
      await content.put(path, bytes)
    }

    it('missing is named, with what to do, and nothing else suffers', async () => {
      const { catalog, content, paths } = await prepare()
      expect(paths.length).toBeGreaterThanOrEqual(2)
      for (const path of paths) {
        const bytes = (await content.get(path))!.slice()
        await content.remove(path)
        await refusesEach(
          catalog,
          [() => catalog.queryTable({ id }), () => catalog.countTableRows({ id, predicate: 'n * 2 > 7' })],
          'InvalidTableState',
          path.split('/').at(-1)!,
          'missing',
          'Restore',
        )
        // Counting all rows reads none.
        expect(await countOf(catalog, id)).toBe(100)
        expect(await rowsOf(catalog, ['intact'])).toEqual(numbered(2))
        await content.put(path, bytes)
      }
      expect(await rowsOf(catalog, id)).toEqual(numbered(100))
    })

    it('cut short or changed is found out, or read as rows: never worse', async () => {
      const { catalog, content, paths } = await prepare()
      let found = 0
      for (const path of paths) {
        const bytes = (await content.get(path))!.slice()
        const flipped = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => {
          const copy = bytes.slice()
          copy[Math.floor(copy.length * part)]! ^= 0xff
          return copy
        })
        for (const damaged of [
          new Uint8Array(0),
          bytes.slice(0, bytes.length >> 1),
          bytes.slice(0, -1),
          ...flipped,
        ]) {
          await rewrite(content, path, damaged)
          const error = await catalog.queryTable({ id }).catch((thrown: unknown) => thrown)
          if (error instanceof Error) {
            found++
            expect(error).toMatchObject({
              code: 'InvalidTableState',
              message: expect.stringContaining(path.split('/').at(-1)!),
            })
          }
        }
        await rewrite(content, path, bytes)
      }
      expect(found).toBeGreaterThanOrEqual(paths.length * 3)
      expect(await rowsOf(catalog, id)).toEqual(numbered(100))
    })

    it('in the way of the next version does not stop it', async () => {
      const { catalog, content } = await prepare()
      const { location } = await catalog.describeTable({ id })
      const prefix = location.slice(location.indexOf('tables/'))
      for (const name of ['_versions/2.json', '_versions/0000000002.json', 'data/0.arrow']) {
        await content.put(`${prefix}/${name}`, new Uint8Array(3))
      }
      expect(await catalog.insertIntoTable({ id, data: numbered(1) })).toMatchObject({ version: 2 })
      expect(await rowsOf(catalog, id)).toHaveLength(101)
    })
  })
})

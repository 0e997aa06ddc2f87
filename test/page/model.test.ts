import * as arrow from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeText, differenceOf } from '../../src/page/model/difference.ts'
import { errorOffset, splitAt } from '../../src/page/model/predicate-error.ts'
import { formatRoute, parseRoute, type Route, startRoute, tokenIn } from '../../src/page/model/route.ts'
import { decodeRows } from '../../src/page/model/rows.ts'
import { columnPath, emptyTable, typeText } from '../../src/page/model/schema.ts'
import { piecesOf, plainText, shownBytes, signed } from '../../src/page/model/text.ts'
import { keyOf, treeRows } from '../../src/page/model/tree.ts'
import { cellText } from '../../src/page/model/values.ts'
import { rowByKey, scrollTo, visibleRows } from '../../src/page/model/visible-rows.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

describe('a place in the URL', () => {
  const name = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.isWellFormed())
  const route: fc.Arbitrary<Route> = fc.oneof(
    fc.record({ view: fc.constant('namespace' as const), id: fc.array(name, { maxLength: 4 }) }),
    fc.record({
      view: fc.constant('table' as const),
      id: fc.array(name, { minLength: 1, maxLength: 4 }),
      tab: fc.constantFrom('columns' as const, 'rows' as const, 'versions' as const, 'refs' as const),
      filter: fc.option(name, { nil: undefined }),
      version: fc.option(fc.nat(), { nil: undefined }),
      tag: fc.option(name, { nil: undefined }),
      branch: fc.option(name, { nil: undefined }),
      at: fc.option(name, { nil: undefined }),
    }),
    fc.record({ view: fc.constant('activity' as const), transaction: fc.option(name, { nil: undefined }) }),
  )

  it('comes back from its link, whatever the names are', () => {
    fc.assert(
      fc.property(route, (given) => {
        const link = formatRoute(given)
        expect(parseRoute(link)).toEqual(given)
        // As a browser keeps it.
        expect(parseRoute(new URL(link, 'http://x/').hash)).toEqual(given)
        expect(tokenIn(link)).toBeUndefined()
      }),
      { numRuns: 300 },
    )
  })

  it.each(['', '#', '#/nothing', '#/table', '#/namespace/%zz', '#token=abc'])('%s is the start', (link) => {
    expect(parseRoute(link)).toEqual(startRoute)
  })

  it('a token is found in the fragment that hands it over', () => {
    expect(tokenIn('#token=a-b_c')).toBe('a-b_c')
  })
})

describe('a list of any length', () => {
  const scrolled = fc
    .record({
      count: fc.nat({ max: 100_000_000 }),
      rowHeight: fc.integer({ min: 10, max: 60 }),
      height: fc.integer({ min: 0, max: 3_000 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ part, ...rest }) => {
      const { totalHeight } = visibleRows({ ...rest, scrollTop: 0 })
      return { ...rest, scrollTop: part * Math.max(0, totalHeight - rest.height) }
    })

  it('draws what fits, and covers what is in sight', () => {
    fc.assert(
      fc.property(scrolled, (given) => {
        const { first, end, totalHeight, shift } = visibleRows(given)
        expect(end - first).toBeLessThanOrEqual(given.height / given.rowHeight + 18)
        expect(totalHeight).toBeLessThanOrEqual(8_000_000)
        const bottom = Math.min(given.scrollTop + given.height, totalHeight)
        if (given.count > 0) {
          expect(first * given.rowHeight + shift).toBeLessThanOrEqual(given.scrollTop + 0.01)
          expect(end * given.rowHeight + shift).toBeGreaterThanOrEqual(bottom - 0.01)
        }
      }),
    )
  })

  it('scrolls to a row so that it is drawn, the first and the last ones too', () => {
    fc.assert(
      fc.property(scrolled, fc.double({ min: 0, max: 1, noNaN: true }), (given, part) => {
        if (given.count === 0) return
        const row = Math.min(given.count - 1, Math.floor(part * given.count))
        const { first, end } = visibleRows({ ...given, scrollTop: scrollTo(row, given) })
        expect(first).toBeLessThanOrEqual(row)
        expect(end).toBeGreaterThan(row)
      }),
    )
  })

  it.each([
    ['ArrowDown', 4, 5],
    ['ArrowDown', 9, 9],
    ['ArrowUp', 0, 0],
    ['PageDown', 4, 7],
    ['Home', 8, 0],
    ['End', 1, 9],
    ['x', 1, undefined],
    ['constructor', 1, undefined],
  ])('%s leads from %s to %s', (key, from, to) => {
    expect(rowByKey(key, from, 10, 3)).toBe(to)
  })
})

describe('text of a catalog', () => {
  it('shows what one would not see, and what would turn the text around', () => {
    expect(piecesOf('evil\u202etxt')).toEqual([
      { text: 'evil', hidden: false },
      { text: '\\u{202e}', hidden: true },
      { text: 'txt', hidden: false },
    ])
    expect(plainText('a\u0000b\u200bc\ud800')).toBe('a\\u{0}b\\u{200b}c\\u{d800}')
    expect(plainText('مرحبا 🦀 <b>')).toBe('مرحبا 🦀 <b>')
  })

  it('tells sizes and signs', () => {
    expect([shownBytes(12), shownBytes(2_048), shownBytes(3e9)]).toEqual(['12 B', '2.0 KiB', '2.8 GiB'])
    expect([signed(3), signed(-1_000), signed(0)]).toEqual(['+3', '−1,000', '0'])
  })

  const inZone = (unit: 0 | 1 | 2 | 3, zone: string | null) => arrow.timestamp(unit, zone)
  const times = arrow.field('at', inZone(3, null))
  const seat = arrow.struct([arrow.field('row', arrow.int32()), times])
  const byName = arrow.map(arrow.field('key', arrow.utf8(), false), arrow.field('value', arrow.decimal(5, 2)))

  it.each([
    [null, arrow.int64(), undefined],
    ['', arrow.utf8(), ''],
    ['null', arrow.utf8(), 'null'],
    [2n ** 64n - 1n, arrow.uint64(), '18446744073709551615'],
    [-0, arrow.float64(), '-0'],
    [Math.fround(0.1), arrow.float32(), '0.1'],
    [Math.fround(16_777_217), arrow.float32(), '16777216'],
    [Number.NaN, arrow.float32(), 'NaN'],
    [0.1 + 0.2, arrow.float64(), '0.30000000000000004'],
    [0, arrow.dateDay(), '1970-01-01'],
    [1_500, arrow.dateMillisecond(), '1970-01-01T00:00:01.500Z'],
    [1_500n, inZone(1, 'UTC'), '1970-01-01 00:00:01.500Z'],
    [-1n, inZone(2, 'Europe/Berlin'), '1969-12-31 23:59:59.999999Z'],
    [1_793_534_400_123_456_789n, inZone(3, null), '2026-11-01 12:00:00.123456789'],
    [-62_135_596_801n, inZone(0, null), '0000-12-31 23:59:59'],
    [2n ** 62n, inZone(0, 'UTC'), `${2n ** 62n} s`],
    [86_399_000_000_001n, arrow.timeNanosecond(), '23:59:59.000000001'],
    [5n, arrow.duration(2), '5 µs'],
    [-5n, arrow.decimal(10, 3), '-0.005'],
    [12_345n, arrow.decimal(10, 2), '123.45'],
    [7n, arrow.decimal(10, 0), '7'],
    [new Uint8Array([1, 255]), arrow.binary(), '01 ff'],
    [new Uint8Array(17), arrow.binary(), `${'00 '.repeat(16)}… (17 B)`],
    [new Uint8Array([1, 2]), arrow.list(arrow.uint8()), '[1, 2]'],
    [Float32Array.of(0.1, 1), arrow.fixedSizeList(arrow.float32(), 2), '[0.1, 1]'],
    [['a', null, ''], arrow.list(arrow.utf8()), '["a", null, ""]'],
    [{ row: 4, at: 1n }, seat, '{row: 4, at: 1970-01-01 00:00:00.000000001}'],
    [[['a', 150n]], byName, '{"a": 1.50}'],
  ] as const)('the cell of %s of %j as %s', (value, type, shown) => {
    expect(cellText(value, type)).toBe(shown)
  })

  it('a cell is short, and making it takes no more than is shown', () => {
    const long = {
      length: 0,
      *[Symbol.iterator]() {
        for (;;) yield ++this.length
      },
    }
    expect(cellText(long, arrow.list(arrow.int32()))!.length).toBeLessThanOrEqual(201)
    expect(long.length).toBeLessThan(200)
    expect(cellText(`${'x'.repeat(199)}🦀🦀`, arrow.utf8())).toBe(`${'x'.repeat(199)}…`)
  })
})

describe('a schema', () => {
  it('is told as one reads it', () => {
    const item = { name: 'item', nullable: true, type: { type: 'float' } }
    expect(typeText({ type: 'fixed_size_list', length: 3, fields: [item] })).toBe(
      'fixed_size_list[3]<item: float>',
    )
  })

  it('has columns that predicates can name', async () => {
    await using catalog = await openCatalog('memory:')
    const names = ['plain', 'with space', 'a.b', 'ti`ck', 'select', 'null', 'Upper', '1st', 'ü', 'timestamp']
    await catalog.createTable({ id: ['t'], data: [Object.fromEntries(names.map((name) => [name, 1]))] })
    for (const name of names) {
      const predicate = `${columnPath(name)} IS NULL`
      expect(await catalog.countTableRows({ id: ['t'], predicate }), name).toEqual({ count: 0 })
      await catalog.queryTable({ id: ['t'], columns: [columnPath(name)] })
    }
  })
})

describe('an error of a predicate', () => {
  it('is shown where the catalog says that it is', async () => {
    await using catalog = await openCatalog('memory:')
    await catalog.createTable({ id: ['t'], data: [{ a: 1, b: 'x' }] })
    for (const [text, at] of [
      ['a > 1 AND nope = 2', 'nope'],
      ["b = '(offset 3)' AND a ! 1", '!'],
      ['a > ', ''],
      ['a\n > 1 OR bb', 'bb'],
    ] as const) {
      const refused = await catalog
        .countTableRows({ id: ['t'], predicate: text })
        .catch((error: Error) => error)
      const offset = errorOffset((refused as Error).message)
      expect(splitAt(text, offset!).at, (refused as Error).message).toBe(at)
    }
  })

  it('may say no place, and quotes are no place', () => {
    expect(errorOffset('There is no table "t (offset 3)".')).toBeUndefined()
    expect(errorOffset('The predicate failed on a row: 1/0 at offset 4. Mend it.')).toBe(4)
  })
})

describe('the difference of versions', () => {
  const facts = async (work: (catalog: Awaited<ReturnType<typeof openCatalog>>) => Promise<unknown>) => {
    await using catalog = await openCatalog('memory:')
    const id = ['t']
    await catalog.createTable({ id, data: Array.from({ length: 100 }, (_, a) => ({ a, b: 'x' })) })
    await work(catalog as never)
    const of = async (version: number | undefined) => {
      const { schema, stats, metadata } = await catalog.describeTable({
        id,
        version,
        load_detailed_metadata: true,
      })
      const { count: rows } = await catalog.countTableRows({ id, version })
      return {
        version: version ?? 0,
        rows,
        deletedRows: stats!.num_deleted_rows,
        fields: schema!.fields,
        metadata,
      }
    }
    return differenceOf(await of(1), await of(undefined))
  }

  it('tells how many rows more or fewer there are', async () => {
    const id = ['t']
    const difference = await facts(async (catalog) => {
      await catalog.insertIntoTable({
        id,
        data: [
          { a: 1, b: 'y' },
          { a: 2, b: 'y' },
        ],
      })
      await catalog.deleteFromTable({ id, predicate: 'a < 10' })
    })
    expect(difference).toMatchObject({ rows: -10, deletedRows: 10, columnsAdded: [] })
    expect(changeText(difference)).toBe('−10 rows')
  })

  it('tells other columns', async () => {
    const difference = await facts(async (catalog) => {
      await catalog.deleteFromTable({ id: ['t'], predicate: 'a < 50' })
      await catalog.insertIntoTable({ id: ['t'], mode: 'Overwrite', data: [{ c: 1 }] })
    })
    expect(difference).toMatchObject({ rows: -99, columnsAdded: ['c'], columnsRemoved: ['a', 'b'] })
    expect(changeText(difference)).toBe('−99 rows, columns changed')
  })

  it('tells metadata, and that nothing is known', async () => {
    const difference = await facts((catalog) =>
      catalog.updateTableSchemaMetadata({ id: ['t'], metadata: { k: 'v' } }),
    )
    expect(difference).toMatchObject({ rows: 0, deletedRows: 0, metadataChanged: ['k'] })
    expect(changeText(difference)).toBe('metadata changed')
    expect(changeText(differenceOf({ version: 1 }, { version: 2 }))).toBe('not known')
  })
})

describe('the tree', () => {
  it('shows what is open, and that there is more', () => {
    const known = new Map([
      [keyOf([]), { items: ['a', 'b'], loading: false, ended: true }],
      [keyOf(['a']), { items: ['x'], token: 't', loading: false, ended: false }],
      [keyOf(['b']), { items: [], loading: false, ended: true }],
    ])
    const rows = treeRows(known, new Set([keyOf([]), keyOf(['a'])]))
    expect(rows.map(({ id, isRest, isLeaf, siblings }) => [id.join('.'), isRest, isLeaf, siblings])).toEqual([
      ['', false, false, 1],
      ['a', false, false, 2],
      ['a.x', false, false, -1],
      ['a', true, true, -1],
      ['b', false, true, 2],
    ])
  })
})

describe('rows', () => {
  it('come out of an answer by place, exactly', () => {
    const bytes = arrow.tableToIPC(arrow.tableFromArrays({ a: [1n, 2n ** 60n], b: ['x', null] }), {
      format: 'file',
    })!
    expect(decodeRows(bytes)).toMatchObject({
      columns: ['a', 'b'],
      rows: [
        [1n, 'x'],
        [2n ** 60n, null],
      ],
    })
  })

  it('of a new table are none, in the columns that were typed', () => {
    const table = arrow.tableFromIPC(emptyTable('  origin string\n\nflight no int64\n__proto__ bool\n'))
    expect([table.numRows, table.names]).toEqual([0, ['origin', 'flight no', '__proto__']])
    expect(() => emptyTable('a')).toThrow('Line 1')
    expect(() => emptyTable('a int64\na bool')).toThrow('Line 2 names the column a again')
    expect(() => emptyTable('a toString')).toThrow('Line 1')
    expect(() => emptyTable('\n')).toThrow('at least one')
  })
})

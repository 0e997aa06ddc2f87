import { expect, test } from 'vitest'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { openCatalog } from '../../../../src/tabularium/index.ts'
import { eachCatalog } from '../../../support/catalogs.ts'
import { limitEach } from '../../../support/time-limit.ts'

// It computes values up to their bound.
limitEach(60)

const id = ['t']

eachCatalog((open) => {
  test('columns and keys of one query are bounded', async () => {
    const catalog = await open({ queryColumns: 3, orderKeys: 2 })
    await catalog.createTable({ id, data: [{ a: 1, b: 2, c: 3 }] })
    const columns = { column_aliases: { w: 'a + 1', x: 'a + 2', y: 'a + 3', z: 'a + 4' } }
    for (const ask of [
      () => catalog.queryTable({ id, columns }),
      () => catalog.queryTable({ id, columns: ['a', 'b', 'c', 'a + b'] }),
      () => catalog.explainTableQueryPlan({ id, query: { columns } as never }),
      () => catalog.analyzeTableQueryPlan({ id, columns } as never),
    ]) {
      await expect(ask()).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringMatching(/columns has 4 entries; 3 are the most.*queryColumns/),
      })
    }
    await expect(catalog.queryTable({ id, order_by: ['a', 'b', 'c'] })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(/order_by has more than 2 keys.*orderKeys/),
    })
  })

  test('so is their text', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ a: 1 }] })
    const columns = (count: number) => ({
      column_aliases: Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`x${i}`, `a +${' '.repeat(16_400)}${i}`]),
      ),
    })
    await expect(catalog.queryTable({ id, columns: columns(300) })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(/columns has 4,92\d,\d+ characters .*; 4,194,304 are the most/),
    })
    const { data } = await catalog.queryTable({ id, columns: columns(200) })
    expect((await decodeArrow(data)).schema.fields).toHaveLength(200)
  })

  test('keys that decide nothing do not count', async () => {
    const catalog = await open({ orderKeys: 2 })
    await catalog.createTable({ id, data: [4, 1, 3, 2].map((a) => ({ a, b: a % 2, c: 0 })) })
    const inOrder = async (order_by: string[]) => {
      const { data } = await catalog.queryTable({ id, columns: ['a'], order_by })
      return Array.from((await decodeArrow(data)).getChild('a')!.toArray() as Iterable<number>, Number)
    }
    const again = Array.from({ length: 300 }, (_, i) => (i % 2 ? 'b desc' : 'b'))
    expect(await inOrder([...again, 'a'])).toEqual([2, 4, 1, 3])
    // Nothing is equal behind the id of the row.
    expect(await inOrder(['b desc', '_rowid', 'a', 'c', 'b'])).toEqual([1, 3, 4, 2])
  })
})

eachCatalog((open) => {
  test('long values and short ones come together, whatever rows are asked for', async () => {
    const catalog = await open()
    const rows = Array.from({ length: 300 }, (_, i) => ({ x: i, s: `${i} ` }))
    await catalog.createTable({ id, data: rows })
    const { data } = await catalog.queryTable({
      id,
      filter: 'x % 20 = 1 OR x > 250',
      columns: {
        // A value of `long` has about 1 MB in the end, so what was made before it is of more rows than fit.
        column_aliases: {
          before: 'x + 2',
          x: 'x',
          long: 'repeat(s, cast(20000 + x * 800 as bigint))',
          next: 'x + 1',
        },
      },
    })
    const table = await decodeArrow(data)
    const wanted = rows.filter(({ x }) => x % 20 === 1 || x > 250).map(({ x }) => x)
    expect(Array.from(table.getChild('x')!.toArray() as Iterable<number>, Number)).toEqual(wanted)
    expect(Array.from(table.getChild('before')!.toArray() as Iterable<number>, Number)).toEqual(
      wanted.map((x) => x + 2),
    )
    expect(Array.from(table.getChild('next')!.toArray() as Iterable<number>, Number)).toEqual(
      wanted.map((x) => x + 1),
    )
    const long = table.getChild('long')!
    for (const [i, x] of wanted.entries()) {
      const text = long.at(i) as string
      expect(text.length).toBe(`${x} `.length * (20_000 + x * 800))
      expect(text.startsWith(`${x} ${x} `)).toBe(true)
    }
  })
})

test('what is computed of one row is bounded', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ s: '€', n: 1 }] })
  // About 3 MB each.
  const aliases = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, `repeat(s, ${1_000_000 + i})`]))
  const refused = { code: 'InvalidInput', message: expect.stringMatching(/of one row .* 268,435,456 bytes/) }
  const columns = { column_aliases: aliases(90) }
  await expect(catalog.queryTable({ id, columns })).rejects.toMatchObject(refused)
  await expect(catalog.queryTable({ id, columns, order_by: ['n'] })).rejects.toMatchObject(refused)
  const { data } = await catalog.queryTable({ id, columns: { column_aliases: aliases(10) } })
  expect(data.length).toBeGreaterThan(30_000_000)
})

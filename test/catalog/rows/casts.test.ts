import { dateDay, type Field, field, int32, TimeUnit, timestamp } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../../support/catalogs.ts'

const id = ['t']
const units = {
  s: TimeUnit.SECOND,
  ms: TimeUnit.MILLISECOND,
  us: TimeUnit.MICROSECOND,
  ns: TimeUnit.NANOSECOND,
}
const of = (name: string, type: Field['type']): Field =>
  field(name, type, true, null as unknown as Map<string, string>)

/** A moment in each unit, without a zone, in UTC and in Berlin, and its date. */
const schema = {
  fields: [
    of('k', int32()),
    of('d', dateDay()),
    ...Object.entries(units).flatMap(([name, unit]) => [
      of(name, timestamp(unit)),
      of(`utc_${name}`, timestamp(unit, 'UTC')),
      of(`z${name}`, timestamp(unit, 'Europe/Berlin')),
    ]),
  ],
} as never

const moments = [
  '2026-01-30T10:00:00Z',
  '2026-01-31T00:00:00Z',
  '2026-01-31T23:59:59Z',
  '2026-02-01T00:00:00Z',
]
const data = [...moments, '1969-12-31T23:59:59Z', '1970-01-01T00:00:00Z'].map((text, k) => {
  const at = new Date(text)
  const names = Object.keys(units).flatMap((name) => [name, `utc_${name}`, `z${name}`])
  return { k, d: new Date(text.slice(0, 10)), ...Object.fromEntries(names.map((name) => [name, at])) }
})

const day = "DATE '2026-01-31'"
/** Conditions on the day of a moment, and the rows whose day in UTC fulfils them. */
const conditions: Record<string, readonly number[]> = {
  [`$ = ${day}`]: [1, 2],
  [`${day} = $`]: [1, 2],
  [`$ <> ${day}`]: [0, 3, 4, 5],
  [`$ < ${day}`]: [0, 4, 5],
  [`$ <= ${day}`]: [0, 1, 2, 4, 5],
  [`$ > ${day}`]: [3],
  [`${day} < $`]: [3],
  [`$ >= ${day}`]: [1, 2, 3],
  [`$ IN (${day}, DATE '1969-12-31')`]: [1, 2, 4],
  [`$ NOT IN (${day}, DATE '1969-12-31')`]: [0, 3, 5],
  [`$ BETWEEN ${day} AND DATE '2026-02-01'`]: [1, 2, 3],
  [`$ NOT BETWEEN ${day} AND DATE '2026-02-01'`]: [0, 4, 5],
  [`NOT ($ = ${day})`]: [0, 3, 4, 5],
  '$ = d': [0, 1, 2, 3, 4, 5],
  '$ <> d': [],
  "$ > DATE '2030-12-31'": [],
  "CAST($ AS TIMESTAMP) = TIMESTAMP '2026-01-31'": [1, 2],
  "CAST($ AS TIMESTAMP) = TIMESTAMP '2026-01-31 00:00:00.000005'": [],
  "CAST($ AS TIMESTAMP) IN (TIMESTAMP '1970-01-01 00:00:00.000005', TIMESTAMP '1970-01-01')": [5],
  "CAST($ AS TIMESTAMP) > TIMESTAMP '1970-01-01 00:00:00.000005'": [0, 1, 2, 3],
}
const casts = ['CAST($ AS DATE)', 'TRY_CAST($ AS DATE)', '$::date', 'CAST(CAST($ AS STRING) AS DATE)']

eachCatalog((open) => {
  const filled = async () => {
    const catalog = await open()
    await catalog.createTable({ id, data, schema })
    return catalog
  }

  describe('the day of a moment beside a literal', () => {
    it('is compared as a day, in every unit, and in every way to write it', async () => {
      const catalog = await filled()
      const wrong: string[] = []
      const columns = Object.keys(units).flatMap((name) => [name, `utc_${name}`])
      for (const column of columns) {
        for (const cast of column === 'us' ? casts : casts.slice(0, 1)) {
          for (const [condition, expected] of Object.entries(conditions)) {
            const predicate = condition.replaceAll('$', cast.replace('$', column))
            const found: number[] = []
            for await (const { k } of catalog.rows({ id, filter: predicate, columns: ['k'] }))
              found.push(Number(k))
            if (found.join() !== expected.join()) wrong.push(`${predicate}: ${found}`)
          }
        }
      }
      expect(wrong).toEqual([])
    })

    it('is the day that the calendar of its zone shows', async () => {
      const catalog = await filled()
      for (const unit of Object.keys(units)) {
        const count = async (predicate: string) => (await catalog.countTableRows({ id, predicate })).count
        expect(await count(`CAST(z${unit} AS DATE) = ${day}`)).toBe(1)
        expect(await count(`CAST(z${unit} AS DATE) = DATE '2026-02-01'`)).toBe(2)
        expect(await count(`CAST(z${unit} AS DATE) IN (DATE '1970-01-01')`)).toBe(2)
      }
    })

    it('deletes and updates the rows it holds for, and no others', async () => {
      const catalog = await filled()
      const remove = (predicate: string) => catalog.deleteFromTable({ id, predicate })
      const count = async (predicate?: string) => (await catalog.countTableRows({ id, predicate })).count
      await remove(`CAST(ms AS DATE) > DATE '2030-12-31'`)
      expect(await count()).toBe(6)
      await catalog.updateTable({ id, updates: [['k', '-1']], predicate: `CAST(us AS DATE) = ${day}` })
      expect(await count('k = -1')).toBe(2)
      await remove(`CAST(zs AS DATE) = ${day}`)
      expect(await count()).toBe(5)
      expect(await count('k = -1')).toBe(1)
    })

    it('is the same in columns that are computed', async () => {
      const catalog = await filled()
      await catalog.alterTableAddColumns({
        id,
        new_columns: [
          { name: 'day', expression: 'CAST(us AS DATE)' },
          { name: 'last', expression: `CAST(us AS DATE) = ${day}` },
        ],
      })
      const count = async (predicate: string) => (await catalog.countTableRows({ id, predicate })).count
      expect(await count(`day = ${day}`)).toBe(2)
      expect(await count(`last AND CAST(us AS DATE) = ${day}`)).toBe(2)
      expect(await count(`CAST(day AS TIMESTAMP) = TIMESTAMP '2026-01-31'`)).toBe(2)
    })
  })
})

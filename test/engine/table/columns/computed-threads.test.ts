import * as fc from 'fast-check'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Snapshot, type TableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { ScanWorker } from '../../../../src/engine/table/scan/pool.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { enginesWith } from '../scan/engines.ts'

// It computes random columns of forty thousand rows twice, and starts threads.
limitEach(60)

/*
 * The columns that worker threads compute are those that one thread computes: the same values, statistics and errors.
 */

let table: Snapshot
let now = 0
// Columns of a fragment take more than what is copied between threads anyway.
const { engine, threaded, single } = await enginesWith({ fragmentRows: 10_240, now: () => now })

beforeAll(async () => {
  const rows = Array.from({ length: 40_000 }, (_, i) => ({
    n: i % 11 === 5 ? null : i,
    m: (i * 7) % 13,
    s: `name ${i % 97}`,
    place: { city: i % 3 === 0 ? 'Oslo' : null },
    tags: [i % 5, i % 7],
  }))
  table = await single.create('t', await toArrowTable(rows))
  table = (await single.deleteRows('m = 3 AND n > 20000').apply(table)).snapshot
})

/** A version with columns of some expressions. */
const added = async (on: TableEngine, expressions: readonly string[], base = table) => {
  const columns = expressions.map((expression, i) => ({ name: `made${i}`, expression }))
  return (await on.addColumns(columns).apply(base)).snapshot
}

const statisticsOf = (snapshot: Snapshot) => {
  const { body } = snapshot as Snapshot & { body: { tail: { files?: { statistics: unknown }[] }[] } }
  return body.tail.map(({ files }) => files?.map(({ statistics }) => statistics))
}

const expressions = [
  'n * 2 + m',
  'n',
  's',
  'tags',
  'place.city',
  '7',
  'NULL',
  "'a text'",
  'n > 25000',
  "concat(s, ' of ', coalesce(place.city, 'nowhere'))",
  'CASE WHEN m < 4 THEN n / 3.5 ELSE NULL END',
  'now()',
]

test('threads compute what one thread does, and leave what they have read as it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.subarray(expressions, { minLength: 1, maxLength: 4 }), async (chosen) => {
      now = chosen.length * 1_000_000
      const [made, expected] = await Promise.all([added(threaded, chosen), added(single, chosen)])
      expect(statisticsOf(made)).toEqual(statisticsOf(expected))
      const [read, same] = await Promise.all([threaded.queryRows(made), single.queryRows(expected)])
      expect(Buffer.compare(read, same), chosen.join()).toBe(0)
      const predicate = "n % 2 = 0 AND s > 'name 5'"
      expect(await threaded.countRows(made, { predicate })).toBe(await single.countRows(table, { predicate }))
    }),
    { numRuns: 2, examples: [[expressions]] },
  )
})

test('the first row that fails is named, whichever thread meets it', async () => {
  for (const expression of ['10 / (CAST(n AS BIGINT) % 15000 - 14000)', 'CAST(s AS INT)']) {
    const error = await added(single, [expression]).catch((error) => error)
    expect(error).toMatchObject({ code: 'InvalidInput', message: expect.stringMatching(/row \d+/) })
    const { code, message } = error
    await expect(added(threaded, ['m + 1', expression]), expression).rejects.toMatchObject({ code, message })
  }
})

test('a signal stops threads with its reason', async () => {
  const reason = new Error('enough')
  const abort = new AbortController()
  const columns = [{ name: 'made', expression: 'levenshtein(repeat(s, 700), repeat(s, 699))' }]
  const scan = vi.spyOn(ScanWorker.prototype, 'scan')
  onTestFinished(() => scan.mockRestore())
  const work = threaded.addColumns(columns).prepare(table, { signal: abort.signal })
  work.catch(() => {})
  await expect.poll(() => scan.mock.calls.length, { interval: 1 }).toBeGreaterThan(0)
  abort.abort(reason)
  await expect(work).rejects.toBe(reason)
  expect(await threaded.countRows(table, { predicate: 'm = 1' })).toBeGreaterThan(0)
})

test('a thread that dies changes nothing', async () => {
  const mortal = engine(2)
  try {
    const expected = await single.queryRows(await added(single, ['n * 2 + m', 's']))
    expect(Buffer.compare(await single.queryRows(await added(mortal, ['n * 2 + m', 's'])), expected)).toBe(0)
    const scan = ScanWorker.prototype.scan
    let sent = 0
    ScanWorker.prototype.scan = function (this: ScanWorker, ...given) {
      const answer = scan.apply(this, given)
      if (++sent === 3) void this.close()
      return answer
    }
    try {
      expect(Buffer.compare(await single.queryRows(await added(mortal, ['n * 2 + m', 's'])), expected)).toBe(
        0,
      )
    } finally {
      ScanWorker.prototype.scan = scan
    }
    expect(sent).toBeGreaterThan(3)
  } finally {
    await mortal.close()
  }
})

test('progress grows to all rows', async () => {
  const seen: number[] = []
  const total = table.rows + table.deletedRows
  await threaded.addColumns([{ name: 'made', expression: 'm + 1' }]).prepare(table, {
    onProgress: ({ rowsDone, rowsTotal }) => {
      expect(rowsTotal).toBe(total)
      seen.push(rowsDone)
    },
  })
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.length).toBeGreaterThan(3)
  expect(seen.at(-1)).toBe(total)
})

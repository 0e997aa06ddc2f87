import * as arrow from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ColumnFilter,
  type Operator,
  operatorsOf,
  readPredicate,
  takesValue,
  writeClause,
  writePredicate,
} from '../../src/page/model/column-filter.ts'
import type { GridField } from '../../src/page/model/column-kind.ts'
import { decodeRows } from '../../src/page/model/rows.ts'
import { type MemoryCatalog, openCatalog } from '../../src/tabularium/index.ts'

/*
 * What the filter row writes, beside an oracle that filters rows of JavaScript. Columns have hostile names, and values
 * hold what quotes, patterns and units could get wrong.
 */

const texts = ['null', "it's", '100%', 'a_b', 'a\\b', 'A', 'a', "''", '`', '\\', ' x ', '(OR)', '1..2', 'é']
const wholes = [-(2n ** 63n), 2n ** 63n - 1n, -1n, 0n, 1n, 7n]
const floats = [-1.5, 0, 0.1, 1e300, 2.5, 7]
const micros = [-1n, 0n, 1n, 1_793_534_400_123_456n, 86_400_000_000n]
const days = [-1, 0, 1, 20_000]

type Model = (value: unknown, filter: ColumnFilter) => boolean

/** Compares by an order of values, as the operators do. */
const compared =
  <T>(read: (text: string) => T): Model =>
  (value, { operator, value: given }) => {
    const is = value as T
    if (operator === 'between') {
      const [low, high] = given.split('..').map(read) as [T, T]
      return is >= low && is <= high
    }
    const to = read(given)
    const answers: Partial<Record<Operator, boolean>> = {
      '=': is === to,
      '<>': is !== to,
      '<': is < to,
      '<=': is <= to,
      '>': is > to,
      '>=': is >= to,
    }
    return answers[operator]!
  }

const ofText: Model = (value, { operator, value: given }) => {
  const text = value as string
  const answers: Partial<Record<Operator, boolean>> = {
    has: text.toLowerCase().includes(given.toLowerCase()),
    contains: text.includes(given),
    starts: text.startsWith(given),
    '=': text === given,
    '<>': text !== given,
    empty: text === '',
  }
  return answers[operator]!
}

const ofFlag: Model = (value, { operator }) => value === (operator === 'true')
const momentText = (value: bigint) => {
  const part = ((value % 1_000_000n) + 1_000_000n) % 1_000_000n
  const whole = new Date(Number((value - part) / 1_000n)).toISOString().slice(0, 19)
  return `${whole.replace('T', ' ')}.${String(part).padStart(6, '0')}`
}
const momentOf = (text: string) =>
  BigInt(Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`)) * 1_000n + BigInt(text.slice(20))

interface Tried {
  readonly name: string
  readonly type: arrow.DataType
  readonly values: readonly unknown[]
  readonly written: readonly string[]
  readonly model: Model
}

const none: Model = () => false
const wholeOf = compared(BigInt)
const dayText = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10)
const dayOf = (text: string) => Date.parse(text)
const wholeTexts = wholes.map(String)
const momentTexts = micros.map(momentText)

const tried: readonly Tried[] = [
  { name: 'whole', type: arrow.int64(), values: wholes, written: wholeTexts, model: wholeOf },
  {
    name: 'select',
    type: arrow.float64(),
    values: floats,
    written: floats.map(String),
    model: compared(Number),
  },
  {
    name: 'a.b',
    type: arrow.float32(),
    values: floats.filter((value) => value < 1e9),
    written: ['0.1', '-1.5', '2.5', '7'],
    model: compared((text) => Math.fround(Number(text))),
  },
  {
    name: 'price`; DROP',
    type: arrow.decimal(12, 2, 128),
    values: [-1.25, 0, 0.01, 99.5],
    written: ['-1.25', '0', '0.01', '99.50', '12'],
    model: compared(Number),
  },
  { name: "it's AND", type: arrow.utf8(), values: ['', ...texts], written: texts, model: ofText },
  { name: 'large (text', type: arrow.largeUtf8(), values: ['', ...texts], written: texts, model: ofText },
  { name: 'flag', type: arrow.bool(), values: [true, false], written: [], model: ofFlag },
  {
    name: 'day',
    type: arrow.dateDay(),
    values: days.map((day) => new Date(day * 86_400_000)),
    written: days.map(dayText),
    model: compared(dayOf),
  },
  {
    name: 'moment',
    type: arrow.timestamp(2, null),
    values: micros,
    written: momentTexts,
    model: compared(momentOf),
  },
  {
    name: 'moment in UTC',
    type: arrow.timestamp(2, 'UTC'),
    values: micros,
    written: momentTexts,
    model: compared(momentOf),
  },
  {
    name: 'moment in Berlin',
    type: arrow.timestamp(2, 'Europe/Berlin'),
    values: micros,
    written: momentTexts,
    model: compared(momentOf),
  },
  { name: 'list', type: arrow.list(arrow.int32()), values: [[1], []], written: [], model: none },
]

const rowCount = 60
/** A table of all columns, whose values and nulls repeat in other steps. */
async function made(catalog: MemoryCatalog): Promise<readonly GridField[]> {
  const columns = tried.map(({ name, type, values }, column) => {
    const cells = Array.from({ length: rowCount }, (_, row) => {
      const at = (row * (column + 1) + column) % (values.length + 1)
      return at === values.length ? null : values[at]
    })
    return [name, moments(type, cells)] as const
  })
  const numbers = ['number', arrow.columnFromValues([...Array(rowCount).keys()], arrow.int32())] as const
  const data = arrow.tableToIPC(arrow.tableFromColumns(Object.fromEntries([...columns, numbers])), {
    format: 'stream',
  })!
  await catalog.createTable({ id: ['t'], data })
  const { schema } = await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })
  return schema!.fields.map(({ name, type }) => ({ name, type: type.type }))
}

/** flechette builds moments of milliseconds only, so those of whole units are laid over numbers. */
function moments(type: arrow.DataType, cells: readonly unknown[]) {
  if (!('timezone' in type)) return arrow.columnFromValues(cells as never, type)
  const column = arrow.columnFromValues(cells as never, arrow.int64())
  for (const batch of column.data) Object.assign(batch, { type })
  return Object.assign(column, { type })
}

const filterOf = (column: Tried, field: GridField): fc.Arbitrary<readonly [string, ColumnFilter]> =>
  fc
    .constantFrom(...operatorsOf(field.type))
    .chain((operator): fc.Arbitrary<readonly [string, ColumnFilter]> => {
      const value = column.written.length === 0 ? fc.constant('') : fc.constantFrom(...column.written)
      if (!takesValue(operator)) return fc.constant([field.name, { operator, value: '' }] as const)
      if (operator !== 'between')
        return value.map((given) => [field.name, { operator, value: given }] as const)
      return fc.tuple(value, value).map(([a, b]) => [field.name, { operator, value: `${a}..${b}` }] as const)
    })

describe('the filter row', () => {
  it('writes what it says, and reads what it wrote', async () => {
    await using catalog = await openCatalog('memory:')
    const fields = await made(catalog)
    const all = decodeRows((await catalog.queryTable({ id: ['t'] })).data).rows
    const expected = ([name, filter]: readonly [string, ColumnFilter]) => {
      const index = tried.findIndex((column) => column.name === name)
      return (row: readonly unknown[]) => {
        if (filter.operator === 'null' || filter.operator === 'filled')
          return (row[index] === null) === (filter.operator === 'null')
        return row[index] !== null && tried[index]!.model(comparable(tried[index]!, row[index]), filter)
      }
    }
    const filters = fc
      .subarray([...tried.keys()], { minLength: 1, maxLength: 3 })
      .chain((indexes) => fc.tuple(...indexes.map((index) => filterOf(tried[index]!, fields[index]!))))
    const rest = fc.constantFrom('', 'whole IS NULL OR flag', "`it's AND` <> ')' AND NOT flag")
    await fc.assert(
      fc.asyncProperty(filters, rest, async (given, before) => {
        const row = { rest: before, filters: new Map(given) }
        const predicate = writePredicate(row, fields)
        expect(readPredicate(predicate, fields)).toEqual(row)
        const wanted = given.map(expected)
        if (before !== '') return
        const { data } = await catalog.queryTable({ id: ['t'], columns: ['number'], filter: predicate })
        const matching = all.filter((cells) => wanted.every((matches) => matches(cells)))
        expect(decodeRows(data).rows.flat(), predicate).toEqual(matching.map((cells) => cells.at(-1)))
      }),
      { numRuns: 80 },
    )
  })

  it('changes nothing of what somebody else wrote', async () => {
    await using catalog = await openCatalog('memory:')
    const fields = await made(catalog)
    const atom = fc.oneof(
      ...tried.map((column, index) =>
        filterOf(column, fields[index]!).map(([name, filter]) =>
          writeClause(name, fields[index]!.type, filter),
        ),
      ),
      fc.constantFrom(
        "`it's AND` = 'x OR y'",
        'flag',
        'whole + 1 > 2',
        'CASE WHEN flag AND whole = 7 THEN flag ELSE false END',
      ),
    )
    const { predicate } = fc.letrec<{ predicate: string }>((tie) => ({
      predicate: fc.oneof(
        { maxDepth: 3 },
        atom,
        fc
          .tuple(tie('predicate'), fc.constantFrom('AND', 'OR', 'and', 'or'), tie('predicate'))
          .map((parts) => parts.join(' ')),
        tie('predicate').map((inner) => `(${inner})`),
        tie('predicate').map((inner) => `NOT (${inner})`),
        tie('predicate').map((inner) => `/* ' */ ${inner} -- AND (`),
      ),
    }))
    const count = async (filter: string) => {
      const answer = await catalog.countTableRows({ id: ['t'], predicate: filter }).catch(() => undefined)
      return answer?.count
    }
    await fc.assert(
      fc.asyncProperty(predicate, async (text) => {
        const known = await count(text)
        // A comment hides what follows it, so some are no predicates.
        if (known === undefined) return
        const read = readPredicate(text, fields)
        expect(await count(writePredicate(read, fields))).toBe(known)
        const further = new Map(read.filters).set('flag', { operator: 'filled', value: '' } as const)
        if (read.filters.has('flag') || /--|\/\*/.test(text)) return
        expect(await count(writePredicate({ ...read, filters: further }, fields))).toBe(
          await count(`(${text}) AND flag IS NOT NULL`),
        )
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['int8', '=', '128', 'a number of this column: -128 to 127'],
    ['uint16', '=', '-1', '0 to 65535'],
    ['int64', '=', '1.5', 'not a whole number'],
    ['int64', '=', '1 OR true', 'not a whole number'],
    ['double', '>', 'NaN', 'not a number'],
    ['double', 'between', '1', 'two dots'],
    ['decimal:128:5:2', '=', '1.234', '5 digits'],
    ['decimal:128:5:2', '=', '1234', '5 digits'],
    ['date32:day', '=', '2026-02-30', 'not a day'],
    ['timestamp:s:-', '=', '2026-11-01 12:00:00.5', '0 digits behind'],
    ['timestamp:ns:-', '=', '2500-01-01', 'nanoseconds'],
    ['timestamp:ms:UTC', '=', '2026-11-01 25:00', 'not a time'],
    ['timestamp:ms:UTC', '=', "2026-11-01' OR '1", 'not a time'],
  ] as const)('refuses for %s %s the value %s', (type, operator, value, message) => {
    expect(() => writeClause('a', type, { operator, value })).toThrow(message)
  })
})

/** A value in the form in which its model compares. */
function comparable({ type }: Tried, value: unknown): unknown {
  return 'scale' in type ? Number(value) / 100 : value
}

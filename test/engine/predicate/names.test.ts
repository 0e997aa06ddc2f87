import {
  columnFromArray,
  dictionary,
  fixedSizeList,
  int32,
  largeUtf8,
  map,
  tableFromColumns,
  utf8,
} from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { compilePredicate } from '../../../src/engine/predicate/index.ts'
import { field, makeTable, select, struct, types } from './table.ts'

const table = makeTable({
  id: [types.int32, [0, 1, 2]],
  Name: [types.utf8, ['x', 'y', null]],
  Ab: [types.int32, [0, 1, 2]],
  aB: [types.int32, [2, 1, 0]],
  Éa: [types.int32, [0, 1, 2]],
  'sp ace': [types.int32, [0, 1, 2]],
  'we`ird': [types.int32, [0, 1, 2]],
  'a.b': [types.int32, [0, 1, 2]],
  ['__proto__']: [types.int32, [0, 1, 2]],
  date: [types.int32, [0, 1, 2]],
  case: [types.int32, [0, 1, 2]],
  not: [types.int32, [0, 1, 2]],
  left: [types.int32, [0, 1, 2]],
  St: [
    struct([
      field('x', types.int32),
      field('a.b', types.int32),
      field('y', struct([field('z', types.utf8)])),
    ]),
    [{ x: 0, 'a.b': 0, y: { z: 'q' } }, { x: 1, 'a.b': 1, y: null }, null],
  ],
})

describe('finds a column', () => {
  it.each([
    'ID = 1',
    'iD = 1',
    '"id" = 1',
    '`id` = 1',
    "NAME = 'y'",
    'ab = 1 AND AB = 1',
    'ÉA = 1',
    '`sp ace` = 1',
    '`we``ird` = 1',
    '`a.b` = 1',
    '`__proto__` = 1',
    'date = 1 AND date IN (1) AND abs(date) = 1',
    'case = 1',
    'not = 1 AND NOT not <> 1 AND abs(not) = 1 AND not::BIGINT = 1',
    "left = 1 AND left(Name, 1) = 'y'",
    'St.x = 1',
    'ST.x = 1',
    '`st`.x = 1',
    "St['x'] = 1",
    'St.`a.b` = 1',
    "St['a.b'] = 1",
    '(St).x = 1',
    "get_field(St, 'x') = 1",
    'abs(St.x) = 1',
  ])('%s', (predicate) => {
    expect(select(table, predicate)).toEqual([1])
  })

  it('in any case, the one written so before all others', () => {
    expect(select(table, 'aB = 0')).toEqual([2])
    expect(select(table, 'AB = 0')).toEqual([0])
  })

  it('in a null struct as null', () => {
    expect(select(table, 'St.y IS NULL')).toEqual([1, 2])
    expect(select(table, "St.y.z = 'q' OR St['y']['z'] = 'q'")).toEqual([0])
  })
})

describe('does not find', () => {
  it.each([
    '`ID` = 1',
    '"NAME" = 1',
    'éa = 1',
    'St.X = 1',
    'a.b = 1',
    'upper(name) = Name',
    'abs(st.x) = 1',
    'Name.x = 1',
    'constructor = 1',
  ])('%s', (predicate) => {
    expect(() => compilePredicate(predicate, table.schema)).toThrow(
      /^Invalid predicate: (no column|no field|the field)/,
    )
  })
})

it('says which columns a predicate reads', () => {
  expect(
    compilePredicate('St.x = 1 AND (id = 1 OR length(Name) > 1) AND 1 = 1', table.schema).columns,
  ).toEqual([0, 1, 13])
})

describe('other layouts', () => {
  const texts = ['apple', null, 'Banana', '']
  const layouts = tableFromColumns({
    large: columnFromArray(texts, largeUtf8()),
    dict: columnFromArray(texts, dictionary(utf8())),
    fixed: columnFromArray([[1, 2], null, [3, 4], [5, 6]], fixedSizeList(int32(), 2)),
    pairs: columnFromArray([[['a', 1]], null, [], []], map(utf8(), int32())),
  })

  it.each(['large', 'dict'])('%s', (name) => {
    expect(select(layouts, `${name} = 'apple'`)).toEqual([0])
    expect(select(layouts, `upper(${name}) LIKE '_A%' AND ${name} IN ('Banana', 'x')`)).toEqual([2])
    expect(select(layouts, `${name} IS NULL`)).toEqual([1])
    expect(() => select(layouts, `${name} = 1`)).toThrow('a column of type string beside the int64 literal 1')
  })

  it('fixed-size lists', () => {
    expect(select(layouts, 'fixed[1] = 3 OR fixed = [5, 6]')).toEqual([2, 3])
  })

  it('maps, which can be asked whether they are null only', () => {
    expect(select(layouts, 'pairs IS NOT NULL')).toEqual([0, 2, 3])
    for (const predicate of [
      'pairs = pairs',
      'length(pairs) = 1',
      'pairs IN (NULL, pairs)',
      'pairs || pairs = large',
    ]) {
      expect(() => compilePredicate(predicate, layouts.schema)).toThrow(/map/)
    }
  })
})

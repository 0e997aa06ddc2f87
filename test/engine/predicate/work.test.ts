import { utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { editDistance } from '../../../src/base/model/nearest.ts'
import { performance } from '../../../src/base/time.ts'
import { countRows } from '../../../src/engine/arrow/bitmap.ts'
import {
  compilePredicate,
  compileSteps,
  type Predicate,
  WorkBudget,
} from '../../../src/engine/predicate/index.ts'
import { makeTable, types } from './table.ts'

const length = 4_096
const table = makeTable({
  id: [types.int32, Array.from({ length }, (_, i) => i)],
  s: [utf8(), Array.from({ length }, (_, i) => `text_${i}_of_nineteen`)],
  encoded: [types.dictionary, Array.from({ length }, (_, i) => `text_${i % 1000}`)],
  numbers: [types.integers, Array.from({ length }, (_, i) => [i, i + 1])],
})
const rows = { length, columns: table.children.map((column) => column.data[0]) }

/** Constants that take more steps together than they may. */
const manyDistances = Array.from(
  { length: 20 },
  (_, i) => `levenshtein(repeat('a', ${7_900 + i}), repeat('b', 8000)) > 1 AND `,
).join('')

/** A list of texts that differ at their ends only. */
function listOfLong(end: string): string {
  return `make_array(${Array.from({ length: 70 }, (_, i) => `repeat('a', 8000) || '${end}${i}'`).join()}, s)`
}

const walk = (predicate: string, budget?: WorkBudget) =>
  compilePredicate(predicate, table.schema).steps(rows, 0, length, undefined, budget)

describe('work that takes long is done in steps', () => {
  test.each([
    'levenshtein(repeat(s, 100), repeat(s, 99)) > 0',
    "reverse(repeat(s, 5000)) > 'a'",
    'initcap(repeat(s, 2000)) > initcap(repeat(s, 2001))',
    "repeat(s, 20000) LIKE '%x%y_%z%'",
    "regexp_like(repeat(s, 500), '(a|b|c|_)*[0-9]+(x+)+y')",
    "regexp_replace(repeat(s, 500), '[a-z]', '$0$0', 'g') > ''",
    `array_has_any(numbers, make_array(${Array.from({ length: 4_096 }, (_, i) => -i).join()}))`,
    `length(concat(${Array(500).fill('repeat(s, 50)').join()})) > 0`,
    "replace(repeat(s, 2000), 't', 'tt') > ''",
    'levenshtein(repeat(encoded, 300), repeat(s, 200)) > 1',
  ])('%s', (predicate) => {
    const steps = walk(predicate)
    let count = 0
    // The first rests come long before all is done: nobody waits for the others.
    while (count < 20 && !steps.next().done) count++
    expect(count).toBe(20)
  })

  test('and comes to the same as done at once', () => {
    const predicate = "levenshtein(repeat(s, 9), 'text_7_of_nineteen') % 7 = 3 AND id % 3 = 1"
    const compiled = compilePredicate(predicate, table.schema)
    const small = compiled.steps(rows, 32, 4_001)
    let step = small.next()
    while (!step.done) step = small.next()
    const whole = compilePredicate(predicate, table.schema).select(rows, 32, 4_001)
    expect(step.value).toEqual(whole)
    expect(compiled.count(rows, 32, 4_001)).toBe(
      Array.from({ length: 3_969 }, (_, i) => i + 32).filter(
        (i) => i % 3 === 1 && editDistance(`text_${i}_of_nineteen`.repeat(9), 'text_7_of_nineteen') % 7 === 3,
      ).length,
    )
  })
})

describe('work that is too much for one row is refused', () => {
  test.each([
    ['levenshtein(repeat(s, 400), repeat(s, 9000)) > 0', 'levenshtein'],
    [`${'reverse(repeat(s, 4000)) || '.repeat(20)}s > s`, 'reverse'],
    ["find_in_set(s, repeat(',', 900000)) > 0", 'find_in_set'],
    ["split_part(repeat(',', 900000) || s, ',', 5) = s", 'split_part'],
    ["regexp_count(repeat(s, 4000), '') > 1", 'regexp_count'],
    [`array_has_any(${listOfLong('a')}, ${listOfLong('b')})`, 'array_has_any'],
    ["initcap(repeat(s, 50000)) > ''", 'initcap'],
    ["regexp_like(repeat(s, 50000), '(a|b)*c{1000}d')", 'regexp_like'],
    ["reverse(reverse(reverse(repeat(s, 45000)))) > ''", 'reverse'],
    ["repeat(s, 5000) LIKE concat('%', repeat(s, 4000), 'z%')", 'LIKE'],
    ["array_to_string(make_array(s, s, s, s), repeat(s, 40000)) > ''", 'array_to_string'],
    [
      "repeat(s, 50000) || repeat(s, 50000) || repeat(s, 50000) || repeat(s, 50000) || repeat(s, 50000) > ''",
      '||',
    ],
    [
      "regexp_replace(repeat(s, 500), '.*', '$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0') > ''",
      'regexp_replace',
    ],
  ])('%s', (predicate, name) => {
    const run = () => {
      const steps = walk(predicate)
      while (!steps.next().done);
    }
    expect(run).toThrow(/The predicate takes too much work|It can have 1048576/)
    expect(run).toThrow(name)
  })
})

describe('so is that of constants', () => {
  test.each([
    `${manyDistances}id = 1`,
    `${'reverse('.repeat(100)}repeat('ab', 400000)${')'.repeat(100)} > s`,
    `${"regexp_like(s, '\\w\\d\\p{L}[a-z]+x') OR ".repeat(300)}id = 1`,
    `length(concat(${Array(2_000).fill("repeat('a', 10000)").join()})) > 1`,
  ])('%#', (predicate) => {
    expect(() => {
      const steps = walk(predicate)
      while (!steps.next().done);
    }).toThrow('The predicate takes too much work')
  })

  test('what fails is asked of no row where another condition leaves none', () => {
    expect(compilePredicate(`id < 0 AND ${manyDistances} id = 1`, table.schema).count(rows, 0, length)).toBe(
      0,
    )
  })
})

describe('with a clock at which all time is over at each look', () => {
  beforeEach(() => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 100
      return now
    })
  })
  afterEach(() => vi.restoreAllMocks())

  const list = (count: number, part: (i: number) => string, separator: string) =>
    Array.from({ length: count }, (_, i) => part(i)).join(separator)

  test.each([
    ['OR', list(500, (i) => `id = ${i} AND s <> 'x'`, ' OR ')],
    ['equalities', list(1_000, (i) => `id = ${2 * i}`, ' OR ')],
    ['IN', `id IN (${list(1_500, (i) => `${2 * i}`, ', ')})`],
    ['IN of expressions', `id IN (${list(300, (i) => `id * ${i}`, ', ')})`],
    ['arguments', `length(concat(${list(200, (i) => `s || '${i}'`, ', ')})) % 2 = 1`],
    ['a list', `array_has([${list(1_500, (i) => `${i}`, ', ')}], id)`],
    ['constants', `${list(500, (i) => `length('${i}') = 9`, ' OR ')} OR id % 2 = 1`],
    ['nesting', `${balanced(9)} % 3 = 1`],
    ['costly constants', list(20, (i) => `reverse(repeat('${i}', 9000)) > s`, ' OR ')],
    ['one costly constant', "levenshtein(repeat('a', 7000), repeat('b', 8000)) = 8000 AND id % 2 = 1"],
  ])('planning pauses: %s', (_, text) => {
    const steps = compileSteps(text, table.schema, 0)
    let rests = 0
    let step = steps.next()
    for (; !step.done; step = steps.next()) rests++
    expect(rests).toBeGreaterThan(5)
    vi.restoreAllMocks()
    const at = (predicate: Predicate) => predicate.select(rows, 0, 128)
    expect(at(step.value)).toEqual(at(compilePredicate(text, table.schema, 0)))
  })

  test('a single row pauses and goes on where it was', () => {
    const predicate = 'levenshtein(repeat(s, 380), repeat(s, 379)) = 19'
    const one = compilePredicate(predicate, table.schema).countSteps(rows, 32, 33)
    let rests = 0
    let step = one.next()
    for (; !step.done; step = one.next()) rests++
    expect(rests).toBeGreaterThan(5)
    expect(step.value).toBe(1)
  })
})

/** A sum of two parts, each of which is one, and so on. */
function balanced(levels: number): string {
  return levels === 0 ? 'id' : `(${balanced(levels - 1)} + ${balanced(levels - 1)})`
}

test('what is refused in a long predicate is told as ever', () => {
  const run = (text: string) => () => {
    const steps = compileSteps(text, table.schema, 0)
    while (!steps.next().done);
  }
  const chain = 'id = 1 OR '.repeat(3_000)
  expect(run(`${chain} nothing = 1`)).toThrow('no column named `nothing`')
  expect(run(`${chain} id =`)).toThrow('it ends')
  expect(run(`${chain} ${'('.repeat(201)}id`)).toThrow('nested more than 200 levels deep')
})

test('a budget bounds all rows together', () => {
  const run = (budget: number) => {
    const steps = walk('levenshtein(repeat(s, 20), repeat(s, 21)) >= 0', new WorkBudget(budget))
    let step = steps.next()
    while (!step.done) step = steps.next()
    return step.value
  }
  expect(() => run(10_000_000)).toThrow('more than 10000000 steps of work')
  expect(countRows(run(1_000_000_000))).toBe(length)
})

test('a budget counts what was done, however slow the machine was', () => {
  const used = () => {
    const budget = new WorkBudget()
    const all = budget.left
    const steps = walk("reverse(repeat(s, 50)) > 'a'", budget)
    let pauses = 0
    while (!steps.next().done) pauses++
    return { steps: all - budget.left, pauses }
  }
  const quick = used()
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1))
  const slow = used()
  clock.mockRestore()
  expect(slow.pauses).toBeGreaterThan(quick.pauses)
  expect(slow.steps).toBe(quick.steps)
})

test('a long dictionary is asked in steps, and what was found stays', () => {
  const many = 20_000
  const large = makeTable({ d: [types.dictionary, Array.from({ length: many }, (_, i) => `entry ${i}`)] })
  const column = large.children[0]!.data[0]!
  const predicate = compilePredicate("d LIKE '%e%_9%'", large.schema)
  expect(predicate.count({ length: many, columns: [column] }, 0, many)).toBe(
    Array.from({ length: many }, (_, i) => `entry ${i}`).filter((text) => /e.*.9/.test(text)).length,
  )
})

test('a stretch of a pattern between two "%" with "_" is bounded', () => {
  const like = (count: number) => compilePredicate(`s LIKE '%${'a_'.repeat(count)}%'`, table.schema)
  expect(like(512).count(rows, 0, length)).toBe(0)
  expect(() => like(513)).toThrow('has 1026 characters between two "%", with "_" among them')
  const long = makeTable({ s: [types.utf8, ['x'.repeat(400_000)]] })
  const [column] = long.children.map(({ data }) => data[0]!)
  const inLong = (pattern: string) =>
    compilePredicate(`s LIKE '${pattern}'`, long.schema).count({ length: 1, columns: [column!] }, 0, 1)
  expect(inLong(`%${'a_'.repeat(60)}%`)).toBe(0)
  expect(() => inLong(`%${'a_'.repeat(500)}%`)).toThrow('1000 characters between two "%"')
})

test('distances are those of the plain way', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '😀'), maxLength: 150 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(editDistance(a, b)).toBe(plainDistance(a, b))
    }),
  )
})

/** Source: Wagner and Fischer, "The string-to-string correction problem", 1974. */
function plainDistance(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)]
  let previous = Array.from({ length: right.length + 1 }, (_, i) => i)
  left.forEach((char, i) => {
    const row = [i + 1]
    right.forEach((other, j) => {
      row.push(Math.min(previous[j]! + (char === other ? 0 : 1), previous[j + 1]! + 1, row[j]! + 1))
    })
    previous = row
  })
  return previous[right.length]!
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatCsv, parseCsv } from '../../src/cli/csv.ts'
import { barText, progressBar } from '../../src/cli/progress.ts'
import { plain } from '../../src/cli/values.ts'

describe('CSV', () => {
  it('reads quotes, line breaks, empty fields and both ends of lines', () => {
    expect(parseCsv('\uFEFFa,b\r\n"x,""y""\n",1\r\n,2\n"",3', 'f')).toEqual([
      { a: 'x,"y"\n', b: 1 },
      { a: null, b: 2 },
      { a: '', b: 3 },
    ])
    expect(parseCsv('a,b\n1,\n', 'f')).toEqual([{ a: 1, b: null }])
    expect(parseCsv('a\n\nx\n', 'f')).toEqual([{ a: 'x' }])
  })

  it('a column is of numbers or booleans only if all its fields are', () => {
    expect(parseCsv('zip,n,b,mixed\n01234,1e3,true,1\n94110,-0.5,false,x\n', 'f')).toEqual([
      { zip: '01234', n: 1000, b: true, mixed: '1' },
      { zip: '94110', n: -0.5, b: false, mixed: 'x' },
    ])
  })

  it.each([
    ['', /is empty/],
    ['a,b\n1\n', /record 2 of f has 1 fields; the first one names 2/],
    ['a\n"x', /ends inside a quoted field/],
    ['a\n"x"y\n', /has text after a closing quote/],
  ])('refuses %j', (text, message) => {
    expect(() => parseCsv(text, 'f')).toThrow(message)
  })

  it('reads back what it wrote', () => {
    const texts = fc.array(
      fc.record({ a: fc.string().map((s) => `${s}x`), b: fc.option(fc.string().map((s) => `_${s}`)) }),
      {
        minLength: 1,
      },
    )
    fc.assert(
      fc.property(texts, (rows) => {
        expect(parseCsv(formatCsv(rows), 'f')).toEqual(rows)
      }),
    )
    const numbers = fc.array(
      fc.record({ n: fc.double({ noNaN: true, noDefaultInfinity: true }), t: fc.constant('t') }),
      {
        minLength: 1,
      },
    )
    fc.assert(
      fc.property(numbers, (rows) => {
        expect(parseCsv(formatCsv(rows), 'f').map(({ n }) => (n === 0 ? 0 : n))).toEqual(
          rows.map(({ n }) => (n === 0 ? 0 : n)),
        )
      }),
    )
  })
})

describe('values', () => {
  it('become what JSON has', () => {
    expect(
      plain({
        big: 2n ** 60n,
        small: 7n,
        date: new Date(0),
        bytes: new Uint8Array([1, 2]),
        floats: new Float32Array([0.5]),
        map: new Map([['k', 1n]]),
        list: [Number.NaN, null],
      }),
    ).toEqual({
      big: '1152921504606846976',
      small: 7,
      date: '1970-01-01T00:00:00.000Z',
      bytes: 'AQI=',
      floats: [0.5],
      map: { k: 1 },
      list: ['NaN', null],
    })
  })
})

describe('the progress bar', () => {
  it('is drawn on a terminal only', () => {
    expect(progressBar({ write: () => {} }).onProgress).toBeUndefined()
    expect(progressBar({ write: () => {}, isTTY: true }).onProgress).toBeDefined()
  })

  it('shows how much is done', () => {
    expect(barText(0, 100)).toBe(`${'░'.repeat(30)} 0%  0 of 100 rows`)
    expect(barText(5_000, 10_000)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)} 50%  5,000 of 10,000 rows`)
    expect(barText(3, 0)).toContain('100%')
  })
})

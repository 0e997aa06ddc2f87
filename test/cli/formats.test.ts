import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { barText, progressBar } from '../../src/cli/progress.ts'
import { formatCsv, parseCsv } from '../../src/cli/rows/csv.ts'
import { plain } from '../../src/cli/values.ts'

describe('CSV', () => {
  it('reads quotes, line breaks, empty fields and both ends of lines', () => {
    expect(parseCsv('\uFEFFa,b\r\n"x,""y""\n",1\r\n,2\n"",3', 'f')).toEqual({
      rows: [
        { a: 'x,"y"\n', b: '1' },
        { a: null, b: '2' },
        { a: '', b: '3' },
      ],
      lines: [2, 4, 5],
    })
    expect(parseCsv('a,b\n1,\n', 'f').rows).toEqual([{ a: '1', b: null }])
    expect(parseCsv('a\n\nx\n', 'f')).toEqual({ rows: [{ a: 'x' }], lines: [3] })
  })

  it.each([
    ['', /is empty/],
    ['a,b\n1\n', /line 2 of f: record 2 has 1 fields; the first one names 2/],
    ['a\n"x', /ends inside a quoted field/],
    ['a\n"x"y\n', /line 2 of f has text after a closing quote/],
  ])('refuses %j', (text, message) => {
    expect(() => parseCsv(text, 'f')).toThrow(message)
  })

  it('reads back what it wrote', () => {
    const cells = fc.record({ a: fc.string(), b: fc.option(fc.string()) })
    fc.assert(
      fc.property(fc.array(cells, { minLength: 1 }), (rows) => {
        expect(parseCsv(formatCsv(rows), 'f').rows).toEqual(rows)
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
      big: 2n ** 60n,
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

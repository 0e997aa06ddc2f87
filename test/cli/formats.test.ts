import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printerOf } from '../../src/cli/print.ts'
import { barText, progressBar } from '../../src/cli/progress.ts'
import { csvLine, csvRows } from '../../src/cli/rows/csv.ts'
import { textOf } from '../../src/cli/rows/input.ts'
import { plain } from '../../src/cli/values.ts'

/** The rows of a text that arrives in pieces. */
async function readCsv(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
  async function* pieces() {
    for (const [i, place] of places.slice(1).entries()) yield bytes.subarray(places[i], place)
  }
  const rows: unknown[] = []
  const lines: number[] = []
  for await (const some of csvRows(textOf(pieces(), 'f'), 'f')) {
    for (const { values, at } of some) {
      rows.push(values)
      lines.push(at)
    }
  }
  return { rows, lines }
}

describe('CSV', () => {
  it('reads quotes, line breaks, empty fields and both ends of lines', async () => {
    expect(await readCsv('\uFEFFa,b\r\n"x,""y""\n",1\r\n,2\n"",3')).toEqual({
      rows: [
        { a: 'x,"y"\n', b: '1' },
        { a: null, b: '2' },
        { a: '', b: '3' },
      ],
      lines: [2, 4, 5],
    })
    expect((await readCsv('a,b\n1,\n')).rows).toEqual([{ a: '1', b: null }])
    expect(await readCsv('\na,b\n\nx,y\n')).toEqual({ rows: [{ a: 'x', b: 'y' }], lines: [4] })
    expect(await readCsv('a\n\nx\n')).toEqual({ rows: [{ a: null }, { a: 'x' }], lines: [2, 3] })
  })

  it.each([
    ['', /is empty/],
    ['a,b\n1\n', /line 2 of f: record 2 has 1 fields; the first one names 2/],
    ['a\n"x', /ends inside a quoted field/],
    ['a\n"x"y\n', /line 2 of f has text after a closing quote/],
    ['a\n5" wide\n', /line 2 of f has a quote inside of a field/],
  ])('refuses %j', async (text, message) => {
    await expect(readCsv(text)).rejects.toThrow(message)
  })

  it('reads back what it wrote, in any pieces', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', '\uFEFF', 'é', '𝄞', ' ') })
    const cells = fc.oneof(
      fc.record({ a: fc.option(text), b: fc.option(text) }),
      fc.record({ a: fc.option(text) }),
    )
    const rows = fc.array(cells, { minLength: 1 }).map((all) => {
      const names = Object.keys(all[0]!)
      return all.map((row) =>
        Object.fromEntries(names.map((name) => [name, (row as Record<string, unknown>)[name] ?? null])),
      )
    })
    await fc.assert(
      fc.asyncProperty(rows, fc.array(fc.nat(80), { maxLength: 5 }), async (given, cuts) => {
        const names = Object.keys(given[0]!)
        const text = [
          names,
          ...given.map((row) => names.map((name) => (row as Record<string, unknown>)[name])),
        ]
          .map(csvLine)
          .join('')
        expect((await readCsv(text, cuts)).rows).toEqual(given)
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

describe('a table on a terminal', () => {
  it('is printed while its rows are read, and has all of them under one header, or one for each set of columns', () => {
    let text = ''
    const stdout = {
      isTTY: true,
      write: (piece: string | Uint8Array) => {
        text += String(piece)
      },
    }
    const printer = printerOf({ stdout }, undefined)
    const rows = 5_000
    let mostKept = 0
    const read = function* () {
      for (let n = 0; n < rows; n++) {
        mostKept = Math.max(mostKept, n - text.split('\n').length)
        yield { n, name: `row ${n}`, late: n === 4_500 ? 'a wider cell' : null }
      }
    }
    printer.rows(read())
    printer.end()
    expect(mostKept).toBeLessThan(1_100)
    const [head, rule, ...lines] = text.trimEnd().split('\n')
    expect(head!.trim().split(/ +/)).toEqual(['n', 'name', 'late'])
    expect(rule).toMatch(/^─+ {2}─+ {2}─+$/)
    expect(lines).toHaveLength(rows)
    for (const [n, line] of lines.entries())
      expect(line.trim().split(/ {2,}/).slice(0, 2)).toEqual([`${n}`, `row ${n}`])
    text = ''
    printer.rows([{ other: 1 }])
    printer.end()
    expect(text).toBe('other\n─────\n    1\n')
  })
})

describe('the progress bar', () => {
  it('is drawn on a terminal only', () => {
    expect(progressBar({ write: () => {} }).onProgress).toBeUndefined()
    expect(progressBar({ write: () => {}, isTTY: true }).onProgress).toBeDefined()
  })

  it('is one line of any terminal, and gone before the answer', async () => {
    for (const columns of [0, 20, 40, 80]) {
      const screen: string[] = []
      const out = { isTTY: true, columns, write: (text: string | Uint8Array) => screen.push(String(text)) }
      const bar = progressBar(out)
      const answer = bar.before(out)
      answer.write('first\n')
      // Short work shows none.
      bar.onProgress!({ rows: 1, total: 1_000_000 } as never)
      expect(screen.splice(0)).toEqual(['first\n'])
      await new Promise((resolve) => setTimeout(resolve, 600))
      bar.onProgress!({ rows: 123_456, total: 1_000_000 } as never)
      answer.write('second\n')
      answer.write('third\n')
      bar.clear()
      const [shown, ...rest] = screen
      expect(shown!.startsWith('\r') && shown!.endsWith('\u001b[K')).toBe(true)
      expect(shown).toContain('12%')
      expect(shown!.length - '\r\u001b[K'.length).toBeLessThan(columns || 80)
      expect(rest).toEqual(['\r\u001b[K', 'second\n', 'third\n'])
    }
  })

  it('shows how much is done', () => {
    expect(barText(0, 100, 79)).toBe(`${'░'.repeat(30)} 0%  0 of 100 rows`)
    expect(barText(5_000, 10_000, 79)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)} 50%  5,000 of 10,000 rows`)
    expect(barText(5_000, 10_000, 39)).toBe(`${'█'.repeat(7)}${'░'.repeat(6)} 50%  5,000 of 10,000 rows`)
    expect(barText(5_000, 10_000, 20)).toBe('50%  5,000 of 10,000 rows')
    // How many rows come is not known yet.
    expect(barText(0, 0, 79)).toBe('0 rows')
    expect(barText(1, 0, 79)).toBe('1 row')
  })
})

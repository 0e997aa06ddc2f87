import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  givenWidth,
  hidden,
  keptLayout,
  moved,
  orderedColumns,
  plainLayout,
  resized,
  shownColumns,
  sorted,
  withLayout,
} from '../../src/page/model/column-layout.ts'
import { filling, scrollToColumn, visibleColumns } from '../../src/page/model/visible-columns.ts'

const names = ['a', 'b', 'c', '__proto__', 'constructor', '']
const columns = names.map((name) => ({ name }))
const name = fc.constantFrom(...names)
const change = fc.oneof(
  fc.tuple(name, name).map(
    ([a, b]) =>
      (layout: typeof plainLayout) =>
        moved(layout, columns, a, b),
  ),
  fc.tuple(name, fc.option(fc.integer({ min: -10, max: 9_999 }), { nil: undefined })).map(
    ([a, width]) =>
      (layout: typeof plainLayout) =>
        resized(layout, a, width),
  ),
  fc.tuple(name, fc.boolean()).map(
    ([a, is]) =>
      (layout: typeof plainLayout) =>
        hidden(layout, a, is),
  ),
  fc.tuple(name, fc.constantFrom('ascending' as const, 'descending' as const, undefined), fc.boolean()).map(
    ([a, direction, isFurther]) =>
      (layout: typeof plainLayout) =>
        sorted(layout, a, direction, isFurther),
  ),
)
const layout = fc
  .array(change, { maxLength: 20 })
  .map((changes) => changes.reduce((before, next) => next(before), plainLayout))

describe('the layout of columns', () => {
  it('has each column once, shows at least one, and comes back from where it is kept', () => {
    fc.assert(
      fc.property(layout, (given) => {
        expect(
          orderedColumns(columns, given)
            .map((column) => column.name)
            .sort(),
        ).toEqual([...names].sort())
        const shown = shownColumns(columns, given)
        expect(shown.length).toBe(Math.max(1, names.filter((each) => !given.hidden.includes(each)).length))
        expect(keptLayout(withLayout(null, ['t'], given), ['t'])).toEqual(given)
        for (const each of names) {
          const width = givenWidth(given, each)
          expect(width === undefined || (width >= 56 && width <= 1_600)).toBe(true)
        }
      }),
    )
  })

  it('moves a column to where another one was', () => {
    fc.assert(
      fc.property(layout, name, name, (given, from, to) => {
        const before = orderedColumns(columns, given).map((column) => column.name)
        const after = orderedColumns(columns, moved(given, columns, from, to)).map((column) => column.name)
        expect(after.indexOf(from)).toBe(before.indexOf(to))
        expect(after.filter((each) => each !== from)).toEqual(before.filter((each) => each !== from))
      }),
    )
  })

  it('keeps the tables that were arranged last, in bounded room, and ignores what is broken', () => {
    let kept: string | null = null
    for (let table = 0; table < 60; table++) {
      const order = Array.from({ length: table === 30 ? 30_000 : 100 }, (_, i) => `column ${i}`)
      kept = withLayout(kept, [`t${table}`], { ...plainLayout, order })
      expect(kept.length).toBeLessThanOrEqual(200_000)
    }
    expect(keptLayout(kept, ['t59']).order.length).toBe(100)
    expect(keptLayout(kept, ['t9'])).toEqual(plainLayout)
    expect(withLayout(withLayout(null, ['t'], { ...plainLayout, order: ['a'] }), ['t'], plainLayout)).toBe(
      '[]',
    )
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(shownColumns(columns, keptLayout(text, ['t'])).length).toBe(names.length)
      }),
    )
    const wrong = {
      widths: { a: 'x', b: 1e9, c: null },
      hidden: 5,
      order: [1, 'b', 'b'],
      sort: [{}, null],
      keys: {},
    }
    expect(keptLayout(JSON.stringify([['["t"]', wrong], 7, null]), ['t'])).toEqual({
      ...plainLayout,
      widths: { b: 1_600 },
      order: ['b'],
    })
  })
})

describe('columns in sight', () => {
  const widths = fc.array(fc.integer({ min: 56, max: 1_600 }), { maxLength: 300 })

  it('are drawn, and few others are', () => {
    fc.assert(
      fc.property(
        widths,
        fc.nat({ max: 400_000 }),
        fc.integer({ min: 0, max: 2_500 }),
        (given, left, width) => {
          const found = visibleColumns(given, left, width)
          let at = 0
          for (const [index, own] of given.entries()) {
            const isInSight = at < left + width && at + own > left
            if (isInSight) expect(index >= found.first && index < found.end).toBe(true)
            if (index === found.first && found.end > found.first) expect(found.left).toBe(at)
            at += own
          }
          expect(found.total).toBe(at)
          expect(found.end - found.first).toBeLessThanOrEqual((width + 600) / 56 + 2)
        },
      ),
    )
  })

  it('come in sight when they are shown, and fill the room', () => {
    fc.assert(
      fc.property(widths, fc.nat(), fc.integer({ min: 1_600, max: 2_500 }), (given, any, width) => {
        fc.pre(given.length > 0)
        const column = any % given.length
        const left = scrollToColumn(given, column, 0, width)
        const start = given.slice(0, column).reduce((sum, own) => sum + own, 0)
        expect(start >= left && start + given[column]! <= left + width).toBe(true)
        const filled = filling(
          given.map((own, index) => ({ width: own, isFixed: index % 2 === 1 })),
          width,
        )
        const total = filled.reduce((sum, own) => sum + own, 0)
        const before = given.reduce((sum, own) => sum + own, 0)
        expect(total).toBeGreaterThanOrEqual(Math.min(before, width) - given.length)
        expect(total).toBeLessThanOrEqual(Math.max(before, width))
        for (const [index, own] of filled.entries()) {
          if (index % 2 === 1) expect(own).toBe(given[index])
          else expect(own).toBeGreaterThanOrEqual(given[index]!)
        }
      }),
    )
  })
})

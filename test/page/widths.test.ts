import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { MemoryCatalog } from '../../src/tabularium/index.ts'
import { limitEach } from '../support/time-limit.ts'
import { barriers, describeInChromium, opened, overflow } from './opened.ts'

// A browser shows dozens of views.
limitEach(240)

/* The views of a table at the widths of a phone, a laptop and a large screen: nothing is cut, nor lies beside the screen. */

const rowCounts = [0, 5]
const columnCounts = [3, 300]
const long = 'departure_delay_in_minutes_as_announced_by_the_airline_on_the_day_before'

const nameOf = (columns: number, rows: number) => `${columns}_columns_and_${rows}_rows_${'x'.repeat(40)}`

/** Tables of each size, with names, texts, properties, tags and branches that are long and have no space. */
async function sizes(catalog: MemoryCatalog): Promise<void> {
  for (const columns of columnCounts) {
    for (const rows of rowCounts) {
      const id = [nameOf(columns, rows)]
      const row = (at: number) =>
        Object.fromEntries(
          Array.from({ length: columns }, (_, column) =>
            column === 1
              ? ['note', `${'word '.repeat(30)}${'long'.repeat(40)}`]
              : [column === 0 ? long : `column ${column}`, at * 1_000 + column],
          ),
        )
      const properties = { owner: 'o'.repeat(120), [`team${'t'.repeat(80)}`]: 'analysis of delays' }
      await catalog.createTable({ id, data: [row(0)], properties })
      await catalog.deleteFromTable({ id, predicate: 'true' })
      if (rows > 0)
        await catalog.insertIntoTable({ id, data: Array.from({ length: rows }, (_, at) => row(at)) })
      await catalog.createTableTag({ id, tag: `stable${'s'.repeat(60)}`, version: 1 })
      await catalog.createTableBranch({ id, name: `experiment${'e'.repeat(60)}` })
    }
  }
}

const tabs = { columns: 'Columns', rows: 'Rows', versions: 'Versions', refs: 'Tags and branches' } as const

/** The tabs are in one line, which is less than 50 px high. */
const heightOfTabs = (page: Page) =>
  page.getByRole('tablist').evaluate((list) => list.getBoundingClientRect().height)

describeInChromium('the views of a table', () => {
  for (const theme of ['light', 'dark'] as const) {
    it(`are legible and whole at every width, in the ${theme}`, async () => {
      const { page, server } = await opened(sizes, { page: 'editable' })
      await page.getByLabel('Colors').selectOption(theme)
      for (const columns of columnCounts) {
        for (const rows of rowCounts) {
          for (const tab of Object.keys(tabs)) {
            const view = `#/table/${nameOf(columns, rows)}?tab=${tab}`
            await page.goto(`${server.url}/${view}`)
            await page.getByRole('tabpanel').waitFor()
            await expect.poll(() => page.getByText('Loading…').count()).toBe(0)
            if (tab === 'rows') await page.getByText(`${rows} rows`, { exact: true }).waitFor()
            for (const width of [390, 1_280, 2_000]) {
              await page.setViewportSize({ width, height: 844 })
              const where = `${view} at ${width}`
              await expect.poll(() => overflow(page), { message: where }).toEqual([])
            }
            expect(await barriers(page), view).toEqual([])
            await page.setViewportSize({ width: 390, height: 844 })
            expect(await heightOfTabs(page), view).toBeLessThan(50)
          }
        }
      }
    })
  }

  it('show dialogs whole on a phone', async () => {
    const { page } = await opened(sizes, { page: 'editable' }, `#/table/${nameOf(3, 5)}?tab=refs`)
    await page.setViewportSize({ width: 390, height: 844 })
    for (const act of ['Rename', 'Drop', 'New tag', `Move stable${'s'.repeat(60)}`]) {
      await page.getByRole('button', { name: act, exact: true }).click()
      await page.getByRole('dialog').waitFor()
      expect(await overflow(page), act).toEqual([])
      expect(await barriers(page), act).toEqual([])
      await page.getByRole('button', { name: 'Leave it' }).click()
    }
  })
})

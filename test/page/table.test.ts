import { rmSync } from 'node:fs'
import * as arrow from '@uwdata/flechette'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import type { MemoryCatalog } from '../../src/tabularium/index.ts'
import { IcebergRequests, schema } from '../iceberg/rest.ts'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { barriers, describeInChromium, filled, heldUp, opened } from './opened.ts'

// A browser shows pages.
limitEach(60)

const flights = ['prod', 'flights']
const long = 'departure_delay_in_minutes_as_announced'

/** A table whose values look like others, and whose names are hostile. */
async function odd(catalog: MemoryCatalog) {
  const columns = {
    n: arrow.columnFromValues([1, 2, 3, 4], arrow.int32()),
    text: arrow.columnFromValues(['null', null, '', "it's <b>100%</b>"], arrow.utf8()),
    [long]: arrow.columnFromValues([5, null, 70, 60], arrow.int32()),
    '<img src=x>': arrow.columnFromValues([0.1, 1.5, null, -2], arrow.decimal(10, 3)),
    'at`; --': arrow.columnFromValues([0, 1, 2, null].map(dateOf), arrow.timestamp(3, 'UTC')),
    vector: arrow.columnFromValues([[0.1, 2], null, [0, 0], [1, 1]], arrow.fixedSizeList(arrow.float32(), 2)),
    raw: arrow.columnFromValues([new Uint8Array([0, 255]), null, null, null], arrow.binary()),
    flag: arrow.columnFromValues([true, false, null, true], arrow.bool()),
  }
  await catalog.createTable({
    id: ['odd'],
    data: arrow.tableToIPC(arrow.tableFromColumns(columns), { format: 'stream' })!,
  })
}

function dateOf(minutes: number | null): Date | null {
  return minutes === null ? null : new Date(Date.UTC(2026, 10, 1, 12, minutes))
}

const grid = (page: Page) => page.getByRole('table', { name: 'Rows', exact: true })
const names = (page: Page) =>
  grid(page)
    .getByRole('columnheader')
    .evaluateAll((heads) => heads.slice(1).map((head) => head.querySelector('.column-name')!.textContent))
/** The cells of a column that is shown at a place, from 1. */
const cells = (page: Page, place: number) =>
  grid(page)
    .locator(`.grid-row [aria-colindex="${place + 1}"]`)
    .allTextContents()

describeInChromium('the view of a table', () => {
  it('shows values of all types whole, and marks what is no text', async () => {
    const { page } = await opened(odd, {}, '#/table/odd?tab=rows')
    await expect.poll(() => cells(page, 2)).toEqual(['null', 'null', 'empty', "it's <b>100%</b>"])
    expect(await grid(page).locator('.null').count()).toBe(6)
    expect(await cells(page, 4)).toEqual(['0.100', '1.500', 'null', '-2.000'])
    expect((await cells(page, 5)).slice(0, 2)).toEqual([
      '2026-11-01 12:00:00.000000000Z',
      '2026-11-01 12:01:00.000000000Z',
    ])
    await grid(page).evaluate((box) => box.scrollTo(10_000, 0))
    await expect.poll(async () => (await cells(page, 6))[0]).toBe('[0.1, 2]')
    await expect.poll(async () => (await cells(page, 7))[0]).toBe('00 ff')
    expect(await page.locator('main img').count()).toBe(0)
    await page.getByRole('button', { name: 'Row 4, show whole' }).click()
    await page.getByRole('dialog').getByText("it's <b>100%</b>").waitFor()
    expect(await barriers(page)).toEqual([])
  })

  it('sorts by the server, moves, resizes and hides columns by keyboard, and keeps that', async () => {
    const { page, asked } = await opened(odd, {}, '#/table/odd?tab=rows')
    const head = (name: string) => grid(page).getByRole('columnheader', { name })
    const button = (name: string) => head(name).locator('.column-name')
    await expect.poll(() => cells(page, 3)).toEqual(['5', 'null', '70', '60'])
    await button(long).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => cells(page, 3)).toEqual(['5', '60', '70', 'null'])
    expect(await head(long).getAttribute('aria-sort')).toBe('ascending')
    await page.keyboard.press('Enter')
    await expect.poll(() => cells(page, 3)).toEqual(['70', '60', '5', 'null'])
    expect(await head(long).getAttribute('aria-sort')).toBe('descending')

    const width = async () => (await head(long).boundingBox())!.width
    const before = await width()
    await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(width).toBeGreaterThan(before)
    await page.keyboard.press('Alt+ArrowLeft')
    await expect.poll(async () => (await names(page))[1]).toContain(long)
    await expect.poll(() => page.evaluate('document.activeElement.title')).toContain(long)

    await page.getByRole('button', { name: 'What to do with text', exact: true }).click()
    expect(await barriers(page)).toEqual([])
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await expect.poll(() => head('text').count()).toBe(0)
    await page.reload()
    await expect.poll(() => cells(page, 2)).toEqual(['70', '60', '5', 'null'])
    expect(await head('text').count()).toBe(0)

    await page.getByRole('button', { name: /^Columns 7 of 8/ }).click()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('checkbox', { name: /^text/ }).check()
    await head('text').waitFor()
    await page.getByRole('button', { name: 'As they were' }).click()
    await expect.poll(() => cells(page, 3)).toEqual(['5', 'null', '70', '60'])
    expect(await page.evaluate("localStorage.getItem('tabularium-columns')")).toBe('[]')
    expect(asked.filter((url) => url.includes(long))).toEqual([])
  })

  it('moves and resizes columns by mouse, and ignores what is broken in the storage', async () => {
    const { page } = await opened(odd, {}, '#/table/odd?tab=rows')
    await page.evaluate("localStorage.setItem('tabularium-columns', '[[1,{\"order\":5}],[')")
    await page.reload()
    const box = async (name: string) =>
      (await grid(page).getByRole('columnheader', { name, exact: false }).first().boundingBox())!
    await grid(page).getByRole('columnheader', { name: 'text' }).waitFor()
    const [from, to] = [await box('n int32'), await box(long)]
    await page.mouse.move(from.x + 20, from.y + 10)
    await page.mouse.down()
    await page.mouse.move(to.x + 30, to.y + 10, { steps: 5 })
    await page.mouse.up()
    await expect.poll(async () => (await names(page))[2]).toContain('n')
    // A drag does not sort.
    expect(await grid(page).locator('[aria-sort]').count()).toBe(0)
    const text = await box('text')
    await page.mouse.move(text.x + text.width - 1, text.y + 10)
    await page.mouse.down()
    await page.mouse.move(text.x + text.width + 99, text.y + 10, { steps: 3 })
    await page.mouse.up()
    await expect.poll(async () => Math.round((await box('text')).width - text.width)).toBe(100)
  })

  it('writes the predicate by a row of fields, beside what somebody wrote', async () => {
    const { page } = await opened(odd, {}, '#/table/odd?tab=rows')
    const predicate = page.getByLabel('Rows where')
    await page.getByLabel('How to filter text').selectOption({ label: 'has Aa' })
    await page.getByLabel('Filter text', { exact: true }).fill("it's <b>100%")
    await page.keyboard.press('Enter')
    await expect.poll(() => predicate.inputValue()).toBe("contains(text, 'it''s <b>100%')")
    await page.getByText('1 row matches', { exact: true }).waitFor()
    await predicate.fill('n > 0 OR flag')
    await predicate.press('Enter')
    await page.getByText('4 rows match', { exact: true }).waitFor()
    expect(await page.getByLabel('Filter text', { exact: true }).inputValue()).toBe('')
    await page.getByLabel(`How to filter ${long}`).selectOption({ label: '≥' })
    await page.getByLabel(`Filter ${long}`, { exact: true }).fill('60')
    await page.keyboard.press('Enter')
    await expect.poll(() => predicate.inputValue()).toBe(`(n > 0 OR flag) AND ${long} >= 60`)
    await page.getByText('2 rows match', { exact: true }).waitFor()
    await expect.poll(() => cells(page, 3)).toEqual(['70', '60'])
    // A link has the fields, too.
    await page.reload()
    await expect.poll(() => page.getByLabel(`Filter ${long}`, { exact: true }).inputValue()).toBe('60')
    await page.getByLabel(`Filter ${long}`, { exact: true }).fill('many')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('many is not a whole number.').waitFor()
    expect(await page.getByLabel(`Filter ${long}`, { exact: true }).getAttribute('aria-invalid')).toBe('true')
    expect(await barriers(page)).toEqual([])
    await page.getByLabel(`Filter ${long}`, { exact: true }).fill('')
    await page.keyboard.press('Enter')
    await expect.poll(() => predicate.inputValue()).toBe('n > 0 OR flag')
    await grid(page).evaluate((box) => box.scrollTo(10_000, 0))
    await page.getByLabel('How to filter flag').selectOption({ label: 'not null' })
    await page.getByText('3 rows match', { exact: true }).waitFor()
  })

  it('draws 300 columns by few elements, and reads those in sight', async () => {
    const { page } = await opened(
      async (catalog) => {
        const row = (at: number) =>
          Object.fromEntries(
            Array.from({ length: 300 }, (_, column) => [`column ${column}`, at * 1_000 + column]),
          )
        await catalog.createTable({ id: ['wide'], data: Array.from({ length: 200 }, (_, at) => row(at)) })
      },
      {},
      '#/table/wide?tab=rows',
    )
    await grid(page).getByRole('cell', { name: '1007', exact: true }).waitFor()
    expect(await page.locator('.grid-row > span').count()).toBeLessThan(800)
    await grid(page).evaluate((box) => box.scrollTo(box.scrollWidth, box.scrollHeight))
    await grid(page).getByRole('cell', { name: '199299', exact: true }).waitFor()
    expect(await page.locator('.grid-row > span').count()).toBeLessThan(800)
    await page.getByRole('button', { name: 'Columns 300' }).click()
    await page.getByLabel('Search columns').fill('column 29')
    expect(await page.getByRole('checkbox').count()).toBe(11)
    for (const width of [390, 2_000]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
  })

  it('leads through versions by a slider and by time, and past one that is gone', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights?tab=rows')
    const slider = page.getByRole('slider', { name: 'Version' })
    await page.getByText('3,008 rows').waitFor()
    await slider.focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('3,010 rows').waitFor()
    expect(page.url()).toContain('version=2')
    await page.keyboard.press('Home')
    await page.getByText('3,000 rows').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.keyboard.press('ArrowRight')
    await page.getByText('3,010 rows').waitFor()
    await catalog.batchDeleteTableVersions({
      id: flights,
      ranges: [{ start_version: 2, end_version: 3 }],
    })
    await page.getByText('Not found').waitFor()
    await page.getByRole('button', { name: 'The version before' }).click()
    await page.getByText('3,000 rows').waitFor()

    const { versions } = await catalog.listTableVersions({ id: flights })
    const time = new Date(versions.at(-1)!.timestamp_millis! + 1_000).toISOString()
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(time))
    await page.getByLabel('At UTC').fill(time.slice(0, 19))
    await page.getByLabel('At UTC').press('Enter')
    await page.getByText('3,008 rows').waitFor()
    await page.getByText('the newest at').waitFor()
    await page.getByLabel('At UTC').fill('2001-01-01T00:00:00')
    await page.getByText('had no version').waitFor()
    await page.getByRole('link', { name: 'Show the latest' }).click()
    await page.getByText('Version 3, the latest').waitFor()
  })

  it('shows the rows that differ, those by a key as updates, and the first of many', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights?tab=versions')
    await page.getByRole('option', { name: /−2 rows/ }).waitFor()
    await catalog.updateTable({
      id: flights,
      updates: [['origin', "'<i>JFK</i>'"]],
      predicate: 'flight BETWEEN 100 AND 102',
    })
    await page.getByRole('option', { name: /^4.*UpdateTable/ }).click()
    const changes = page.getByRole('table', { name: 'Rows that differ' })
    await page.getByRole('button', { name: '+ 3 inserted' }).waitFor()
    await page.getByRole('button', { name: '− 3 deleted' }).waitFor()
    await page.getByLabel('Rows are the same by').selectOption('flight')
    await page.getByRole('button', { name: '~ 3 updated' }).click()
    const changed = changes.locator('.changed')
    await expect
      .poll(() => changed.allTextContents())
      .toEqual(['null <i>JFK</i>', 'SFO <i>JFK</i>', 'null <i>JFK</i>'])
    expect(await barriers(page)).toEqual([])
    // A key that is null tells no rows apart.
    await page.getByLabel('Rows are the same by').selectOption('origin')
    await page.getByRole('alert').getByText('origin').waitFor()
    await page.getByLabel('From version').fill('1')
    await page.getByLabel('Rows are the same by').selectOption('')
    await page.getByRole('button', { name: /inserted/ }).waitFor()

    await catalog.deleteFromTable({ id: flights, predicate: 'flight >= 10' })
    await page.getByRole('option', { name: /^5.*DeleteFromTable/ }).click()
    await page.getByText('the first 200 of each version').waitFor()
    await page.getByRole('button', { name: '− 200 or more deleted' }).waitFor()
    await page.getByRole('button', { name: 'Read more' }).click()
    await page.getByRole('button', { name: '− 800 or more deleted' }).waitFor()
    expect(await changes.getByRole('row').count()).toBeLessThan(60)
  })

  it('draws branches and tags beside thousands of versions, by few elements, and is reached by keyboard', async () => {
    const { page } = await opened(
      async (catalog) => {
        const id = ['t']
        await catalog.createTable({ id, data: [{ a: 1 }] })
        await catalog.createTableBranch({ id, name: 'dev' })
        await catalog.createTableTag({ id, tag: 'first', version: 1 })
        await catalog.deleteFromTable({ id, branch: 'dev', predicate: 'a = 1' })
        for (let version = 0; version < 700; version++)
          await catalog.updateTableSchemaMetadata({ id, metadata: { version: String(version) } })
      },
      {},
      '#/table/t?tab=versions',
    )
    const list = page.getByRole('listbox', { name: /^Versions/ })
    await page.getByRole('option', { name: /^701.*branch main/ }).waitFor()
    await list.focus()
    // The end of what has arrived, until that is the end of all.
    const first = page.getByRole('option', { name: /^1 .*tag first/ })
    await expect
      .poll(async () => {
        await page.keyboard.press('End')
        if ((await first.count()) === 0) return false
        return (await first.getAttribute('id')) === (await list.getAttribute('aria-activedescendant'))
      })
      .toBe(true)
    await page.getByRole('option', { name: /^2.*branch dev/ }).waitFor()
    expect(await page.locator('.history-graph').count()).toBeLessThan(60)
    expect(await page.locator('.history-graph path').count()).toBe(1)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.getByText('1 row, then 0 rows: −1').waitFor()
    await page.getByRole('button', { name: '− 1 deleted' }).waitFor()
    expect(await barriers(page)).toEqual([])
  })

  it('says of tables of Iceberg why their rows are not read, and shows their versions', async () => {
    const { page, server } = await opened(filled, (catalog) => ({ mounts: [icebergRest(catalog)] }))
    const rest = new IcebergRequests(`${server.url}/iceberg`)
    const made = await rest.post('namespaces/prod/tables', { name: 'ice', schema })
    expect(made.status).toBe(200)
    await page.goto(`${server.url}/#/table/prod/ice?tab=rows`)
    await page.getByText('This is a table of Iceberg.').waitFor()
    expect(await page.getByRole('table', { name: 'Rows' }).count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('option', { name: /^1 .*not known/ }).click()
    await page.getByText('This is the first version.').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.getByRole('tab', { name: 'Columns' }).click()
    await page.getByText('table_type').waitFor()
  })

  it('shows rows of tables of Lance and those that differ, and says why it cannot read them', async () => {
    const folder = await freshFolder()
    const { page, catalog } = await opened(
      async (made) => {
        const data = [{ n: 1 }, { n: 2 }]
        await made.createTable({ id: ['lance'], data, properties: { format: 'lance' } })
        await made.insertIntoTable({ id: ['lance'], data: [{ n: 3 }] })
      },
      {},
      '#/table/lance?tab=rows',
      { folder },
    )
    await expect.poll(() => cells(page, 1)).toEqual(['1', '2', '3'])
    await grid(page).locator('.column-name').click()
    await grid(page).locator('.column-name').click()
    await expect.poll(() => cells(page, 1)).toEqual(['3', '2', '1'])
    await page.getByRole('slider', { name: 'Version' }).focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => cells(page, 1)).toEqual(['2', '1'])
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('option', { name: /^2.*\+1 row/ }).click()
    await page.getByRole('button', { name: '+ 1 inserted' }).waitFor()

    const { location } = await catalog.describeTable({ id: ['lance'] })
    rmSync(new URL(`${location}/data`), { recursive: true })
    await page.getByRole('tab', { name: 'Rows' }).click()
    await page.reload()
    await page.getByRole('alert').first().waitFor()
    expect(await page.getByRole('alert').first().textContent()).not.toMatch(/undefined|\[object/)
  })

  it('keeps the rows that are shown until those of another filter are there', async () => {
    const { page } = await opened(odd, {}, '#/table/odd?tab=rows')
    await expect.poll(() => cells(page, 1)).toEqual(['1', '2', '3', '4'])
    const release = await heldUp(page, '**/query')
    await page.getByLabel('Filter n', { exact: true }).fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('1 row matches', { exact: true }).waitFor()
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Filter n')
    release()
    await expect.poll(() => cells(page, 1)).toEqual(['3'])
  })
})

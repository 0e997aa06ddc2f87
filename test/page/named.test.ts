import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { MemoryCatalog } from '../../src/tabularium/index.ts'
import { limitEach } from '../support/time-limit.ts'
import { describeInChromium, filled, flights, opened } from './opened.ts'

// A browser shows pages.
limitEach(60)

/*
 * A dialog changes the table, tag or namespace that it was opened for, and not another one that took its name
 * meanwhile.
 */

const id = ['prod', 'flights']
const editable = { page: 'editable' } as const
const anotherTable = 'is not the table that this dialog names'

async function replaced(catalog: MemoryCatalog): Promise<void> {
  await catalog.dropTable({ id })
  await catalog.createTable({ id, data: flights.slice(0, 4) })
  await catalog.createTableTag({ id, tag: 'stable', version: 1 })
}

async function atTable(page: Page, fragment = ''): Promise<void> {
  await page.getByText('Version 3, the latest').waitFor()
  if (fragment) await page.getByRole('tab', { name: fragment }).click()
}

async function openDrop(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Drop', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('flights')
}

const openDialogs: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'Drop table': openDrop,
  Rename: async (page) => {
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByLabel('New name').fill('moved')
  },
  Create: async (page) => {
    await page.getByRole('button', { name: 'New tag' }).click()
    await page.getByRole('dialog').getByLabel('Tag').fill('late')
    await page.getByRole('dialog').getByLabel('Version').fill('1')
  },
  Move: async (page) => {
    await page.getByRole('button', { name: 'Move stable' }).click()
    await page.getByRole('dialog').getByLabel('Version').fill('1')
  },
  Delete: (page) => page.getByRole('button', { name: 'Delete stable' }).click(),
}

const confirmed = (page: Page, act: string) =>
  page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click()

describeInChromium('a dialog of the page', () => {
  for (const [act, open] of Object.entries(openDialogs)) {
    it(`leaves another table of the name alone: ${act}`, async () => {
      const { page, catalog } = await opened(filled, editable, '#/table/prod/flights?tab=refs')
      await atTable(page)
      await page.getByRole('link', { name: 'stable' }).waitFor()
      await open(page)
      await replaced(catalog)
      await confirmed(page, act)
      await page.getByRole('dialog').getByText(anotherTable).waitFor()
      expect((await catalog.countTableRows({ id })).count).toBe(4)
      expect(Object.keys((await catalog.listTableTags({ id })).tags)).toEqual(['stable'])
      expect((await catalog.listTransactions({ status: ['Running'] })).transactions).toEqual([])
    })
  }

  for (const [act, open] of Object.entries(openDialogs)) {
    it(`stays open while its table cannot be read: ${act}`, async () => {
      const { page, catalog } = await opened(filled, editable, '#/table/prod/flights?tab=refs')
      await atTable(page)
      await page.getByRole('link', { name: 'stable' }).waitFor()
      await open(page)
      const typed = () =>
        page
          .getByRole('dialog')
          .locator('input')
          .evaluateAll((all) => all.map((one) => one.value))
      const before = await typed()
      await page.route('**/describe?*', (route) => route.fulfill({ status: 503, body: '{}' }))
      await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
      await page.getByRole('tablist', { includeHidden: true }).waitFor({ state: 'detached' })
      await page.unroute('**/describe?*')
      expect(await typed()).toEqual(before)
      await confirmed(page, act)
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })
  }

  it('drops no table that took the place of the named one between the look and the drop', async () => {
    const { page, catalog } = await opened(filled, editable, '#/table/prod/flights')
    await atTable(page)
    let looks = 0
    await page.route('**/describe', async (route) => {
      const response = await route.fetch()
      if (looks++ === 0) await replaced(catalog)
      await route.fulfill({ response })
    })
    await openDrop(page)
    await confirmed(page, 'Drop table')
    await page.getByRole('dialog').getByText(anotherTable).waitFor()
    expect((await catalog.countTableRows({ id })).count).toBe(4)
  })

  it('drops the named table though others insert meanwhile', async () => {
    const { page, catalog } = await opened(filled, editable, '#/table/prod/flights')
    await atTable(page)
    await openDrop(page)
    await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
    await confirmed(page, 'Drop table')
    await expect.poll(async () => (await catalog.listTables({ id: ['prod'] })).tables).toEqual([])
  })

  it('knows a table from the next one at the same chosen location', async () => {
    const declared = async (catalog: MemoryCatalog) => {
      await catalog.declareTable({ id: ['chosen'], location: 's3://bucket/chosen' })
      const manifest_path = 's3://bucket/chosen/_versions/1.manifest'
      await catalog.createTableVersion({ id: ['chosen'], version: 1, manifest_path })
    }
    const { page, catalog } = await opened(declared, editable, '#/table/chosen')
    await page.getByText('Version 1, the latest').waitFor()
    await page.getByRole('button', { name: 'Drop', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('chosen')
    await catalog.dropTable({ id: ['chosen'] })
    await declared(catalog)
    await confirmed(page, 'Drop table')
    await page.getByRole('dialog').getByText(anotherTable).waitFor()
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['chosen'])
  })

  it('looks first where the caller may begin no transaction', async () => {
    const { page, catalog } = await opened(
      filled,
      { ...editable, authorize: (_, operation) => operation !== 'beginTransaction' },
      '#/table/prod/flights',
    )
    await atTable(page)
    await openDrop(page)
    await replaced(catalog)
    await confirmed(page, 'Drop table')
    await page.getByRole('dialog').getByText(anotherTable).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Version 1, the latest').waitFor()
    await openDrop(page)
    await confirmed(page, 'Drop table')
    await expect.poll(async () => (await catalog.listTables({ id: ['prod'] })).tables).toEqual([])
  })

  it('deletes no tag that was moved meanwhile', async () => {
    const { page, catalog } = await opened(filled, editable, '#/table/prod/flights?tab=refs')
    await page.getByRole('button', { name: 'Delete stable' }).click()
    await catalog.updateTableTag({ id, tag: 'stable', version: 2 })
    await confirmed(page, 'Delete')
    await page.getByRole('dialog').getByText('points to another version by now').waitFor()
    expect((await catalog.getTableTagVersion({ id, tag: 'stable' })).version).toBe(2)
  })

  it('drops no namespace that took the place of the named one', async () => {
    const { page, catalog } = await opened(filled, editable, '#/namespace/prod/eu')
    await page.getByRole('button', { name: 'Drop namespace' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('eu')
    await catalog.dropNamespace({ id: ['prod', 'eu'] })
    await catalog.createNamespace({ id: ['prod', 'eu'], properties: { owner: 'ben' } })
    await confirmed(page, 'Drop namespace')
    await dialog.getByText('is not the namespace that this dialog names').waitFor()
    await catalog.namespaceExists({ id: ['prod', 'eu'] })
  })
})

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import type { MemoryCatalog } from '../../src/tabularium/index.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { barriers, describeInChromium, filled, flights, opened, overflow } from './opened.ts'

// A browser shows pages.
limitEach(120)

const hour = 3_600_000
const held = { retainDropped: hour }

const hostileNames = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'evil\u202etxt.exe',
  'مرحبا',
  'x'.repeat(255),
  'a b '.repeat(60).trim(),
]

/** A catalog of everything that the views show, with names that try to leave their places. */
async function hostile(catalog: MemoryCatalog) {
  await filled(catalog)
  for (const name of hostileNames) {
    await catalog.createNamespace({ id: [name] })
    await catalog.createTable({ id: [name, name], data: [{ [name.slice(0, 100)]: name }] })
    await catalog.createTable({ id: [`of ${name}`.slice(0, 250)], data: [{ a: 1 }] })
    await catalog.dropTable({ id: [`of ${name}`.slice(0, 250)] })
  }
  await catalog.declareTable({ id: ['prod', 'daily'], properties: { table_type: 'ICEBERG_VIEW' } })
  await catalog.beginTransaction({})
}

describeInChromium('what is here, and what changed', () => {
  it('begins an empty catalog with three commands, which work as they stand', async () => {
    const { page } = await opened(async () => {})
    await page.getByText('This catalog is empty.').waitFor()
    const commands = await page.locator('.begin pre').allTextContents()
    expect(commands.length).toBe(3)
    const folder = mkdtempSync(join(tmpdir(), 'tabularium-begin-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const command = join(folder, 'tabularium')
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${scriptPath('src/cli/index.ts')}' "$@"\n`)
    chmodSync(command, 0o755)
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
    const printed: string[] = []
    for (const text of commands) printed.push((await promisify(execFile)('sh', ['-c', text], { env })).stdout)
    const rows = printed[2]!.trim().split('\n')
    expect(rows.map((row) => JSON.parse(row))).toEqual([
      { origin: 'JFK', delay: 75 },
      { origin: 'AMS', delay: 90 },
    ])
    // The page follows.
    const line = page.getByRole('table', { name: /^Tables/ }).getByRole('row', { name: 'flights' })
    await line.getByText('3 rows', { exact: true }).waitFor()
    expect(await line.getByRole('cell').nth(1).textContent()).toContain('2')
    expect(await page.getByText('This catalog is empty.').count()).toBe(0)
  })

  it('counts, and lists the tables that changed last with their versions and sizes', async () => {
    const { page, catalog } = await opened(hostile, {}, '', held)
    const fact = (name: string) => page.locator('.facts > div', { hasText: name }).locator('dd')
    await expect.poll(() => fact('Tables').textContent()).toContain('8')
    expect(await fact('Namespaces at the root').textContent()).toBe('7')
    await expect.poll(() => fact('Dropped, held').textContent()).toBe('6')
    await expect.poll(() => fact('Transactions under way').textContent()).toBe('1')
    await expect.poll(() => fact('Upkeep').textContent()).toBe('up to date')

    const tables = page.getByRole('table', { name: /^Tables/ })
    const line = tables.getByRole('row', { name: /prod › flights/ })
    await line.getByText('3,008 rows').waitFor()
    expect(await line.getByRole('cell').nth(1).textContent()).toContain('3')
    expect(await line.getByRole('cell').nth(3).textContent()).toMatch(/^[\d.]+ KiB$/)
    // A view of Iceberg is called so, and has no rows here.
    const view = tables.getByRole('row', { name: /daily/ })
    await view.getByText('View', { exact: true }).waitFor()
    expect(await view.getByRole('cell').nth(2).textContent()).toBe('')
    await view.getByRole('link').click()
    await page.locator('.eyebrow', { hasText: 'View' }).waitFor()
    await page.goBack()

    // What others change shows without a reload, first.
    await catalog.insertIntoTable({ id: ['prod', 'flights'], data: flights.slice(0, 5) })
    await line.getByText('3,013 rows').waitFor()
    // The facts of a table may come before the list of changes, which orders the tables.
    await expect.poll(() => tables.getByRole('row').nth(1).textContent()).toContain('flights')
    const changes = page.getByRole('table', { name: 'Latest changes' }).getByRole('row')
    await expect.poll(() => changes.nth(1).textContent()).toMatch(/InsertIntoTableprod › flights4$/)
    // Whole, to the second.
    expect(await changes.nth(1).getByRole('time').textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)

    // Inside of a namespace, nothing of others.
    await page.locator('.chips').getByRole('link', { name: 'prod', exact: true }).click()
    await page.getByRole('heading', { name: 'prod', level: 1 }).waitFor()
    await line
      .or(tables.getByRole('row', { name: /^flights/ }))
      .first()
      .waitFor()
    expect(await changes.filter({ hasNotText: /prod|Time/ }).count()).toBe(0)
    expect(await tables.getByRole('row').filter({ hasText: '<script>' }).count()).toBe(0)
  })

  it('reads no more of a large catalog than it shows, and counts all on demand', async () => {
    const count = 12_000
    const { page, asked } = await opened(async (catalog) => {
      for (let from = 0; from < count; from += 1_000) {
        const operations = Array.from({ length: 1_000 }, (_, i) => ({
          declare_table: { id: [`t${String(from + i).padStart(6, '0')}`] },
        }))
        await catalog.batchCommitTables({ operations })
      }
    })
    const tables = page.locator('.facts dd').first()
    await expect.poll(() => tables.textContent()).toContain('1,000+')
    await page.getByText('no version yet').nth(7).waitFor()
    const limits = asked.filter((url) => url.includes('/table/list')).map((url) => new URL(url).searchParams)
    expect(limits.every((query) => query.get('limit') === '1000' && !query.has('page_token'))).toBe(true)
    expect(asked.filter((url) => url.includes('/v1/table/')).length).toBeLessThanOrEqual(3 * 8)
    await page.getByRole('button', { name: 'Count all' }).click()
    await expect.poll(() => tables.textContent()).toBe('12,000 ')
  })

  it('calls a view of Iceberg a view in its dialogs', async () => {
    const { page } = await opened(hostile, { page: 'editable' }, '#/table/prod/daily', held)
    await page.locator('.eyebrow', { hasText: 'View' }).waitFor()
    for (const act of ['Rename', 'Drop']) {
      await page.getByRole('button', { name: act, exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('heading', { name: `${act} view` }).waitFor()
      expect(await dialog.textContent()).not.toMatch(/table|rows/)
      await dialog.getByRole('button', { name: 'Leave it' }).click()
    }
  })

  it('brings a dropped table back, under another name where its own is taken', async () => {
    const { page, catalog } = await opened(
      async (catalog) => {
        await filled(catalog)
        await catalog.dropTable({ id: ['prod', 'flights'] })
        await catalog.createTable({ id: ['prod', 'flights'], data: [{ a: 1 }] })
      },
      { page: 'editable' },
      '#/namespace/prod',
      held,
    )
    await page.getByRole('button', { name: 'Bring back' }).click()
    const dialog = page.getByRole('dialog')
    expect(await barriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Bring back' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Name').fill('flights before')
    await dialog.getByRole('button', { name: 'Bring back' }).click()
    await page.getByRole('heading', { name: 'flights before' }).waitFor()
    await page.getByText('Version 3, the latest').waitFor()
    expect((await catalog.countTableRows({ id: ['prod', 'flights before'] })).count).toBe(3_008)
    await page.goto(`${page.url().split('#')[0]}#/namespace/prod`)
    await page.getByText('Latest changes').waitFor()
    expect(await page.getByText('Dropped tables').count()).toBe(0)
  })

  it('keeps the chosen theme, and follows the system before one is chosen', async () => {
    const { page } = await opened(filled)
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await expect.poll(theme).toBe(colorScheme)
    }
    await page.getByLabel('Colors').selectOption('dark')
    expect(await theme()).toBe('dark')
    await page.reload()
    expect(await theme()).toBe('dark')
    await page.getByLabel('Colors').selectOption('auto')
    expect(await theme()).toBe('light')
  })

  it('folds the tree away on a small screen, and leads there by keyboard', async () => {
    const { page } = await opened(filled)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('heading', { name: 'Latest changes' }).waitFor()
    expect(await page.getByRole('tree').count()).toBe(0)
    const top = await page.locator('main').evaluate((main) => main.getBoundingClientRect().top)
    expect(top).toBeLessThan(100)
    const button = page.getByRole('button', { name: 'Browse' })
    expect(await button.getAttribute('aria-expanded')).toBe('false')
    await button.press('Enter')
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    expect(await button.getAttribute('aria-expanded')).toBe('true')
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('namespaces')
    expect(await barriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('tree').count()).toBe(0)
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Browse')
    await button.click()
    // A namespace keeps the tree open, to go deeper. A table closes it.
    await page.getByRole('treeitem', { name: 'prod' }).click()
    await page.getByRole('option', { name: 'flights', exact: true }).click()
    await page.getByRole('heading', { name: 'flights' }).waitFor()
    expect(await page.getByRole('tree').count()).toBe(0)
    await button.click()
    await page.mouse.click(380, 600)
    await expect.poll(() => page.getByRole('tree').count()).toBe(0)
  })

  const id = encodeURIComponent(hostileNames[4]!)
  const views = ['', `#/namespace/${id}`, '#/namespace/prod', '#/activity', '#/namespace/none']
  for (const theme of ['light', 'dark'] as const)
    it(`is legible and whole at every width, in the ${theme}`, async () => {
      const { page, server } = await opened(hostile, { page: 'editable' }, '', held)
      await page.getByLabel('Colors').selectOption(theme)
      for (const view of views) {
        await page.goto(`${server.url}/${view}`)
        for (const width of [390, 1_280, 2_000]) {
          await page.setViewportSize({ width, height: 844 })
          await page.locator('h1').waitFor()
          if (view !== '#/namespace/none') await page.getByText('Latest changes').waitFor()
          const where = `${view} at ${width}`
          expect(await overflow(page), where).toEqual([])
          expect(await barriers(page), where).toEqual([])
        }
      }
      expect(await page.locator('img, main script').count()).toBe(0)
    })
})

import { expect, it } from 'vitest'
import { limitEach } from '../support/time-limit.ts'
import { barriers, describeInChromium, filled, opened, overflow } from './opened.ts'

// A browser shows pages.
limitEach(120)

describeInChromium('the description of the operations', () => {
  it('is searched by names and texts, and explains its signs', async () => {
    const { page } = await opened(filled, {}, 'docs')
    await page.getByText('refused by this server').waitFor()
    const sections = page.locator('section.operation:visible')
    const all = await sections.count()
    expect(await page.locator('.found').textContent()).toBe(`${all} operations`)
    const field = page.getByLabel('Search operations')
    await field.fill('held dropped')
    await expect.poll(() => page.locator('.found').textContent()).toMatch(/^\d of \d+ operations$/)
    const names = await page.locator('.contents li:visible').allTextContents()
    expect(names).toContain('ListDroppedTables')
    expect(names).not.toContain('QueryTable')
    expect(await sections.count()).toBe(names.length)
    await field.fill('quux')
    await page.getByText('Nothing is found.').waitFor()
    await field.fill('')
    await expect.poll(() => sections.count()).toBe(all)
  })

  it('sends what reads at once, with the token of the tab, and shows the answer', async () => {
    const tokens = ['right-token-right-token']
    const { page, asked } = await opened(filled, { auth: { tokens } }, 'docs#CountTableRows')
    const section = page.locator('#CountTableRows')
    await section.getByRole('button', { name: 'Try it' }).click()
    const form = section.getByRole('form')
    await form.getByLabel('id (path)').fill('prod$flights')
    await form.getByRole('button', { name: 'Send' }).click()
    await section.getByText(/^401 /).waitFor()
    await form.getByLabel('token').fill(tokens[0]!)
    await form.getByLabel('body').fill('{"predicate": "flight < 5"}')
    await form.getByRole('button', { name: 'Send' }).click()
    await section.getByText(/^200 /).waitFor()
    await expect.poll(() => section.locator('pre').textContent()).toBe('10')
    await expect.poll(() => form.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    expect(await barriers(page)).toEqual([])
    expect(asked.filter((url) => url.includes('right-token'))).toEqual([])
    // The page of the catalog has the token, too.
    await page.getByRole('link', { name: 'Catalog' }).click()
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
  })

  it('sends what changes only after a confirmation', async () => {
    const { page, catalog, asked } = await opened(filled, {}, 'docs#CreateNamespace')
    const section = page.locator('#CreateNamespace')
    await section.getByRole('button', { name: 'Try it' }).click()
    await section.getByLabel('id (path)').fill('made')
    await section.getByRole('button', { name: 'Send' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('POST /v1/namespace/{id}/create').waitFor()
    expect(await barriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Leave it' }).click()
    expect(asked.filter((url) => url.includes('/made/'))).toEqual([])
    await section.getByRole('button', { name: 'Send' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await section.getByText(/^200 /).waitFor()
    expect((await catalog.listNamespaces({ id: [] })).namespaces).toContain('made')
    // A refusal is shown as it came.
    await section.getByRole('button', { name: 'Send' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await section.getByText(/^409 /).waitFor()
    await section.locator('pre', { hasText: 'already exists' }).waitFor()
  })

  it('shows a stream while it comes, until it is stopped, and bytes by their number', async () => {
    const { page, catalog } = await opened(filled, {}, 'docs#WatchChanges')
    const watch = page.locator('#WatchChanges')
    await watch.getByRole('button', { name: 'Try it' }).click()
    await watch.getByRole('button', { name: 'Send' }).click()
    await watch.getByText(/^200 /).waitFor()
    await expect
      .poll(async () => {
        await catalog.createNamespace({ id: ['seen'], mode: 'ExistOk' })
        return watch.locator('pre').textContent()
      })
      .toContain('"seen"')
    await watch.getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => watch.getByRole('button', { name: 'Stop' }).count()).toBe(0)

    const query = page.locator('#QueryTable')
    await query.getByRole('button', { name: 'Try it' }).click()
    await query.getByLabel('id (path)').fill('prod$flights')
    await query.getByRole('button', { name: 'Send' }).click()
    await query.getByText(/^200 .*arrow/).waitFor()
    await expect.poll(() => query.locator('pre').textContent()).toMatch(/^[\d,]+ bytes$/)
  })

  for (const theme of ['light', 'dark'] as const)
    it(`is legible and whole at every width, in the ${theme}`, async () => {
      const { page } = await opened(filled, {}, 'docs')
      await page.getByLabel('Colors').selectOption(theme)
      await page.locator('#MergeInsertIntoTable').getByRole('button', { name: 'Try it' }).click()
      await page.locator('#MergeInsertIntoTable').getByRole('form').waitFor()
      await page.locator('#MergeInsertIntoTable summary').click()
      for (const width of [390, 1_280, 2_000]) {
        await page.setViewportSize({ width, height: 844 })
        expect(await overflow(page), `${width}`).toEqual([])
        expect(await barriers(page), `${width}`).toEqual([])
      }
      await page.setViewportSize({ width: 390, height: 844 })
      await page.getByRole('button', { name: 'Browse' }).click()
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('search-field')
      await page.getByRole('link', { name: 'ListTables', exact: true }).click()
      await expect.poll(() => page.getByLabel('Search operations').isVisible()).toBe(false)
    })
})

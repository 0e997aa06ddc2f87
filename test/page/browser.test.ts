import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { freePort } from '../support/free-port.ts'
import { limitEach } from '../support/time-limit.ts'
import { barriers, describeInChromium, filled, flights, opened } from './opened.ts'

// A browser shows pages.
limitEach(120)

describeInChromium('the page in Chromium', () => {
  it('tells what to do with an empty catalog', async () => {
    const { page } = await opened(async () => {})
    await page.getByText('This catalog is empty.').waitFor()
    expect(await page.getByText('tabularium create http://127.0.0.1').count()).toBe(1)
    expect(await page.getByText('read-only').count()).toBe(1)
    expect(await page.getByRole('button', { name: 'New table' }).count()).toBe(0)
    expect(await barriers(page)).toEqual([])
  })

  it('leads from a namespace to a table, its columns, rows, versions and tags', async () => {
    const { page } = await opened(filled)
    await page.getByRole('treeitem', { name: 'prod' }).click()
    await page.getByRole('option', { name: 'flights' }).click()
    await page.getByRole('heading', { name: 'flights' }).waitFor()
    await page.getByText('3,008').waitFor()
    await page.getByRole('button', { name: 'Count nulls' }).click()
    await page.getByRole('cell', { name: '1,505', exact: true }).waitFor()
    expect(await barriers(page)).toEqual([])

    await page.getByRole('tab', { name: 'Rows' }).click()
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
    expect(await barriers(page)).toEqual([])

    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('option', { name: /−2 rows/ }).click()
    await page.getByText('3,010 rows, then 3,008 rows: −2').waitFor()
    expect(await barriers(page)).toEqual([])

    await page.getByRole('tab', { name: 'Tags and branches' }).click()
    await page.getByRole('link', { name: 'stable' }).click()
    await page.getByText('by the tag').waitFor()
    await page.getByText('3,000 rows').waitFor()
    // The link contains the whole state.
    await page.goto(page.url())
    await page.getByText('by the tag').waitFor()
  })

  it('filters rows, and marks the place of an error', async () => {
    const { page, asked } = await opened(filled, {}, '#/table/prod/flights?tab=rows')
    const field = page.getByLabel('Rows where')
    await field.fill('flight > 2990 AND orign = 1')
    await field.press('Enter')
    await page.locator('mark', { hasText: 'orign' }).waitFor()
    expect(await page.evaluate('getSelection().toString()')).toBe('orign')
    expect(await barriers(page)).toEqual([])
    await field.fill("flight > 2990 AND origin = 'SFO'")
    await field.press('Enter')
    await page.getByText('5 rows match', { exact: true }).waitFor()
    await page.getByRole('cell', { name: '2999' }).waitFor()
    // A link has the predicate, and no request's URL has.
    expect(page.url()).toContain('filter=')
    expect(asked.filter((url) => new URL(url).href.split('#')[0]!.includes('2990'))).toEqual([])
  })

  it('shows a namespace of many tables by few elements, from its first to its last', async () => {
    const count = 30_000
    const { page } = await opened(async (catalog) => {
      for (let from = 0; from < count; from += 1_000) {
        const operations = Array.from({ length: 1_000 }, (_, i) => ({
          declare_table: { id: [`t${String(from + i).padStart(6, '0')}`] },
        }))
        await catalog.batchCommitTables({ operations })
      }
    })
    const list = page.getByRole('listbox', { name: 'Tables' })
    await list.getByText('t000000').waitFor()
    const elements = () => page.evaluate<number>("document.querySelectorAll('*').length")
    expect(await elements()).toBeLessThan(600)
    await list.focus()
    await expect
      .poll(async () => {
        await page.keyboard.press('End')
        return list.getByText('t029999').count()
      })
      .toBe(1)
    expect(await elements()).toBeLessThan(600)
    expect(await page.locator('[role=option]').count()).toBeLessThan(80)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 't029999' }).waitFor()
    await page.getByLabel('Search tables by name').fill('29998')
    await list.getByText('t029998').waitFor()
    await expect.poll(() => page.locator('#tables [role=option]').count()).toBe(1)
  })

  it('scrolls through many rows', async () => {
    const { page } = await opened(
      async (catalog) => {
        await catalog.createTable({ id: ['t'], data: Array.from({ length: 400_000 }, (_, a) => ({ a })) })
      },
      {},
      '#/table/t?tab=rows',
    )
    const grid = page.getByRole('table', { name: 'Rows' })
    await grid.getByRole('cell', { name: '0', exact: true }).waitFor()
    await grid.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await grid.getByRole('cell', { name: '399999', exact: true }).waitFor()
    expect(await page.locator('.grid-row').count()).toBeLessThan(60)
    await page.getByRole('button', { name: 'Row 400000, show whole' }).click()
    await page.getByRole('dialog').getByText('399999').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  it('shows names as they are, and runs nothing of them', async () => {
    const names = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      'evil\u202etxt.exe',
      'مرحبا',
      'x'.repeat(255),
      '{settings}',
      'a/b?c#d%20e',
      '. .',
    ]
    const { page } = await opened(async (catalog) => {
      for (const name of names) await catalog.createTable({ id: [name], data: [{ a: 1 }] })
    })
    for (const name of names) {
      const shown = name.replace('\u202e', '\\u{202e}')
      await page.getByRole('option', { name: shown, exact: true }).click()
      await page.getByRole('heading', { name: shown, exact: true }).waitFor()
      await page.getByText('Version 1, the latest').waitFor()
    }
    expect(await page.locator('img, main script').count()).toBe(0)
  })

  it('lists no tables of one namespace as those of another one while it waits for them', async () => {
    const { page } = await opened(filled)
    await page.getByRole('option', { name: 'prod › flights' }).waitFor()
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/table/list*', async (route) => {
      await answered
      await route.continue()
    })
    // A rendering of one frame counts, too.
    await page.evaluate(`
      window.drawn = []
      new MutationObserver(() => drawn.push(document.getElementById('tables').textContent))
        .observe(document.querySelector('.tables'), { subtree: true, childList: true, characterData: true })`)
    await page.getByRole('treeitem', { name: 'prod' }).click()
    await page.getByText('Loading…').waitFor()
    const drawn = await page.evaluate<string[]>('drawn')
    expect(drawn).not.toEqual([])
    expect(drawn.filter((text) => text !== '')).toEqual([])
    answer()
    await page.getByRole('option', { name: 'flights', exact: true }).waitFor()
  })

  it('works by keyboard alone', async () => {
    const { page } = await opened(filled)
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    await page.getByRole('tree').focus()
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    await page.getByRole('treeitem', { name: 'eu' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'prod', level: 1 }).waitFor()
    await page.getByRole('option', { name: 'flights', exact: true }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'flights' }).waitFor()
    await page.getByRole('tab', { name: 'Columns' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('columnheader', { name: 'flight' }).waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('tab-rows')
  })

  it('asks for a token, keeps it in the tab, and asks again when it is refused', async () => {
    const tokens = ['right-token-right-token']
    const { page, asked, server } = await opened(filled, { auth: { tokens } })
    await page.getByLabel('Token or key').fill('wrong-token-wrong-token')
    await page.keyboard.press('Enter')
    await page.getByText('it is wrong, or has expired').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByLabel('Token or key').fill(tokens[0]!)
    await page.keyboard.press('Enter')
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    await page.reload()
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    await page.getByRole('button', { name: 'Forget token' }).click()
    await page.getByText('The token is forgotten.').waitFor()
    expect(await page.evaluate('[sessionStorage.length, document.cookie]')).toEqual([0, ''])
    await page.goto(`${server.url}/#token=${tokens[0]}`)
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    expect(page.url()).not.toContain('token')
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('right-token')
    expect(asked.map((url) => url.split('#')[0]).filter((url) => url!.includes('token'))).toEqual([])
  })

  it('tells what to do when the server refuses, fails, or is gone', async () => {
    const { page, server } = await opened(filled, {
      authorize: (_, operation, id) => operation !== 'describeTable' && id?.[0] !== 'prod',
    })
    await page.getByRole('treeitem', { name: 'prod' }).click()
    await page.getByText('Ask whoever runs the server').first().waitFor()
    expect(await barriers(page)).toEqual([])
    await page.goto(`${server.url}/#/activity?transaction=none`)
    await page.getByText('Not found').waitFor()
    await server.close()
    // Other parts of the page may have been fetched again, too.
    await page.locator('#main').getByRole('button', { name: 'Try again' }).first().click()
    await page.getByText('Check that the server still runs').first().waitFor()
  })

  it('shows what others change, without a reload, and stays where its reader is', async () => {
    const { page, catalog } = await opened(filled, {}, '#/namespace/prod')
    const table = (name: string) => page.locator('#tables').getByRole('option', { name, exact: true })
    await table('flights').waitFor()
    await page.evaluate('globalThis.unloaded = false')
    await catalog.declareTable({ id: ['prod', 'airports'] })
    await table('airports').waitFor()
    await catalog.createNamespace({ id: ['prod', 'asia'] })
    await page.getByRole('tree').focus()
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    await page.getByRole('treeitem', { name: 'asia' }).waitFor()

    // The keyboard focus stays at its table although another one is inserted before it.
    await table('flights').click()
    await page.getByText('Version 3, the latest').waitFor()
    await catalog.renameTable({ id: ['prod', 'airports'], new_table_name: 'gates' })
    await table('gates').waitFor()
    await expect.poll(() => table('airports').count()).toBe(0)
    await expect.poll(() => page.locator('#tables .active').textContent()).toContain('flights')

    await page.getByRole('tab', { name: 'Rows' }).click()
    const grid = page.getByRole('table', { name: 'Rows' })
    await grid.evaluate((box) => box.scrollTo(0, 30_000))
    await grid.getByRole('button', { name: 'Row 1075,' }).waitFor()
    await catalog.insertIntoTable({ id: ['prod', 'flights'], data: flights.slice(0, 100) })
    await page.getByText('Version 4, the latest').waitFor()
    await page.getByText('3,108 rows').waitFor()
    expect(await grid.evaluate((box) => box.scrollTop)).toBe(30_000)

    await page.getByRole('tab', { name: 'Versions' }).click()
    await catalog.deleteFromTable({ id: ['prod', 'flights'], predicate: 'flight = 7' })
    await page.getByRole('option', { name: /^5.*DeleteFromTable/ }).click()
    await page.getByText('3,108 rows, then 3,105 rows: −3').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('link', { name: 'DeleteFromTable' }).click()
    await page.getByText('Succeeded', { exact: true }).waitFor()

    await catalog.dropTable({ id: ['prod', 'gates'] })
    const latest = page.getByRole('table', { name: 'Latest changes' })
    await latest.getByRole('link', { name: 'DropTable' }).waitFor()
    const cells = latest.getByRole('row', { name: 'DeleteFromTable' }).first().getByRole('cell')
    // The listing has no versions. The stream has, and may come after it.
    await expect
      .poll(async () => (await cells.allTextContents()).slice(1))
      .toEqual(['DeleteFromTable', 'prod › flights', '5'])
    expect(await barriers(page)).toEqual([])
    await latest
      .getByRole('link', { name: /^prod.*flights$/ })
      .first()
      .click()
    await page.getByRole('heading', { name: 'flights' }).waitFor()
    await catalog.dropTable({ id: ['prod', 'flights'] })
    await page.getByText('Not found').first().waitFor()
    expect(await page.evaluate('globalThis.unloaded')).toBe(false)
  })

  it('goes on where it was when the server comes back, and is silent where there is no stream', async () => {
    const auth = { tokens: ['right-token-right-token'] }
    const port = await freePort()
    const { page, catalog, server, asked } = await opened(filled, { auth, port })
    const streams = () => asked.filter((url) => url.endsWith('/v1/changes')).length
    await page.getByLabel('Token or key').waitFor()
    expect(streams()).toBe(0)
    await page.getByLabel('Token or key').fill(auth.tokens[0]!)
    await page.keyboard.press('Enter')
    await expect.poll(streams).toBe(1)
    await page.goto(`${server.url}/#/activity`)
    const latest = page.getByRole('table', { name: 'Latest changes' })
    // Only the stream brings links, so a link shows that the stream has begun and can be resumed.
    let early = 0
    await expect
      .poll(async () => {
        await catalog.declareTable({ id: [`early${early++}`] })
        return latest.getByRole('link', { name: /^early/ }).count()
      })
      .toBeGreaterThan(0)
    await server.close()
    await catalog.declareTable({ id: ['late'] })
    const again = await serve(catalog, { auth, port, limits: { eventLoopDelay: 0 } })
    onTestFinished(() => again.close())
    await page.locator('#tables').getByRole('option', { name: 'late', exact: true }).waitFor()
    // It is listed once.
    await latest.getByRole('link', { name: 'late', exact: true }).waitFor()
    expect(await latest.getByRole('link', { name: 'late', exact: true }).count()).toBe(1)

    await page.route('**/v1/changes', (route) => route.fulfill({ status: 404, body: '{}' }))
    const before = streams()
    await page.reload()
    await page.getByRole('heading', { name: 'Latest changes' }).waitFor()
    await expect.poll(streams).toBe(before + 1)
    // A repeated request would have been sent by now.
    await page.waitForTimeout(2_000)
    expect(streams()).toBe(before + 1)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('changes what it may, and asks before', async () => {
    const { page, catalog } = await opened(filled, { page: 'editable' }, '#/namespace/prod')
    await page.getByRole('button', { name: 'New table' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('made')
    await dialog.getByLabel('Columns').fill('a int65')
    await page.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('Line 1 must be a name and a type').waitFor()
    expect(await barriers(page)).toEqual([])
    await dialog.getByLabel('Columns').fill('a int64')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'made' }).waitFor()
    expect((await catalog.countTableRows({ id: ['prod', 'made'] })).count).toBe(0)
    await page.getByRole('option', { name: 'made' }).waitFor()

    await page.getByRole('button', { name: 'Drop' }).click()
    expect(await page.getByRole('button', { name: 'Drop table' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Drop')
    await page.getByRole('button', { name: 'Drop' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('made')
    await page.getByRole('button', { name: 'Drop table' }).click()
    await expect.poll(() => page.getByRole('option', { name: 'made' }).count()).toBe(0)
    expect((await catalog.listTables({ id: ['prod'] })).tables).toEqual(['prod$flights'])

    await page.goto(`${page.url().split('#')[0]}#/activity`)
    await expect.poll(() => page.getByRole('link', { name: /^[0-9A-Z]{26}$/ }).count()).toBe(2)
  })

  it('follows a transaction, and cancels it', async () => {
    const { page, catalog } = await opened(filled, { page: 'editable' })
    const { transaction_id: id } = await catalog.beginTransaction({})
    await page.goto(`${page.url().split('#')[0]}#/activity`)
    // It is listed although another client began it.
    await page.getByRole('link', { name: id! }).click()
    await page.getByRole('button', { name: 'Cancel transaction' }).click()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel it' }).click()
    await page.getByText('Canceled', { exact: true }).waitFor()
    await page.getByText('Nothing is under way.').waitFor()
    expect((await catalog.describeTransaction({ id: [id!] })).status).toBe('Canceled')
  })

  it('is as legible in the dark', async () => {
    const { page } = await opened(
      filled,
      { page: 'editable' },
      '#/table/prod/flights?tab=rows&filter=flight+%3E',
    )
    await page.getByLabel('Colors').selectOption('dark')
    await page.locator('html[data-theme=dark]').waitFor()
    await page.locator('mark').waitFor()
    expect(await barriers(page)).toEqual([])
  })
})

import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { limitEach } from '../support/time-limit.ts'
import { describeInChromium, filled, flights, heldUp, opened } from './opened.ts'

// A browser shows pages, some of whose answers take seconds.
limitEach(60)

/*
 * The behavior of the page while a response is pending. These tests delay responses, so they do not depend on the speed
 * of the machine.
 */

const id = ['prod', 'flights']

/** Records the value of an expression on each change in an element, even for one frame. */
async function drawnOf(page: Page, expression: string, within: string): Promise<() => Promise<string[]>> {
  await page.evaluate(`
    globalThis.drawn = []
    new MutationObserver(() => drawn.push(${expression})).observe(document.querySelector('${within}'), {
      subtree: true, childList: true, characterData: true, attributes: true
    })`)
  return () => page.evaluate<string[]>('drawn')
}

describeInChromium('the page, while an answer is under way', () => {
  it('shows nothing of one version as of another one', async () => {
    const { page } = await opened(filled, {}, '#/table/prod/flights?tab=refs')
    await page.getByText('Version 3, the latest').waitFor()
    const drawn = await drawnOf(page, `document.querySelector('.at')?.textContent ?? ''`, 'main')
    const end = await heldUp(page, '**/describe?*')
    await page.getByRole('link', { name: 'stable' }).click()
    await page.getByText('by the tag').waitFor()
    end()
    await page.getByText('3,000 rows').waitFor()
    expect((await drawn()).filter((text) => /Version 3.*by the tag/.test(text))).toEqual([])
    expect(await page.getByText('Version 1', { exact: true }).count()).toBe(1)
  })

  it('shows nothing of one branch as of another one', async () => {
    const { page } = await opened(
      async (catalog) => {
        await filled(catalog)
        await catalog.insertIntoTable({ id, branch: 'dev', data: flights.slice(0, 7) })
        await catalog.createTableTag({ id, tag: 'tried', version: 4, branch: 'dev' })
        await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
      },
      {},
      '#/table/prod/flights?tab=versions&branch=dev',
    )
    await page.getByRole('option', { name: /\+7 rows/ }).click()
    await page.getByText('3,008 rows, then 3,015 rows: +7').waitFor()
    await page.getByRole('link', { name: 'Show the latest' }).click()
    await page.getByRole('option', { name: /\+1 row/ }).waitFor()
    expect(await page.getByText('3,015 rows').count()).toBe(0)
    await page.getByRole('option', { name: /\+1 row/ }).click()
    await page.getByText('3,008 rows, then 3,009 rows: +1').waitFor()

    // A tag of a branch shows the rows, columns and versions of that branch.
    await page.getByRole('tab', { name: 'Tags and branches' }).click()
    await page.getByRole('link', { name: 'tried' }).click()
    await page.getByText('3,015 rows').waitFor()
    await page.getByRole('tab', { name: 'Columns' }).click()
    await page.getByText('3,015').waitFor()
    await page.getByRole('button', { name: 'Count nulls' }).click()
    await page.getByRole('cell', { name: '1,509', exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('option', { name: /\+7 rows/ }).click()
    await page.getByRole('link', { name: 'Rows of version 3' }).click()
    await page.getByText('Version 3 of the branch dev').waitFor()
  })

  it('tells how many rows match a predicate, and not how many matched the one before', async () => {
    const { page } = await opened(filled, {}, '#/table/prod/flights?tab=rows&filter=flight+%3C+5')
    await page.getByText('10 rows match', { exact: true }).waitFor()
    const drawn = await drawnOf(
      page,
      `location.hash + ': ' + document.querySelector('.rows .list-head')?.textContent`,
      'main',
    )
    const end = await heldUp(page, '**/count_rows')
    const field = page.getByLabel('Rows where')
    await field.fill('flight > 2990')
    await field.press('Enter')
    await page.getByText('Counting rows…').waitFor()
    end()
    await page.getByText('9 rows match', { exact: true }).waitFor()
    expect((await drawn()).filter((text) => /2990: 10 rows/.test(text))).toEqual([])
  })

  it('leaves alone what somebody types while their predicate is checked', async () => {
    const { page } = await opened(filled, {}, '#/table/prod/flights?tab=rows')
    await page.getByText('3,008 rows', { exact: true }).waitFor()
    const end = await heldUp(page, '**/count_rows')
    const field = page.getByLabel('Rows where')
    await field.fill('orign = 1')
    await field.press('Enter')
    await field.press('End')
    await page.keyboard.type(' OR')
    end()
    await page.locator('mark', { hasText: 'orign' }).waitFor()
    await page.keyboard.type(' flight = 2')
    expect(await field.inputValue()).toBe('orign = 1 OR flight = 2')
  })

  it('knows the versions of a table that took the place of another one', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights?tab=versions')
    await page.getByRole('option', { name: /^2.*\+10 rows/ }).waitFor()
    await catalog.dropTable({ id })
    await catalog.createTable({ id, data: flights.slice(0, 4) })
    await catalog.insertIntoTable({ id, data: flights.slice(0, 5) })
    await page.getByRole('option', { name: /^2.*\+5 rows/ }).waitFor()
    expect(await page.getByRole('option').filter({ hasText: '3,010' }).count()).toBe(0)
  })

  it('shows the facts of a version beside that version only, while versions are added', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights?tab=versions')
    await page.getByRole('option', { name: /^3.*−2 rows/ }).waitFor()
    const drawn = await drawnOf(
      page,
      `Array.from(document.querySelectorAll('#versions .version-row'), ({ children }) =>
        children[0].textContent + ' has ' + children[3].textContent).join()`,
      '#versions',
    )
    await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
    await page.getByRole('option', { name: /^4.*\+1 row/ }).waitFor()
    expect((await drawn()).filter((text) => text.includes('4 has −2 rows'))).toEqual([])
  })

  it('counts nulls again after it was counting those of an older version', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights')
    await page.getByText('3,008').waitFor()
    const end = await heldUp(page, '**/count_rows')
    await page.getByRole('button', { name: 'Count nulls' }).click()
    await page.getByRole('button', { name: 'Counting…' }).waitFor()
    await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
    await page.getByText('Version 4, the latest').waitFor()
    end()
    await page.getByRole('button', { name: 'Count nulls' }).click()
    await page.getByRole('cell', { name: '1,506', exact: true }).waitFor()
  })

  it('keeps the keyboard at its table in every frame', async () => {
    const { page, catalog } = await opened(filled, {}, '#/namespace/prod')
    await page.getByRole('option', { name: 'flights', exact: true }).click()
    await page.getByText('Version 3, the latest').waitFor()
    const drawn = await drawnOf(page, `document.querySelector('#tables .active').textContent`, '#tables')
    await catalog.declareTable({ id: ['prod', 'airports'] })
    await page.getByRole('option', { name: 'airports', exact: true }).waitFor()
    expect(new Set(await drawn())).toEqual(new Set(['flights']))
  })

  it('opens no table of the list before while a search is under way', async () => {
    const { page } = await opened(
      async (catalog) => {
        await filled(catalog)
        await catalog.declareTable({ id: ['airports'] })
      },
      {},
      '#/activity',
    )
    await page.getByRole('option', { name: 'airports', exact: true }).waitFor()
    const end = await heldUp(page, '**/table/list*')
    const field = page.getByLabel('Search tables by name')
    await field.fill('flights')
    await field.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Searching…').waitFor()
    expect(new URL(page.url()).hash).toBe('#/activity')
    end()
    await page.getByRole('option', { name: /flights/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'flights' }).waitFor()
  })

  it('lists what comes behind the last table in sight', async () => {
    const { page, catalog } = await opened(async (catalog) => {
      const operations = Array.from({ length: 1_000 }, (_, i) => ({
        declare_table: { id: [`t${String(i).padStart(4, '0')}`] },
      }))
      await catalog.batchCommitTables({ operations })
    })
    await page.getByText('1,000 tables').waitFor()
    await page.locator('#tables').focus()
    await page.keyboard.press('End')
    await page.getByRole('option', { name: 't0999', exact: true }).waitFor()
    await catalog.declareTable({ id: ['u'] })
    await page.getByText('1,001 tables').waitFor()
  })

  it('takes keys that come before the browser tells of the last one', async () => {
    const { page } = await opened(filled, {}, '#/table/prod/flights')
    await page.getByRole('tab', { name: 'Columns' }).focus()
    const selected = await page.evaluate<string>(`(async () => {
      for (let i = 0; i < 2; i++) {
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
        for (let turn = 0; turn < 10; turn++) await undefined
      }
      return document.activeElement.id
    })()`)
    expect(selected).toBe('tab-versions')
    await page.getByRole('option', { name: /−2 rows/ }).waitFor()
  })

  it('tells how a change ends that somebody wants to leave, and stays where they went meanwhile', async () => {
    const { page, catalog } = await opened(filled, { page: 'editable' }, '#/table/prod/flights')
    await page.getByText('Version 3, the latest').waitFor()
    await page.getByRole('tab', { name: 'Rows' }).click()
    await page.getByText('3,008 rows', { exact: true }).waitFor()
    const held = '**/transaction/begin'
    let end = await heldUp(page, held)
    const dialog = page.getByRole('dialog')
    const openDrop = async () => {
      await page.getByRole('button', { name: 'Drop', exact: true }).click()
      await dialog.getByLabel('Name', { exact: true }).fill('flights')
    }
    const drop = async () => {
      await page.getByRole('button', { name: 'Drop table' }).click()
      await expect.poll(() => page.getByRole('button', { name: 'Leave it' }).isDisabled()).toBe(true)
    }
    // Another client renames it meanwhile, so the server refuses.
    await openDrop()
    await catalog.renameTable({ id, new_table_name: 'moved' })
    await drop()
    for (let i = 0; i < 3; i++) await page.keyboard.press('Escape')
    await expect.poll(() => dialog.isVisible()).toBe(true)
    end()
    await dialog.getByText('Not found').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog.count()).toBe(0)
    await catalog.renameTable({ id: ['prod', 'moved'], new_table_name: 'flights' })

    await page.goto(`${page.url().split('#')[0]}#/activity`)
    await page.getByRole('option', { name: 'flights', exact: true }).click()
    await page.getByText('Version 3, the latest').waitFor()
    await page.unroute(held)
    end = await heldUp(page, held)
    await openDrop()
    await drop()
    await page.goBack()
    await page.getByRole('heading', { name: 'Activity' }).waitFor()
    end()
    await expect.poll(() => page.locator('#tables [role=option]').count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('#/activity')
  })

  it('takes no answer to an older token for one to the token of now', async () => {
    const [older, newer] = ['an-older-token-of-tests', 'a-newer-token-of-tests']
    const { page } = await opened(filled, { auth: { tokens: [older!, newer!] } }, `#token=${older}`)
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    let refuse = () => {}
    const asked = new Promise<void>((resolve) => {
      void page.route('**/describe?*', async (route) => {
        if (!route.request().postData()?.includes('version')) return route.fallback()
        if (route.request().headers().authorization !== `Bearer ${older}`) return route.fallback()
        refuse = () => void route.fulfill({ status: 401, json: { detail: 'Held up.' } })
        resolve()
      })
    })
    await page.getByRole('option', { name: /flights/ }).click()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await asked
    await page.getByRole('button', { name: 'Forget token' }).click()
    await page.getByLabel('Token or key').fill(newer!)
    await page.keyboard.press('Enter')
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    const heard = page.waitForResponse((response) => response.status() === 401)
    refuse()
    await heard
    await page.getByRole('tab', { name: 'Columns' }).click()
    await page.getByText('3,008').waitFor()
    expect(await page.getByLabel('Token or key').count()).toBe(0)
  })

  it('forgets a namespace that is dropped while it is open in the tree', async () => {
    const { page, catalog } = await opened(filled, { page: 'editable' }, '#/namespace/prod')
    await page.getByRole('tree').getByText('prod').click()
    await page.getByRole('treeitem', { name: 'eu' }).click()
    await page.getByRole('button', { name: 'Drop namespace' }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('eu')
    await page.getByRole('dialog').getByRole('button', { name: 'Drop namespace' }).click()
    await page.getByRole('heading', { name: 'prod', level: 1 }).waitFor()
    await expect.poll(() => page.getByRole('treeitem', { name: 'eu' }).count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)

    // The same when others drop it.
    await catalog.createNamespace({ id: ['prod', 'asia'] })
    await page.getByRole('treeitem', { name: 'asia' }).click()
    await page.getByRole('heading', { name: 'asia', level: 1 }).waitFor()
    await page.getByRole('treeitem', { name: 'prod' }).click()
    await page.getByRole('heading', { name: 'prod', level: 1 }).waitFor()
    await catalog.dropNamespace({ id: ['prod', 'asia'] })
    await expect.poll(() => page.getByRole('treeitem', { name: 'asia' }).count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('lists a namespace that is created while the namespaces around it are listed', async () => {
    const { page, catalog } = await opened(filled)
    await page.getByRole('treeitem', { name: 'prod' }).waitFor()
    // Of the time before the creation.
    const end = await heldUp(page, '**/v1/namespace/prod/list*')
    const answered = page.waitForRequest('**/v1/namespace/prod/list*')
    await page.getByRole('tree').focus()
    for (const key of ['Home', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
    await answered
    await catalog.createNamespace({ id: ['prod', 'asia'] })
    await catalog.createNamespace({ id: ['late'] })
    await page.getByRole('treeitem', { name: 'late' }).waitFor()
    end()
    await page.getByRole('treeitem', { name: 'asia' }).waitFor()
  })

  it('shows a table that is changed more often than the page gets answers', async () => {
    const { page, catalog } = await opened(filled, {}, '#/table/prod/flights')
    await page.getByText('Version 3, the latest').waitFor()
    await page.route('**/describe?*', async (route) => {
      // Longer than many changes.
      await new Promise((resolve) => setTimeout(resolve, 4_000))
      await route.continue().catch(() => {})
    })
    let isOver = false
    const changing = (async () => {
      while (!isOver) {
        await catalog.insertIntoTable({ id, data: flights.slice(0, 1) })
        // So that many changes come while one answer is under way.
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    })()
    onTestFinished(async () => {
      isOver = true
      await changing
    })
    await expect.poll(() => page.getByText('Version 3, the latest').count()).toBe(0)
    await page.getByText(/Version \d+, the latest/).waitFor()
  })
})

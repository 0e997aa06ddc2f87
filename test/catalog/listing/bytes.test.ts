import { expect, test } from 'vitest'
import { charactersOf } from '../../../src/catalog/listing/paging.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'

/** Asks for one page after the other, and gives the size of each as JSON. */
async function sizes<T>(
  list: (page_token: string | undefined) => Promise<{ page_token?: string | null | undefined } & T>,
  items: (page: T) => readonly unknown[],
): Promise<{ sizes: number[]; items: unknown[] }> {
  const found: unknown[] = []
  const each: number[] = []
  let token: string | undefined
  do {
    const page = await list(token)
    each.push(JSON.stringify(page).length)
    found.push(...items(page))
    token = page.page_token ?? undefined
  } while (token !== undefined)
  return { sizes: each, items: found }
}

const mebibyte = 2 ** 20

test('pages of versions end by size as well as by number', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.declareTable({ id: ['t'] })
  const metadata = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`key ${i}`, 'x'.repeat(1_000)]))
  const count = 200
  for (let version = 1; version <= count; version++)
    await catalog.createTableVersion({ id: ['t'], version, manifest_path: `manifests/${version}`, metadata })
  for (const descending of [false, true]) {
    const seen = await sizes(
      (page_token) => catalog.listTableVersions({ id: ['t'], limit: 10_000, page_token, descending }),
      ({ versions }) => versions.map(({ version }) => version),
    )
    expect(seen.items).toHaveLength(count)
    expect(new Set(seen.items).size).toBe(count)
    expect(seen.sizes.length).toBeGreaterThan(2)
    expect(Math.max(...seen.sizes)).toBeLessThan(5 * mebibyte)
    // No page is needlessly short.
    expect(Math.min(...seen.sizes.slice(0, -1))).toBeGreaterThan(3 * mebibyte)
  }
  const first = await catalog.listTableVersions({ id: ['t'], limit: 3 })
  expect(first.versions).toHaveLength(3)
})

test('pages of long names end by size, too, with a filter and without', async () => {
  await using catalog = await openCatalog('memory:')
  const id: string[] = []
  for (let depth = 0; depth < 20; depth++) {
    id.push(`${depth}`.padEnd(200, 'n'))
    await catalog.createNamespace({ id })
  }
  const count = 1_500
  const operations = Array.from({ length: count }, (_, i) => ({
    declare_table: { id: [...id, `${i}`.padEnd(200, 't')] },
  }))
  await catalog.batchCommitTables({ operations })
  for (const include_declared of [true, false]) {
    const seen = await sizes(
      (page_token) => catalog.listAllTables({ limit: 10_000, page_token, include_declared }),
      ({ tables }) => tables,
    )
    expect(seen.items).toHaveLength(include_declared ? count : 0)
    expect(Math.max(...seen.sizes)).toBeLessThan(5 * mebibyte)
    if (include_declared) expect(seen.sizes.length).toBe(2)
  }
})

test('what a value takes is about what its JSON has', () => {
  const values = [
    'a',
    ['a', 'bc'],
    { a: 'b', c: { d: ['e'] } },
    { version: 17, manifest_path: 'x'.repeat(100), metadata: { k: 'v'.repeat(1_000) } },
  ]
  for (const value of values) {
    const { length } = JSON.stringify(value)
    expect(Math.abs(charactersOf(value) - length)).toBeLessThan(20)
  }
})

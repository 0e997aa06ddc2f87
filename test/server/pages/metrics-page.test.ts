import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, openCatalog } from '../../../src/tabularium/index.ts'
import { MemoryBucket } from '../../contents/bucket/memory-bucket.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { type Scrape, scraped } from './support/scrape.ts'

/* docs/serve.md lists the metrics of a server, and a server exports those of the list. */

const page = await readFile(fileURLToPath(new URL('../../../docs/serve.md', import.meta.url)), 'utf8')

/** Those of the process, which prom-client exports. */
const ofProcess = /^(process|nodejs)_/

/** The metrics of the page, with their types and labels. */
function listed(): Map<string, { type: string; labels: string[] }> {
  const table = /<!-- metrics -->\n(.*?)\n<!-- \/metrics -->/s.exec(page)![1]!
  const rows = table.split('\n').slice(2)
  return new Map(
    rows.map((row) => {
      const [name, type, labels] = row.split('|').slice(1, 4) as [string, string, string]
      const names = [...labels.matchAll(/`([a-z]+)`/g)].map((match) => match[1]!)
      return [name.trim().replaceAll('`', ''), { type: type.trim(), labels: names.sort() }]
    }),
  )
}

async function scrapeOf(catalog: Catalog): Promise<Scrape> {
  const { ask, scrape } = await scraped(catalog)
  await ask('GET', '/v1/table')
  return scrape()
}

it('the page lists every metric of a server, and no other', async () => {
  const { types } = await scrapeOf(await openCatalog('memory:'))
  const exported = [...types].filter(([name]) => !ofProcess.test(name)).sort()
  const named = [...listed()].map(([name, { type }]) => [name, type]).sort()
  expect(named.length).toBeGreaterThan(10)
  const toAdd = exported
    .filter(([name]) => !listed().has(name))
    .map(
      ([name, type]) =>
        `docs/serve.md: to the table below <!-- metrics -->, | \`${name}\` | ${type} | labels | meaning |`,
    )
  expect(toAdd).toEqual([])
  expect(exported).toEqual(named)
})

it.skipIf(missingPostgres)('the page lists the labels that they have', async () => {
  const url = await (await sharedServer()).freshUrl()
  const catalogs = [
    await openCatalog(await freshFolder(), { lance: { isolate: true } }),
    await openCatalog(url, { content: `file://${await freshFolder()}` }),
    await openCatalog({
      store: memoryStore(),
      content: bucketContent(new MemoryBucket(), { prefix: '' }),
      contentCache: { folder: await freshFolder() },
    }),
  ]
  const scrapes = await Promise.all(catalogs.map(scrapeOf))
  const found = [...listed().keys()].map((name) => {
    const labels = scrapes.flatMap((scrape) => [...(scrape.labels.get(name) ?? [])])
    // Each of them has a value somewhere.
    expect([name, scrapes.some((scrape) => scrape.labels.has(name))]).toEqual([name, true])
    return [name, [...new Set(labels)].sort()]
  })
  expect(found).toEqual([...listed()].map(([name, { labels }]) => [name, labels]))
})

it('metrics of the process that the page names are there', async () => {
  const { types } = await scrapeOf(await openCatalog('memory:'))
  const named = [...page.matchAll(/`((?:process|nodejs)_[a-z_0-9]+)`/g)].map((match) => match[1]!)
  expect(named.length).toBeGreaterThan(1)
  for (const name of named) expect([...types.keys()]).toContain(name)
})

it('the page on scale names metrics of the list', async () => {
  const scale = await readFile(fileURLToPath(new URL('../../../docs/scale.md', import.meta.url)), 'utf8')
  const rows = scale.split('\n').filter((line) => line.startsWith('| **'))
  expect(rows.length).toBeGreaterThan(4)
  for (const row of rows) {
    const named = [...row.split('|')[4]!.matchAll(/`([a-z_]+_[a-z_]+)`/g)].map((match) => match[1]!)
    expect(named.length, `the metric of ${row}`).toBeGreaterThan(0)
    for (const name of named) expect([...listed().keys()]).toContain(`tabularium_${name}`)
  }
  for (const [name] of scale.matchAll(/tabularium_[a-z_]*[a-z]/g))
    expect([...listed().keys()]).toContain(name)
})

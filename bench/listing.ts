/** What does it cost to list a million tables, flat, twenty levels deep, and over very many namespaces? */
import { join } from 'node:path'
import { type Catalog, openCatalog } from '../dist/tabularium/index.js'
import { about, figure } from './support/figures.ts'
import { inFlight, microseconds, race } from './support/measure.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, most, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { declareTables, seededDirectory, seedTables, tableNames } from './support/seed.ts'

const levels = 20
const chains = Math.max(1, most / levels / 100)
const namespaces = pick(2_000, 20_000, 1_000_000)

about(`A whole walk over ${count(most)} tables in pages of 10,000, as full identifiers: flat; in ${count(chains)}
chains of ${levels} namespaces with 100 tables in each; and ${count(namespaces)} namespaces of one table each
(a million with --full). The peers hold a flat list of names.`)

const folder = newFolder('listing')
const flat = await openCatalog(await seededDirectory(most))
const deep = await openCatalog(join(folder, 'deep'))
await seedDeep(deep)
const wide = await openCatalog(join(folder, 'wide'))
await seedWide(wide)
const memory = await openCatalog('memory:')
await seedTables(memory, most)
const names = tableNames(most)
const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
await lmdb.fill(names)
const sqlite = await openSqlite(join(folder, 'catalog.sqlite'), 'full').catch(() => undefined)
sqlite?.declareAll(names)

const samples = await race(pick(2, 3), {
  flat: () => walk(flat, ['ns']),
  memory: () => walk(memory, ['ns']),
  deep: () => walk(deep, []),
  wide: () => walk(wide, []),
  lmdb: () => walkPages((after) => lmdb.page(after, 10_000)),
  ...(sqlite && {
    sqlite: () =>
      walkPages((after) => (sqlite.page(after, 10_000) as { name: string }[]).map(({ name }) => name)),
  }),
})
const peers = [
  { peer: 'lmdb', samples: samples.lmdb!, remark: 'names only, no identifiers joined' },
  ...(samples.sqlite
    ? [{ peer: 'sqlite FULL', samples: samples.sqlite, remark: 'names only; a flat list' }]
    : []),
]
const itself = (remark: string) => ({ peer: 'the flat one on disk', samples: samples.flat!, remark })
figure(`each of ${count(most)} tables, flat, disk`, samples.flat!, {
  unit: 'µs',
  against: peers,
})
figure(`each of ${count(most)} tables, flat, memory`, samples.memory!, { unit: 'µs', against: peers })
figure(`each of ${count(most)} tables, ${levels} levels deep, disk`, samples.deep!, {
  unit: 'µs',
  against: [itself('identifiers are ten times as long')],
})
figure(`each of ${count(namespaces)} namespaces of one table, disk`, samples.wide!, {
  unit: 'µs',
  against: [itself('a namespace is opened for each table')],
})
await Promise.all([flat, deep, wide, memory, lmdb].map((one) => one.close()))

/** Microseconds a table. */
async function walk(catalog: Catalog, id: string[]): Promise<number> {
  let found = 0
  let page_token: string | null | undefined
  const start = performance.now()
  do {
    const page = await catalog.listTables({ id, limit: 10_000, page_token })
    found += page.tables.length
    page_token = page.page_token
  } while (page_token)
  const took = performance.now() - start
  if (found < Math.min(most, namespaces)) throw new Error(`Only ${found} tables were listed.`)
  return (took * 1_000) / found
}

function walkPages(page: (after: string) => string[]): Promise<number> {
  return microseconds(most, () => {
    let after = ''
    let found = 0
    for (let names = page(after); names.length > 1; names = page(after)) {
      found += names.length
      after = names.at(-1)!
    }
    if (found < most) throw new Error(`Only ${found} names were listed.`)
  })
}

async function seedDeep(catalog: Catalog): Promise<void> {
  const home = (chain: number, level: number) => [
    `c${chain}`,
    ...Array.from({ length: level }, (_, i) => `level${i}`),
  ]
  for (let level = 0; level < levels; level++) {
    await inFlight(chains, 256, (chain) => catalog.createNamespace({ id: home(chain, level) }))
  }
  await declareTables(catalog, most, (i) => {
    const place = Math.floor(i / 100)
    return home(Math.floor(place / levels), place % levels)
  })
}

async function seedWide(catalog: Catalog): Promise<void> {
  await inFlight(namespaces, 1_024, (i) => catalog.createNamespace({ id: [`n${i}`] }))
  await declareTables(catalog, namespaces, (i) => [`n${i}`])
}

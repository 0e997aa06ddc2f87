/** Does a page deep in a listing cost more than the first one? */
import { join } from 'node:path'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, chart, figure } from './support/figures.ts'
import { inTurn, microseconds, race, type Spread, spread } from './support/measure.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, most, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { seededDirectory, tableNames } from './support/seed.ts'

const limit = 100
const depths = pick([1, 10, 100], [1, 10, 100, 1_000, 10_000])

about(`One page of ${limit} of ${count(most)} tables on disk, at page 1 to ${count(depths.at(-1)!)}. lmdb and
better-sqlite3 begin after a name, as we do behind the page token; "OFFSET" is how paging is often written.`)

const folder = newFolder('paging')
const catalog = await openCatalog(await seededDirectory(most))
const names = tableNames(most)
const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
await lmdb.fill(names)
const sqlite = await openSqlite(join(folder, 'catalog.sqlite'), 'full').catch(() => undefined)
sqlite?.declareAll(names)

const tokens = await tokensAt(depths)
const points: ({ series: string; x: number } & Spread)[] = []
const first: number[] = []
for (const depth of depths) {
  const after = depth === 1 ? '' : names[(depth - 1) * limit - 1]!
  const turn =
    (work: () => unknown, times = 100) =>
    () =>
      microseconds(times, () => inTurn(times, work))
  const samples = await race(rounds, {
    ours: turn(() => catalog.listTables({ id: ['ns'], limit, page_token: tokens.get(depth) })),
    lmdb: turn(() => lmdb.page(after, limit)),
    ...(sqlite && {
      'sqlite after a name': turn(() => sqlite.page(after, limit)),
      'sqlite OFFSET': turn(() => sqlite.pageAt((depth - 1) * limit, limit), depth > 100 ? 2 : 20),
    }),
  })
  if (depth === 1) first.push(...samples.ours!)
  for (const [series, each] of Object.entries(samples)) points.push({ series, x: depth, ...spread(each) })
  figure(`page ${count(depth)}`, samples.ours!, {
    unit: 'µs',
    against: [
      ...Object.keys(samples)
        .filter((peer) => peer !== 'ours')
        .map((peer) => ({
          peer,
          samples: samples[peer]!,
          remark: peer === 'lmdb' ? 'names only' : undefined,
          aside: peer === 'sqlite OFFSET',
        })),
      ...(depth > 1 ? [{ peer: 'its own first page', samples: first, as: 'cost' as const }] : []),
    ],
  })
}
chart({
  id: 'paging',
  title: `A page of ${limit}, of ${count(most)} tables`,
  x: 'which page',
  y: 'µs',
  points,
})
await catalog.close()
await lmdb.close()

/** The tokens that lead to some pages; getting there is a walk. */
async function tokensAt(pages: readonly number[]): Promise<Map<number, string | null | undefined>> {
  const tokens = new Map<number, string | null | undefined>()
  let token: string | null | undefined
  for (let page = 1; page <= pages.at(-1)!; page++) {
    if (pages.includes(page)) tokens.set(page, token)
    token = (await catalog.listTables({ id: ['ns'], limit, page_token: token })).page_token
  }
  return tokens
}

/** What do ten thousand small inserts leave behind: what does the next one cost, and reading? */
import { join } from 'node:path'
import { type Catalog, openCatalog } from '../dist/tabularium/index.js'
import { about, chart, figure } from './support/figures.ts'
import { inFlight, milliseconds, race, type Spread, spread } from './support/measure.ts'
import { lancedb } from './support/peers/lance-rows.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const most = pick(300, 10_000)
const steps = pick([1, 100, 300], [1, 100, 1_000, 10_000])
const lanceMost = pick(100, 1_000)
const perInsert = 100
const turns = pick(5, 15)

about(`A table is appended to ${count(most)} times, ${perInsert} rows each: as many fragments, and as many versions.
Beside it are a table of one fragment with as many rows, and LanceDB's table after up to ${count(lanceMost)}
appends (ten thousand take it too long). Ours syncs each append, LanceDB does not.`)

const folder = newFolder('fragments')
const catalog: Catalog = await openCatalog(join(folder, 'ours'))
const rowsOf = (from: number, many = perInsert) =>
  Array.from({ length: many }, (_, i) => ({ a: (from + i) % 1_000, name: `user_${from + i}` }))
const [many, small, whole] = [['many'], ['small'], ['whole']] as const
await catalog.createTable({ id: [...many], data: rowsOf(0) })
await catalog.createTable({ id: [...whole], data: rowsOf(0, most * perInsert) })
const lance = await (await lancedb().connect(join(folder, 'lance'))).createTable('many', rowsOf(0))

const points: ({ series: string; x: number } & Spread)[] = []
let fragments = 1
let lanceFragments = 1
const target = (at: number) => (at === most ? { atMost: 1.3 } : undefined)
for (const step of steps) await appendAt(step)
chart({ id: 'fragments', title: `Appending ${perInsert} rows`, x: 'fragments in the table', y: 'ms', points })
await readAll()
await versionsAll()
if ('optimizeTable' in catalog) await optimized()
await catalog.close()

async function appendAt(step: number): Promise<void> {
  // Several at once, so that they share in waiting for the disk.
  await inFlight(Math.max(0, step - fragments), 8, appendMany)
  while (lanceFragments < Math.min(step, lanceMost)) await appendLance()
  // A new table each time, so that it stays one of few fragments.
  const fresh = [`${small[0]}_${step}`]
  await catalog.createTable({ id: fresh, data: rowsOf(0) })
  const measured = await race(turns, {
    ours: () => milliseconds(appendMany),
    small: () => milliseconds(() => append(fresh)),
    ...(step <= lanceMost ? { lance: () => milliseconds(appendLance) } : {}),
  })
  points.push({ series: 'ours, synced', x: step, ...spread(measured.ours!) })
  if (measured.lance) points.push({ series: 'LanceDB, not synced', x: step, ...spread(measured.lance) })
  figure(`append ${perInsert} rows to ${count(step)} fragments`, measured.ours!, {
    unit: 'ms',
    against: [
      { peer: 'a table of few', samples: measured.small!, as: 'cost', target: target(step) },
      ...(measured.lance
        ? [{ peer: 'lancedb', samples: measured.lance, remark: 'theirs is not synced to disk' }]
        : []),
    ],
  })
}

async function append(id: string[]): Promise<void> {
  await catalog.insertIntoTable({ id, data: rowsOf(fragments) })
}

async function appendMany(): Promise<void> {
  await append([...many])
  fragments++
}

async function appendLance(): Promise<void> {
  await lance.add(rowsOf(lanceFragments))
  lanceFragments++
}

async function readAll(what = `${count(most)} fragments`): Promise<void> {
  const answers: number[] = []
  const reads: [string, (id: string[]) => Promise<unknown>, ((table: typeof lance) => Promise<unknown>)?][] =
    [
      ['describe with details', (id) => catalog.describeTable({ id, load_detailed_metadata: true })],
      ['count all', (id) => catalog.countTableRows({ id }), (table) => table.countRows()],
      [
        'count by predicate, warm',
        async (id) => answers.push((await catalog.countTableRows({ id, predicate: 'a > 500' })).count),
        (table) => table.countRows('a > 500'),
      ],
      [
        'query ten rows',
        (id) => catalog.queryTable({ id, limit: 10 }),
        (table) => table.query().limit(10).toArray(),
      ],
    ]
  for (const [name, read, theirs] of reads) {
    const measured = await race(pick(3, 7), {
      many: () => milliseconds(() => read([...many])),
      whole: () => milliseconds(() => read([...whole])),
      ...(theirs ? { lance: () => milliseconds(() => theirs(lance)) } : {}),
    })
    figure(`${name}, ${what}`, measured.many!, {
      unit: 'ms',
      against: [
        { peer: 'the same rows in one', samples: measured.whole!, as: 'cost' },
        ...(measured.lance
          ? [
              {
                peer: 'lancedb',
                samples: measured.lance,
                remark: `theirs has ${count(lanceFragments)} fragments`,
              },
            ]
          : []),
      ],
    })
  }
}

/** As many versions as fragments. */
async function versionsAll(): Promise<void> {
  const middle = Math.floor(most / 2)
  const reads: [string, (id: string[], version: number) => Promise<unknown>][] = [
    ['list a page of 100 versions', (id) => catalog.listTableVersions({ id, limit: 100 })],
    ['describe a version', (id, version) => catalog.describeTableVersion({ id, version })],
    ['count all at a version', (id, version) => catalog.countTableRows({ id, version })],
  ]
  for (const [name, read] of reads) {
    const measured = await race(pick(3, 9), {
      many: () => milliseconds(() => read([...many], middle)),
      whole: () => milliseconds(() => read([...whole], 1)),
    })
    figure(`${name}, of ${count(most)} versions`, measured.many!, {
      unit: 'ms',
      against: [{ peer: 'a table of one version', samples: measured.whole!, as: 'cost' }],
    })
  }
}

async function optimized(): Promise<void> {
  const { optimizeTable } = catalog as unknown as {
    optimizeTable(request: { id: readonly string[] }): Promise<unknown>
  }
  const took = await milliseconds(() => optimizeTable.call(catalog, { id: many }))
  const theirs = await milliseconds(() => lance.optimize())
  figure(`optimizeTable, ${count(fragments)} fragments into one, each`, [(took * 1_000) / fragments], {
    unit: 'µs',
    against: [
      {
        peer: 'lancedb',
        samples: [(theirs * 1_000) / lanceFragments],
        remark: `theirs merges ${count(lanceFragments)}; once each`,
      },
    ],
  })
  await readAll('optimized')
}

/** How much faster is a catalog change here than in Lance's own directory catalog? */
import { renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, chart, figure } from './support/figures.ts'
import { inFlight, microseconds, race, type Spread, spread } from './support/measure.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { seedTables, tableName } from './support/seed.ts'

const { connect, connectNamespace } = createRequire(import.meta.url)(
  '@lancedb/lancedb',
) as typeof import('@lancedb/lancedb')
const entries = pick([1_000], [1_000, 10_000, 100_000])
const atLeast = 100
const headlines: Record<string, string> = {
  create: 'Create a catalog entry, at 100,000',
}

about(`LanceDB's directory catalog (connectNamespace('dir'), in Rust) beside ours on disk, at ${entries.map(count).join(', ')}
entries. Filling Lance's catalog one by one takes hours; its entries are appended to its own __manifest table
instead, in one piece, which leaves it the smallest manifest it can have. Created, described and dropped are
namespaces, which in both are entries of the catalog and nothing else. Ours syncs each change before it answers,
Lance's does not. Both are asked through their public API, one
call after the other where nothing else is said.`)

const points: ({ series: string; x: number } & Spread)[] = []
for (const size of entries) await ask(size)
for (const what of ['create', 'describe', 'list a page of 100', 'drop']) {
  chart({
    id: `lance-${what.split(' ')[0]}`,
    title: `${what}: ours and Lance's directory catalog`,
    x: 'entries in the catalog',
    y: 'µs',
    points: points
      .filter(({ series }) => series.endsWith(`/${what}`))
      .map((point) => ({ ...point, series: point.series.split('/')[0]! })),
  })
}

async function ask(size: number): Promise<void> {
  const folder = newFolder('lance')
  const ours = await openCatalog(join(folder, 'ours'))
  await seedTables(ours, size)
  const lance = await openLance(join(folder, 'lance'), size)
  const { tables } = await lance.listTables(['ns'], { limit: 100 })
  if (tables.length !== 100) throw new Error(`Lance's catalog lists ${tables.length} tables.`)
  let next = 0
  const made: Record<string, string[]> = { ours: [], lance: [] }
  const create = async (who: 'ours' | 'lance') => {
    const name = `n${next++}`
    await (who === 'ours' ? ours.createNamespace({ id: [name] }) : lance.createNamespace([name]))
    made[who]!.push(name)
  }
  const drop = async (who: 'ours' | 'lance') => {
    const name = made[who]!.pop()!
    await (who === 'ours' ? ours.dropNamespace({ id: [name] }) : lance.dropNamespace([name]))
  }
  const questions: Record<
    string,
    { times: number; atOnce?: number; ours: () => Promise<unknown>; lance: () => Promise<unknown> }
  > = {
    create: { times: 3, ours: () => create('ours'), lance: () => create('lance') },
    describe: {
      times: 5,
      ours: () => ours.describeNamespace({ id: ['ns'] }),
      lance: () => lance.describeNamespace(['ns']),
    },
    'list a page of 100': {
      times: 5,
      ours: () => ours.listTables({ id: ['ns'], limit: 100 }),
      lance: () => lance.listTables(['ns'], { limit: 100 }),
    },
    'create, 64 at once': {
      times: pick(16, 64),
      atOnce: 64,
      ours: () => create('ours'),
      lance: () => create('lance'),
    },
    drop: { times: 3, ours: () => drop('ours'), lance: () => drop('lance') },
  }
  for (const [what, { times, atOnce = 1, ours, lance }] of Object.entries(questions)) {
    const measured = await race(atOnce > 1 ? 2 : pick(2, 5), {
      ours: () => microseconds(times * 4, () => inFlight(times * 4, atOnce, ours)),
      lance: () => microseconds(times, () => inFlight(times, atOnce, lance)),
    })
    for (const who of ['ours', 'lance'] as const) {
      points.push({
        series: `${who === 'ours' ? 'ours, synced' : 'Lance, not synced'}/${what}`,
        x: size,
        ...spread(measured[who]!),
      })
    }
    figure(`${what}, at ${count(size)} entries`, measured.ours!, {
      unit: 'µs',
      headline: size === entries.at(-1) ? headlines[what] : undefined,
      against: [
        {
          peer: "LanceDB's directory catalog",
          samples: measured.lance!,
          target: size === 100_000 && atOnce === 1 ? { atLeast } : undefined,
          remark:
            what.startsWith('create') || what === 'drop'
              ? 'theirs is never synced to disk, ours is'
              : undefined,
        },
      ],
    })
  }
  await ours.close()
  lance.close()
}

/** A directory catalog with so many tables in `ns`, written into its manifest at once. */
async function openLance(root: string, size: number) {
  const namespaces = await connectNamespace('dir', { root })
  await namespaces.createNamespace(['ns'])
  namespaces.close()
  // The manifest is a table of Lance; under a table's name it can be opened as one.
  renameSync(join(root, '__manifest'), join(root, 'manifest.lance'))
  const tables = await connect(root)
  const manifest = await tables.openTable('manifest')
  await manifest.add(
    Array.from({ length: size }, (_, i) => ({
      object_id: `ns$${tableName(i)}`,
      object_type: 'table',
      location: `${i.toString(16).padStart(8, '0')}_ns$${tableName(i)}`,
      metadata: null,
      base_objects: null,
    })),
  )
  manifest.close()
  tables.close()
  renameSync(join(root, 'manifest.lance'), join(root, '__manifest'))
  return connectNamespace('dir', { root })
}

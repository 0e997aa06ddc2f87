/** How long until a catalog is open, from the start of a process, and what memory does it take? */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, figure, type Target } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { grewElsewhere } from './support/memory.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, most, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { seededDirectory, seedTables, tableName, tableNames } from './support/seed.ts'

about(`Each time a new process imports a package, opens ${count(most)} tables on disk, or nothing in memory, and
reads one entry; from the import on, so that Node's own start is not counted. Memory is that of the process; the
limit is a process that imports nothing. LanceDB opens an empty directory. Commands are whole processes, from their start
to their end, beside Node that runs an empty file; the catalog that they list has a hundred tables.`)

const folder = newFolder('start')
const directory = await seededDirectory(most)
const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
await lmdb.fill(tableNames(most))
await lmdb.close()
await openSqlite(join(folder, 'catalog.sqlite'), 'full')
  .then((sqlite) => {
    sqlite.declareAll(tableNames(most))
    sqlite.close()
  })
  .catch(() => {})

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const ours = JSON.stringify(new URL('../dist/tabularium/index.js', import.meta.url).href)
const name = tableName(Math.floor(most / 2))
const scripts: Record<string, string> = {
  'memory:': `const { openCatalog } = await import(${ours}); await openCatalog('memory:')`,
  directory: `const { openCatalog } = await import(${ours})
    const catalog = await openCatalog(${JSON.stringify(directory)}); await catalog.describeTable({ id: ['ns', '${name}'] })`,
  lmdb: `const { open } = await import('lmdb'); const db = open({ path: ${JSON.stringify(join(folder, 'raw.mdb'))}, encoding: 'json' })
    if (!db.get(['n', 'ns', '${name}'])) throw new Error('missing')`,
  'better-sqlite3': `const { default: Database } = await import('better-sqlite3')
    const db = new Database(${JSON.stringify(join(folder, 'catalog.sqlite'))})
    if (!db.prepare("SELECT * FROM tables WHERE namespace = 'ns' AND name = '${name}'").get()) throw new Error('missing')`,
  lancedb: `const { connectNamespace } = (await import('@lancedb/lancedb')).default
    await (await connectNamespace('dir', { root: ${JSON.stringify(join(folder, 'lance'))} })).listNamespaces()`,
  nothing: '',
}

const memory: Record<string, number[]> = {}
const times = await race(
  pick(2, 9),
  Object.fromEntries(Object.keys(scripts).map((who) => [who, (round: number) => start(who, round)])),
)
const peers = (of: Record<string, number[]>, names: string[]) =>
  names.flatMap((peer) => (of[peer]?.every(Number.isFinite) ? [{ peer, samples: of[peer] }] : []))
const besides = ['lmdb', 'better-sqlite3', 'lancedb']
figure('import and open memory:', times['memory:']!, {
  unit: 'ms',
  target: { below: 60 },
  against: peers(times, ['lancedb', 'better-sqlite3']),
})
figure(`import, open ${count(most)} tables on disk and describe one`, times.directory!, {
  unit: 'ms',
  target: { below: 100 },
  headline: `Import, and open ${count(most)} tables`,
  against: peers(times, besides),
})
figure('memory of the process, memory:', memory['memory:']!, {
  unit: 'MiB',
  against: peers(memory, ['nothing', 'lancedb']).map((one) => ({ ...one, as: 'cost' as const })),
})
figure(`memory of the process, ${count(most)} tables on disk`, memory.directory!, {
  unit: 'MiB',
  target: { below: 90 },
  remark: 'pages of the file that were touched count too',
  against: peers(memory, ['nothing', ...besides]).map((one) => ({ ...one, as: 'cost' as const })),
})

await commands()

/** What commands take over what Node takes by itself. */
async function commands(): Promise<void> {
  const listed = join(folder, 'listed')
  {
    await using catalog = await openCatalog(listed)
    await seedTables(catalog, 100)
  }
  const empty = join(folder, 'empty.js')
  writeFileSync(empty, '')
  const cli = path('../dist/cli/index.cjs')
  const asked: Record<string, { readonly args: readonly string[]; readonly target: Target }> = {
    '--version': { args: ['--version'], target: { atMost: 5 } },
    'completion bash': { args: ['completion', 'bash'], target: { atMost: 5 } },
    'completing a word': { args: ['__complete', '--line', 'tabularium de'], target: { atMost: 60 } },
    'list, 100 tables': { args: ['list', listed, 'ns'], target: { atMost: 60 } },
  }
  const runs = pick(1, 3)
  const timed = (file: string, args: readonly string[]) => async () => {
    const took = await milliseconds(async () => {
      for (let i = 0; i < runs; i++) await promisify(execFile)(process.execPath, [file, ...args])
    })
    return took / runs
  }
  const measured = await race(pick(2, 9), {
    node: timed(empty, []),
    ...Object.fromEntries(Object.entries(asked).map(([name, { args }]) => [name, timed(cli, args)])),
  })
  for (const [name, { target }] of Object.entries(asked)) {
    const over = measured[name]!.map((took, round) => took - measured.node![round]!)
    figure(`tabularium ${name}: over bare node`, over, {
      unit: 'ms',
      target,
      remark: `node takes ${Math.min(...measured.node!).toFixed(0)} ms by itself`,
    })
  }
}

/** Milliseconds; a peer that is not there counts as never done. */
async function start(who: string, round: number): Promise<number> {
  const script = `const start = performance.now()
    ${scripts[who]}
    const took = performance.now() - start
    process.stdout.write(JSON.stringify({ took, rss: process.memoryUsage.rss(), most: process.resourceUsage().maxRSS }), () => process.exit())`
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', script],
      // From here, so that the peers are found.
      { cwd: path('.') },
    )
    const { took, rss, most } = JSON.parse(stdout) as { took: number; rss: number; most: number }
    grewElsewhere(most * 1_024)
    memory[who] ??= []
    if (round > 0) memory[who].push(rss / 2 ** 20)
    return took
  } catch (error) {
    if (who in { 'memory:': 0, directory: 0 }) throw error
    console.error(`Without ${who}: ${(error as Error).message.split('\n')[1] ?? error}`)
    memory[who] = []
    return Number.NaN
  }
}

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { type Catalog, type LocalCatalog, openCatalog } from '../dist/index.js'
import { inFlight, median, medianMicroseconds, microseconds, report } from './support/measure.ts'

/*
 * What one operation costs, in memory and on disk, with few tables and with a million; against raw lmdb where
 * that is the limit.
 */

let rawNext = 0

const tableRecord = {
  v: 1,
  parent: '01M7WCEFDJZWA8A0J57NKEXEMR',
  name: 't123456',
  location: null,
  properties: {},
  created_at: 1795175169456,
  main: { latest: null, last: null },
  registered: false,
}

const changeRecord = {
  v: 1,
  status: 'Succeeded',
  operation: 'DeclareTable',
  subject: ['ns', 't123456'],
  created_at: 1795175169456,
  finished_at: 1795175169456,
  properties: {},
}

const scratch = mkdtempSync(join(tmpdir(), 'tabularium-bench-'))
try {
  await memory()
  await disk()
  startUp()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** Declares tables `t0 …` in a namespace, ten thousand in a batch. */
async function seed(catalog: Catalog, namespace: string, count: number): Promise<void> {
  await catalog.createNamespace({ id: [namespace], mode: 'ExistOk' })
  for (let from = 0; from < count; from += 10_000) {
    const size = Math.min(10_000, count - from)
    await catalog.batchCommitTables({
      operations: Array.from({ length: size }, (_, i) => declaration(namespace, from + i)),
    })
  }
}

function declaration(namespace: string, i: number) {
  return { declare_table: { id: [namespace, `t${i}`] } }
}

/** Runs one call after the other; microseconds of each, the median of some rounds. */
function each(times: number, call: (i: number) => Promise<unknown>): Promise<number> {
  return medianMicroseconds(7, times, async () => {
    for (let i = 0; i < times; i++) await call(i)
  })
}

async function memory(): Promise<void> {
  console.log('\nMemory')
  for (const count of [1_000, 1_000_000]) {
    await using catalog = await openCatalog('memory:')
    await seed(catalog, 'ns', count)
    const at = `at ${count.toLocaleString('en')} tables`
    let next = count
    const describe = await each(20_000, (i) =>
      catalog.describeTable({ id: ['ns', `t${(i * 7919) % count}`] }),
    )
    report(`describe, ${at}`, describe, 'us', { below: 3 })
    const declare = await each(2_000, () => catalog.declareTable({ id: ['ns', `t${next++}`] }))
    report(`declare, ${at}`, declare, 'us', { below: 15 })
    const batch = await each(1, () =>
      catalog.batchCommitTables({
        operations: Array.from({ length: 1_000 }, () => declaration('ns', next++)),
      }),
    )
    report(`declare in a batch of 1,000, each, ${at}`, batch / 1_000, 'us', { below: 5 })
    report(`page of 100, ${at}`, await each(200, () => catalog.listTables({ id: ['ns'], limit: 100 })), 'us')
    report(`fork, ${at}`, await each(200, async () => catalog.fork()), 'us')
  }
}

async function disk(): Promise<void> {
  console.log('\nDisk')
  const raw = open({ path: join(scratch, 'raw.mdb'), overlappingSync: false })
  for (const count of [1_000, 100_000, 1_000_000]) {
    await using catalog: LocalCatalog = await openCatalog(join(scratch, `catalog-${count}`))
    await seed(catalog, 'ns', count)
    const at = `at ${count.toLocaleString('en')} tables`
    let next = count
    const describe = await each(20_000, (i) =>
      catalog.describeTable({ id: ['ns', `t${(i * 7919) % count}`] }),
    )
    report(`describe, ${at}`, describe, 'us', { below: 6 })
    const tokens = await tokensOf(catalog, count)
    const page = await each(200, (i) =>
      catalog.listTables({ id: ['ns'], limit: 100, page_token: tokens[i % tokens.length] }),
    )
    report(`page of 100, ${at}`, page, 'us', count >= 100_000 ? { below: 100 } : undefined)
    report(
      `durable declare alone, ${at}`,
      await each(100, () => catalog.declareTable({ id: ['ns', `t${next++}`] })),
      'us',
    )
    const ours: number[] = []
    const ratios: number[] = []
    for (let round = 0; round < 7; round++) {
      ours.push(
        await microseconds(6_400, () =>
          inFlight(6_400, 64, () => catalog.declareTable({ id: ['ns', `t${next++}`] })),
        ),
      )
      ratios.push((await microseconds(6_400, () => inFlight(6_400, 64, () => putThree(raw)))) / ours.at(-1)!)
    }
    report(`durable declare, 64 in flight, ${at}`, median(ours), 'us')
    report(`  speed against raw lmdb with three puts`, median(ratios), '', { atLeast: 0.5 })
  }
  await raw.close()
}

/** What a declaration has to keep: the name, the table's record and the record of the change. */
function putThree(raw: RootDatabase): Promise<unknown> {
  const id = `01M7WCEFDJZWA8A0J57N${String(rawNext++).padStart(6, '0')}`
  return raw.childTransaction(() => {
    raw.put(['n', 'ns', id], `t${id}`)
    raw.put(['t', id], tableRecord)
    raw.put(['x', id], changeRecord)
  })
}

/** Tokens for pages all over the listing. */
async function tokensOf(catalog: Catalog, count: number): Promise<(string | null | undefined)[]> {
  const tokens: (string | null | undefined)[] = [undefined]
  const limit = Math.min(10_000, Math.floor(count / 25))
  while (tokens.length < 20) {
    tokens.push((await catalog.listTables({ id: ['ns'], limit, page_token: tokens.at(-1) })).page_token)
  }
  return tokens
}

/** Opens in processes of their own: a catalog in memory, and the one with a million tables. */
function startUp(): void {
  console.log('\nImport and open, in a process of its own')
  for (const [what, location, milliseconds, mebibytes] of [
    ['in memory', 'memory:', 60, undefined],
    ['a million tables on disk', join(scratch, 'catalog-1000000'), 100, 150],
  ] as const) {
    const runs = Array.from({ length: 9 }, () =>
      JSON.parse(
        execFileSync(process.execPath, ['--input-type=module', '-e', script(location)], { encoding: 'utf8' }),
      ),
    )
    report(`import and open, ${what}`, median(runs.map((run) => run.total)), 'ms', { below: milliseconds })
    report(`  of this, opening`, median(runs.map((run) => run.open)), 'ms')
    const memory = median(runs.map((run) => run.rss / 2 ** 20))
    report(`  resident memory`, memory, 'MiB', mebibytes === undefined ? undefined : { below: mebibytes })
  }
}

function script(location: string): string {
  return `
    const start = performance.now()
    const { openCatalog } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)})
    const imported = performance.now()
    const catalog = await openCatalog(${JSON.stringify(location)})
    const opened = performance.now()
    const { rss } = process.memoryUsage()
    await catalog.close()
    console.log(JSON.stringify({ open: opened - imported, total: opened - start, rss }))`
}

/** How fast are millions of rows inserted, counted from cold files, and deleted by predicate? */
import { closeSync, fsyncSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LocalCatalog, openCatalog } from '../dist/tabularium/index.js'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { arrowTable, lancedb } from './support/peers/lance-rows.ts'
import { predicates, seedsOf, tableOf } from './support/predicates.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const rows = pick(200_000, 10_000_000)
const chunk = pick(50_000, 1_000_000)
const turns = pick(2, 3)
const id = ['big']
const cacheBytes = 4 * 1024 ** 3

about(`${count(rows)} rows of thirteen columns (numbers, texts, lists, structs, dates), given as Arrow in pieces of
${count(chunk)}, ours through the catalog on disk. An insert of ours measures statistics and checksums, writes and
syncs; LanceDB's does not sync. Cold means a catalog, or a connection, opened for that one count in a process that has counted before${
  pick(false, true) ? ', with the system asked to forget the files before, where it lets us' : ''
}. 
A cold count of ours is made by one thread, while others read; LanceDB uses all cores.`)

const folder = newFolder('rows')
const directory = join(folder, 'ours')
const lancePath = join(folder, 'lance')
const open = () => openCatalog(directory, { cacheBytes })
const catalog: LocalCatalog = await open()
const database = await lancedb().connect(lancePath)
let lance: Awaited<ReturnType<typeof database.createTable>> | undefined

await insert()
await cold()
await remove()
await catalog.close()

async function insert(): Promise<void> {
  const seeds = seedsOf(rows)
  let made: { round: number; bytes: Uint8Array } = { round: -1, bytes: new Uint8Array() }
  // Made once a round, outside the clock.
  const piece = (round: number) => {
    if (made.round !== round) {
      made = { round, bytes: arrowBytes(tableOf(seeds, round * chunk, (round + 1) * chunk)) }
    }
    return made.bytes
  }
  const pieces = rows / chunk
  let size = 0
  const measured = await race(
    pieces - 1,
    {
      ours: async (round) => {
        const data = piece(round)
        return milliseconds(() =>
          round === 0 ? catalog.createTable({ id, data }) : catalog.insertIntoTable({ id, data }),
        )
      },
      lance: async (round) => {
        const table = arrowTable(piece(round)) as never
        return milliseconds(async () => {
          if (lance === undefined) lance = await database.createTable('big', table)
          else await lance.add(table)
        })
      },
      file: async (round) => {
        const data = piece(round)
        size = data.byteLength
        return milliseconds(() => {
          const file = openSync(join(folder, `piece-${round}`), 'w')
          writeSync(file, data)
          fsyncSync(file)
          closeSync(file)
        })
      },
    },
    Number.POSITIVE_INFINITY,
  )
  figure(`insert ${count(chunk)} rows, ${Math.round(size / 1e6)} MB`, measured.ours!, {
    unit: 'ms',
    headline: `Insert ${count(chunk)} rows`,
    against: [
      { peer: 'lancedb', samples: measured.lance!, remark: 'not synced to disk; all cores' },
      {
        peer: 'a file written and synced',
        samples: measured.file!,
        remark: 'the same bytes, looked at by nobody',
      },
    ],
  })
}

/** Every count opens everything anew. */
async function cold(): Promise<void> {
  const chosen = predicates.filter((_, i) => [0, 1, 2, 11].includes(i))
  for (const { name, predicate, lancedb: theirs = predicate } of chosen) {
    const answers: Record<string, number> = {}
    const measured = await race(turns, {
      ours: async () => {
        forgetFiles()
        return milliseconds(async () => {
          await using fresh = await open()
          answers.ours = (await fresh.countTableRows({ id, predicate })).count
        })
      },
      lance: async () => {
        forgetFiles()
        return milliseconds(async () => {
          const fresh = await lancedb().connect(lancePath)
          answers.lance = await (await fresh.openTable('big')).countRows(theirs)
        })
      },
    })
    if (answers.ours !== answers.lance) throw new Error(`${predicate}: ${JSON.stringify(answers)}`)
    figure(`cold count: ${name} (${predicate})`, measured.ours!, {
      unit: 'ms',
      against: [{ peer: 'lancedb', samples: measured.lance! }],
    })
  }
}

/** Deletes, and brings the rows back for the next turn. */
async function remove(): Promise<void> {
  const { version } = await catalog.describeTable({ id, load_detailed_metadata: true })
  const commit = (
    await race(turns, {
      ours: (round) => milliseconds(() => commitBitmaps(round)),
    })
  ).ours!
  figure('one commit, with a bitmap for each fragment', commit, {
    unit: 'ms',
    remark: 'a change of the metadata, and as many bitmaps as a delete leaves, written and synced',
  })
  const first = await lance!.version()
  // Worker threads are started after some scans. Each asks for other rows, so that no two are alike.
  const warm = performance.now() + pick(0, 2_000)
  for (let i = 0; performance.now() < warm; i++) await catalog.countTableRows({ id, predicate: `a > ${i}` })
  for (const { name, predicate, lancedb: theirs = predicate } of predicates) {
    let deleted = 0
    const measured = await race(turns, {
      count: () =>
        milliseconds(async () => {
          deleted = (await catalog.countTableRows({ id, predicate })).count
        }),
      ours: async () => {
        const took = await milliseconds(() => catalog.deleteFromTable({ id, predicate }))
        const left = (await catalog.countTableRows({ id })).count
        if (left !== rows - deleted) throw new Error(`${predicate}: ${left} rows are left.`)
        await catalog.restoreTable({ id, version: version! })
        return took
      },
      lance: async () => {
        const took = await milliseconds(() => lance!.delete(theirs))
        await lance!.checkout(first)
        await lance!.restore()
        return took
      },
    })
    const allowed = measured.count!.map(
      (one, round) => 1.5 * one + commit[Math.min(round, commit.length - 1)]!,
    )
    figure(`delete: ${name} (${predicate})`, measured.ours!, {
      unit: 'ms',
      headline: name === 'number' ? 'Delete by predicate' : undefined,
      against: [
        {
          peer: '1.5 × its count and a commit',
          samples: allowed,
          as: 'cost',
          target: { atMost: 1, group: 'delete by predicate against 1.5 × its count and a commit' },
        },
        { peer: 'its own count', samples: measured.count!, as: 'cost' },
        { peer: 'lancedb', samples: measured.lance!, remark: 'not synced to disk; all cores' },
      ],
    })
  }
}

/** The least a delete must do besides counting: a version, and a bitmap of the rows of each fragment, synced. */
async function commitBitmaps(round: number): Promise<void> {
  const bitmap = new Uint8Array(chunk / 8)
  const write = (fragment: number) =>
    writeFile(join(folder, `bitmap-${round}-${fragment}`), bitmap, { flush: true })
  await Promise.all(Array.from({ length: rows / chunk }, (_, fragment) => write(fragment)))
  await catalog.updateTableSchemaMetadata({ id, metadata: { round: String(round) } })
}

/** Asks Linux to drop its copies of files; only root may. */
function forgetFiles(): void {
  if (pick(true, false)) return
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '1')
  } catch {
    // Then the files may be in memory; the catalog has read none of them yet.
  }
}

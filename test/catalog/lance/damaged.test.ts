import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { numbered } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(240 * Number(process.env.HISTORY_RUNS ?? 1))

/* Files of a dataset that are cut, gone, changed, or those of another file: what reads them says so, and goes on. */

interface Damage {
  /** Which file, as a part of their number. */
  readonly file: number
  /** Whether it is one of any, and not of those that reads need. */
  readonly isAny: boolean
  readonly kind: 'cut' | 'gone' | 'bits' | 'zeros' | 'noise' | 'other file' | 'longer' | 'foot'
  /** Where, as parts of the length. */
  readonly at: readonly number[]
  readonly bytes: Uint8Array
}

const part = fc.double({ min: 0, max: 0.999_999, noNaN: true })
const damages = fc.record<Damage>({
  file: part,
  isAny: fc.nat(4).map((drawn) => drawn === 0),
  kind: fc.constantFrom('cut', 'gone', 'bits', 'zeros', 'noise', 'other file', 'longer', 'foot'),
  at: fc.array(part, { minLength: 1, maxLength: 4 }),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 64 }),
})

function damaged(whole: Buffer, other: Buffer, { kind, at, bytes }: Damage): Buffer {
  const made = Buffer.from(whole)
  if (kind === 'cut') return made.subarray(0, Math.floor(at[0]! * made.length))
  if (kind === 'noise') return Buffer.from(bytes)
  if (kind === 'other file') return other
  if (kind === 'longer') return Buffer.concat([made, bytes])
  if (kind === 'zeros') return made.fill(0, Math.floor(at[0]! * made.length))
  if (kind === 'foot') made.set(bytes.subarray(0, made.length), Math.max(0, made.length - 4 - bytes.length))
  else for (const one of at) if (made.length > 0) made[Math.floor(one * made.length)]! ^= 1 << (bytes[0]! % 8)
  return made
}

type Call = (catalog: LocalCatalog) => Promise<unknown>
const id = ['t']
const row = { n: 9, name: 'nine' }
const reads: readonly (readonly [string, Call])[] = [
  ['describe', (catalog) => catalog.describeTable({ id, load_detailed_metadata: true })],
  ['versions', (catalog) => catalog.listTableVersions({ id })],
  ['count', (catalog) => catalog.countTableRows({ id })],
  ['count the first version', (catalog) => catalog.countTableRows({ id, version: 1 })],
  ['query', (catalog) => catalog.queryTable({ id, k: 1_000 })],
  ['query by a predicate', (catalog) => catalog.queryTable({ id, k: 10, filter: "name = 'a'" })],
  ['stats', (catalog) => catalog.getTableStats({ id })],
  ['indexes', (catalog) => catalog.listTableIndices({ id })],
  ['changes', (catalog) => catalog.tableChanges({ id, from: 1, to: 4 })],
  ['tags', (catalog) => catalog.listTableTags({ id })],
  ['branches', (catalog) => catalog.listTableBranches({ id })],
]
const changes: readonly (readonly [string, Call])[] = [
  ['insert', (catalog) => catalog.insertIntoTable({ id, data: [row] })],
  ['update', (catalog) => catalog.updateTable({ id, updates: [['name', "'x'"]], predicate: 'n = 7' })],
  ['delete', (catalog) => catalog.deleteFromTable({ id, predicate: 'n = 8' })],
  [
    'merge',
    (catalog) =>
      catalog.mergeInsertIntoTable({
        id,
        on: 'n',
        data: [row],
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
      }),
  ],
  ['schema metadata', (catalog) => catalog.updateTableSchemaMetadata({ id, metadata: { by: 'test' } })],
  ['tag', (catalog) => catalog.createTableTag({ id, tag: 'x', version: 2 })],
  ['restore', (catalog) => catalog.restoreTable({ id, version: 2 })],
  ['optimize', (catalog) => catalog.optimizeTable({ id })],
]

/** A catalog with a table that has rows of several versions, deleted rows, and an index. */
async function made(options: object): Promise<string> {
  const folder = await freshFolder()
  await using catalog = await openCatalog(folder, options)
  await catalog.createTable({ id, data: numbered(50), properties: { format: 'lance' } })
  await catalog.insertIntoTable({ id, data: [{ n: 100, name: 'a' }] })
  await catalog.deleteFromTable({ id, predicate: 'n = 3' })
  await catalog.updateTable({ id, updates: [['name', "'b'"]], predicate: 'n < 5' })
  await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
  await catalog.insertIntoTable({ id, data: [{ n: 101, name: 'a' }] })
  return folder
}

async function filesOf(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Without these, rows cannot be read. */
const isNeeded = /\/data\/|\/_deletions\/|\.manifest$/

/** The versions that are recorded. Those whose manifests are gone lose their records by any call. */
async function versionsOf(catalog: LocalCatalog): Promise<readonly number[]> {
  return (await catalog.listTableVersions({ id })).versions.map(({ version }) => version)
}

/** Says what is wrong with the end of a call, if anything. */
async function problemOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call
  } catch (error) {
    if (!(error instanceof CatalogError)) return String(error)
    // Lance's own code gave up at what no check of its own found.
    if (error.code === 'Internal' && !/panic/i.test(error.message)) return error.message
    if (/Lance file|magic/.test(error.message) && error.code !== 'InvalidTableState') return error.message
    if (!/\bt\b/.test(error.message)) return `no table is named: ${error.message}`
  }
  return undefined
}

describe.each([
  ['in this process', {}],
  ['in a process of its own', { isolate: true, callMillis: 60_000 }],
])('a damaged dataset, by Lance %s', (_, lance) => {
  const options = { managedVersioning: true, lance }
  lanceIt('is told by what needs the damaged file, and stops nothing else', async () => {
    const whole = await made(options)
    let told = 0
    await fc.assert(
      fc.asyncProperty(damages, async (damage) => {
        const folder = await freshFolder()
        await cp(whole, folder, { recursive: true })
        const files = (await filesOf(join(folder, 'tables'))).sort()
        const needed = damage.isAny ? files : files.filter((path) => isNeeded.test(path))
        const file = needed[Math.floor(damage.file * needed.length)]!
        const other = files[Math.floor(damage.at[0]! * files.length)]!
        const before = await readFile(file)
        const after = damaged(before, await readFile(other), damage)
        if (damage.kind === 'gone') await rm(file)
        else await writeFile(file, after)
        await using catalog = await openCatalog(folder, options)
        const toldBefore = told
        const shown = file.slice(folder.length)
        for (const [name, call] of [...reads, ...changes]) {
          const before = await versionsOf(catalog)
          const answer = call(catalog)
          const failed = await answer.then(
            () => false,
            () => true,
          )
          if (failed) told++
          expect([shown, name, await problemOf(answer)]).toEqual([shown, name, undefined])
          // What fails has changed nothing.
          if (failed) expect([shown, name, await versionsOf(catalog)]).toEqual([shown, name, before])
        }
        const { ok } = await catalog.verify()
        // What is in files of data has no checksums, and manifests do not tell how large deletions are.
        const isSeen =
          damage.kind === 'gone' || (after.length !== before.length && !file.includes('_deletions'))
        if (told > toldBefore && isSeen)
          expect([file.slice(folder.length), ok]).toEqual([file.slice(folder.length), false])
      }),
      { numRuns: 20 * Number(process.env.HISTORY_RUNS ?? 1) },
    )
    expect(told).toBeGreaterThan(0)
  })
})

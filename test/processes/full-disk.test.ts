import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CatalogError, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { smallDisk } from '../contents/small-disk.ts'
import { limitEach } from '../support/time-limit.ts'
import { columns } from './crash-work.ts'
import { FullDiskRun } from './full-disk-run.ts'

// Many writers fill a small disk.
limitEach(60)

const disk = smallDisk(24 * 2 ** 20)

describe.skipIf('reason' in disk)(
  `a catalog on a full disk${'reason' in disk ? ` (skipped: ${disk.reason})` : ''}`,
  () => {
    const path = 'path' in disk ? disk.path : ''
    let catalog: LocalCatalog

    beforeAll(async () => {
      catalog = await openCatalog(path)
      for (const name of ['big', 'other']) {
        await catalog.createTable({ id: [name], data: rows(0, 10), schema: columns })
      }
    })

    afterAll(async () => {
      await catalog?.close()
      if ('unmount' in disk) disk.unmount()
    })

    test('refuses with a clear error, keeps what it has, and goes on once there is room', async () => {
      const inserted = { big: 10, other: 10 }

      /** Fills the disk with rows until no more fit, then with fewer rows at a time. */
      async function fill(): Promise<CatalogError[]> {
        const errors: CatalogError[] = []
        for (const size of [2_000, 200, 20, 1]) {
          const name = size === 1 ? 'other' : 'big'
          for (;;) {
            try {
              await catalog.insertIntoTable({ id: [name], data: rows(inserted[name], size), schema: columns })
              inserted[name] += size
            } catch (error) {
              errors.push(error as CatalogError)
              break
            }
          }
        }
        return errors
      }

      for (const error of await fill()) {
        expect(error).toBeInstanceOf(CatalogError)
        expect(error).toMatchObject({ code: 'ServiceUnavailable', message: expect.stringMatching(/full/) })
        expect(error.cause).toBeDefined()
      }
      expect(inserted.big).toBeGreaterThan(2_000)

      // A commit of many records does not fit either, and leaves no partial state.
      const large = catalog.transaction(async (tx) => {
        const properties = { note: 'x'.repeat(50_000) }
        for (let i = 0; i < 200; i++) await tx.declareTable({ id: [`declared${i}`], properties })
      })
      await expect(large).rejects.toMatchObject({
        code: 'ServiceUnavailable',
        message: expect.stringMatching(/full/),
      })
      expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual(['big', 'other'])

      // All acknowledged rows are there, for this process and after a new open.
      await checkCounts(catalog, inserted)
      await catalog.close()
      catalog = await openCatalog(path)
      await checkCounts(catalog, inserted)

      await catalog.dropTable({ id: ['big'] })
      await catalog.vacuum({ graceMillis: 0 })
      await catalog.insertIntoTable({ id: ['other'], data: rows(inserted.other, 2_000), schema: columns })
      inserted.other += 2_000
      await checkCounts(catalog, { other: inserted.other })
      await catalog.createTable({ id: ['big'], data: rows(0, 10), schema: columns })
    })

    test('refuses many writers at once, in process and over HTTP, and goes on once there is room', async () => {
      const run = (await FullDiskRun.begin())!
      try {
        for (const kilobytes of [20, 0, 60, 150, 20]) await run.round(kilobytes * 1024)
      } finally {
        await run.end()
      }
      expect(run.counts.refused).toBeGreaterThan(100)
    })
  },
)

/** Rows of about 260 bytes each, numbered from `first`. */
function rows(first: number, count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const id = first + i
    return { id, note: `${id}:`.repeat(256 / `${id}:`.length) }
  })
}

async function checkCounts(catalog: LocalCatalog, counts: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, count] of Object.entries(counts)) {
    expect(await catalog.countTableRows({ id: [name] })).toEqual({ count })
    const predicate = `id >= 0 AND id < ${count} AND note LIKE '%:'`
    expect(await catalog.countTableRows({ id: [name], predicate })).toEqual({ count })
  }
}

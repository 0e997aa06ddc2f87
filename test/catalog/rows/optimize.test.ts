import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, CatalogError, openCatalog, type Progress } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, eachLocalCatalog, freshFolder } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathsOf } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { fails } from '../../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

/** A table of so many fragments, three rows each: version 1 has the first of them. */
async function pieces(catalog: Catalog, count: number): Promise<void> {
  await catalog.createTable({ id, data: numbered(3) })
  for (let i = 1; i < count; i++) await catalog.insertIntoTable({ id, data: numbered(3, 3 * i) })
}

async function fragmentsOf(catalog: Catalog): Promise<number> {
  const { stats } = await catalog.describeTable({ id, load_detailed_metadata: true })
  return stats!.num_fragments
}

eachCatalog((open) => {
  describe('optimizeTable', () => {
    it('merges fragments into the next version and says what it did; all that was before stays', async () => {
      const catalog = await open()
      await pieces(catalog, 5)
      await catalog.deleteFromTable({ id, predicate: 'n = 4' })
      await catalog.createTableTag({ id, tag: 'five', version: 5 })
      await catalog.createTableBranch({ id, name: 'dev', from_version: 3 })
      const left = numbered(15).filter(({ n }) => n !== 4)
      const old = await Promise.all([1, 5, 6].map((version) => catalog.queryTable({ id, version })))
      const answer = await catalog.optimizeTable({ id })
      expect(answer).toEqual({
        optimized: true,
        version: 7,
        rows: 14,
        rewritten_rows: 14,
        fragments_before: 5,
        fragments_after: 1,
        bytes_before: expect.any(Number),
        bytes_after: expect.any(Number),
        repaired_index_files: 0,
        transaction_id: expect.any(String),
      })
      expect(answer.bytes_after).toBeLessThan(answer.bytes_before)
      expect(await rowsOf(catalog, id)).toEqual(left)
      expect(await countOf(catalog, id, { predicate: 'n >= 4' })).toBe(10)
      const now = await Promise.all([1, 5, 6].map((version) => catalog.queryTable({ id, version })))
      for (const [i, { data }] of now.entries()) expect(Buffer.compare(data, old[i]!.data)).toBe(0)
      expect(await catalog.getTableTagVersion({ id, tag: 'five' })).toMatchObject({ version: 5 })
      expect(await rowsOf(catalog, id, { branch: 'dev' })).toEqual(numbered(9))
      expect(await catalog.describeTransaction({ id: [answer.transaction_id!] })).toMatchObject({
        status: 'Succeeded',
        properties: { operation: 'OptimizeTable' },
      })
    })

    it('makes no version and no transaction where there is nothing to do', async () => {
      const catalog = await open()
      await pieces(catalog, 3)
      await catalog.optimizeTable({ id })
      const before = await catalog.listTableVersions({ id })
      expect(await catalog.optimizeTable({ id })).toEqual({
        optimized: false,
        version: 4,
        rows: 9,
        rewritten_rows: 0,
        fragments_before: 1,
        fragments_after: 1,
        bytes_before: expect.any(Number),
        bytes_after: expect.any(Number),
        repaired_index_files: 0,
      })
      expect(await catalog.listTableVersions({ id })).toEqual(before)
    })

    it('works on the branch it is told, and on that one only', async () => {
      const catalog = await open()
      await pieces(catalog, 3)
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.insertIntoTable({ id, branch: 'dev', data: numbered(1, 9) })
      expect(await catalog.optimizeTable({ id, branch: 'dev' })).toMatchObject({
        optimized: true,
        version: 5,
        fragments_before: 4,
        fragments_after: 1,
      })
      expect(await fragmentsOf(catalog)).toBe(3)
      expect(await rowsOf(catalog, id, { branch: 'dev' })).toEqual(numbered(10))
    })

    it('cuts at the rows it is given, and minds deleted rows from the share it is given', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(60) })
      for (let i = 1; i < 5; i++) await catalog.insertIntoTable({ id, data: numbered(60, 60 * i) })
      expect(await catalog.optimizeTable({ id, target_rows: 120 })).toMatchObject({ fragments_after: 3 })
      expect(await catalog.optimizeTable({ id, target_rows: 120 })).toMatchObject({ optimized: false })
      await catalog.deleteFromTable({ id, predicate: 'n = 7' })
      expect(await catalog.optimizeTable({ id, target_rows: 64 })).toMatchObject({ optimized: false })
      const share = { target_rows: 64, min_deleted_share: 0 }
      expect(await catalog.optimizeTable({ id, ...share })).toMatchObject({ rewritten_rows: 119 })
      expect(await countOf(catalog, id)).toBe(299)
    })

    it('takes in what others insert and delete at the same time', async () => {
      const catalog = await open()
      await pieces(catalog, 12)
      const others = Array.from({ length: 8 }, (_, i) => [
        catalog.insertIntoTable({ id, data: numbered(1, 100 + i) }),
        catalog.deleteFromTable({ id, predicate: `n = ${i * 4}` }),
      ]).flat()
      await Promise.all([catalog.optimizeTable({ id }), ...others, catalog.optimizeTable({ id })])
      const left = numbered(36).filter(({ n }) => (n as number) % 4 !== 0 || (n as number) >= 32)
      const rows = await rowsOf(catalog, id)
      expect(rows.slice(0, left.length)).toEqual(left)
      expect(
        rows
          .slice(left.length)
          .map(({ n }) => n as number)
          .sort(),
      ).toEqual(Array.from({ length: 8 }, (_, i) => 100 + i))
      expect(await fragmentsOf(catalog)).toBeLessThan(12)
    })

    it.each([
      [{ target_rows: 63 }, 'target_rows must be a whole number from 64'],
      [{ target_rows: 1e9 }, 'target_rows must be'],
      [{ target_bytes: 1.5 }, 'target_bytes must be a whole number from 65,536'],
      [{ min_deleted_share: 1.1 }, 'min_deleted_share must be a number from 0 to 1'],
    ])('refuses %j', async (request, message) => {
      const catalog = await open()
      await pieces(catalog, 2)
      await fails(catalog.optimizeTable({ id, ...request }), 'InvalidInput', message)
    })
  })
})

describe('a merge under way', () => {
  /** A table of six fragments whose merge has read the first of them, and reads on once `go` is called. */
  async function working() {
    const content = memoryContent()
    const { open: go, opened: mayGoOn } = gate()
    let reads = 0
    const { open: began, opened: begun } = gate()
    const catalog = closedAfterwards(
      await openCatalog({
        store: memoryStore(),
        content: contentWith(content, {
          async get(path, range) {
            // The merge is the first to read, and asks for all six at once.
            if (path.includes('/data/')) {
              reads++
              if (reads === 6) began()
              if (reads > 1 && reads <= 6) await mayGoOn
            }
            return content.get(path, range)
          },
        }),
      }),
    )
    await pieces(catalog, 6)
    const abort = new AbortController()
    const progress: Progress[] = []
    const done = catalog.optimizeTable(
      { id },
      { signal: abort.signal, onProgress: (at) => progress.push(at) },
    )
    done.catch(() => {})
    await begun
    return { catalog, done, go, abort, progress }
  }

  /** The transaction at work. */
  async function transactionOf(progress: readonly Progress[]): Promise<string> {
    await expect.poll(() => progress).not.toHaveLength(0)
    return progress[0]!.transaction_id!
  }

  it('tells how far it is', async () => {
    const { done, go, progress } = await working()
    go()
    const { transaction_id } = await done
    expect(progress).toEqual([
      { transaction_id, rows: 0, total: 0 },
      ...[3, 6, 9, 12, 15, 18].map((rows) => ({ transaction_id, rows, total: 18 })),
    ])
  })

  it('is a transaction that can be canceled', async () => {
    const { catalog, done, go, progress } = await working()
    const transaction = await transactionOf(progress)
    expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({ status: 'Running' })
    const { status } = await catalog.alterTransaction({
      id: [transaction],
      actions: [{ setStatusAction: { status: 'Canceled' } }],
    })
    expect(status).toBe('Canceled')
    go()
    await fails(done, 'ConcurrentModification', transaction, 'canceled')
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(6)
    expect(await rowsOf(catalog, id)).toEqual(numbered(18))
  })

  it('stops with its signal', async () => {
    const { catalog, done, go, abort } = await working()
    abort.abort(new Error('enough'))
    go()
    await expect(done).rejects.toThrow('enough')
    expect(await fragmentsOf(catalog)).toBe(6)
  })

  it('takes in rows that are inserted and deleted before it is done', async () => {
    const { catalog, done, go } = await working()
    await catalog.deleteFromTable({ id, predicate: 'n = 4 OR n BETWEEN 9 AND 11' })
    await catalog.insertIntoTable({ id, data: numbered(3, 18) })
    go()
    expect(await done).toMatchObject({
      optimized: true,
      version: 9,
      rows: 17,
      rewritten_rows: 14,
      fragments_before: 6,
      fragments_after: 2,
    })
    const left = numbered(21).filter(({ n }) => ![4, 9, 10, 11].includes(n as number))
    expect(await rowsOf(catalog, id)).toEqual(left)
    expect(await rowsOf(catalog, id, { version: 7 })).toEqual(left.slice(0, 14))
  })

  it('does not bring back what was deleted, nor lose what a restore brought back', async () => {
    const { catalog, done, go } = await working()
    await catalog.restoreTable({ id, version: 2 })
    await catalog.insertIntoTable({ id, data: numbered(3, 30) })
    go()
    expect(await done).toMatchObject({ optimized: false, version: 8, rows: 9 })
    expect(await rowsOf(catalog, id)).toEqual([...numbered(6), ...numbered(3, 30)])
  })

  it('has nothing to do any more when all rows were replaced', async () => {
    const { catalog, done, go } = await working()
    await catalog.insertIntoTable({ id, data: [{ other: 1 }], mode: 'Overwrite' })
    go()
    expect(await done).toMatchObject({ optimized: false, version: 7, rows: 1, fragments_before: 1 })
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(7)
  })

  it('fails when its table is dropped', async () => {
    const { catalog, done, go } = await working()
    await catalog.dropTable({ id })
    go()
    await fails(done, 'TableNotFound', 'no table t')
  })
})

eachLocalCatalog((open) => {
  describe('the option optimize', () => {
    it('merges in the background as a table grows, and loses nothing', async () => {
      const onError = vi.fn()
      const catalog = await open({ optimize: { every: 4 }, onError, concurrency: 1 })
      await pieces(catalog, 24)
      await expect.poll(() => fragmentsOf(catalog)).toBeLessThan(16)
      await Promise.all([
        ...Array.from({ length: 10 }, (_, i) => catalog.insertIntoTable({ id, data: numbered(1, 72 + i) })),
        catalog.deleteFromTable({ id, predicate: 'n < 10' }),
      ])
      expect(await countOf(catalog, id)).toBe(72)
      const rows = (await rowsOf(catalog, id)).map(({ n }) => n as number)
      expect(rows.sort((a, b) => a - b)).toEqual(Array.from({ length: 72 }, (_, i) => i + 10))
      expect(onError).not.toHaveBeenCalled()
    })

    it('refuses what it cannot mean', async () => {
      await fails(open({ optimize: { every: 1 } }), 'InvalidInput', 'optimize.every is 1')
    })
  })
})

it('a catalog does not optimize by itself unless it is told to', async () => {
  await using catalog = await openCatalog('memory:')
  await pieces(catalog, 6)
  // Nothing may happen meanwhile. Optimizing begins right after an insert.
  await sleep(20)
  expect(await fragmentsOf(catalog)).toBe(6)
})

describe('closing a catalog that optimizes in the background', () => {
  it('stops that, and the next one finds all rows', async () => {
    const folder = await freshFolder()
    for (let run = 0; run < 5; run++) {
      const catalog = await openCatalog(folder, { optimize: { every: 4 } })
      if (run === 0) await pieces(catalog, 4)
      else await catalog.insertIntoTable({ id, data: numbered(3) })
      while (((await catalog.describeTable({ id })).version ?? 0) % 4 !== 0) {
        await catalog.insertIntoTable({ id, data: numbered(3) })
      }
      // Closes at once, or in the middle of the work in the background.
      if (run % 2 === 0) await sleep(10)
      await catalog.close()
    }
    await using catalog = await openCatalog(folder)
    const { versions } = await catalog.listTableVersions({ id })
    for (const { version } of versions) await rowsOf(catalog, id, { version })
    expect((await countOf(catalog, id)) % 3).toBe(0)
  })
})

eachContent((open) => {
  it('errors of work in the background are told', async () => {
    const onError = vi.fn()
    const { catalog, content } = await open({ optimize: { every: 4 }, onError, cacheBytes: 0 })
    await pieces(catalog, 3)
    const [lost] = (await pathsOf(content)).filter((path) => path.includes('/data/'))
    await content.remove(lost!)
    await catalog.insertIntoTable({ id, data: numbered(3) })
    await expect.poll(() => onError.mock.calls).toHaveLength(1)
    const [error] = onError.mock.calls[0]!
    expect(error).toBeInstanceOf(CatalogError)
    expect(error.message).toContain(lost)
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(4)
  })

  it('an onError that throws stops neither the process nor later work', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const onError = vi.fn(() => {
      throw new Error('the listener is broken')
    })
    const { catalog, content } = await open({ optimize: { every: 4 }, onError, cacheBytes: 0 })
    await pieces(catalog, 3)
    const [lost] = (await pathsOf(content)).filter((path) => path.includes('/data/'))
    await content.remove(lost!)
    for (let n = 1; n <= 2; n++) {
      for (let i = 0; i < 4; i++) await catalog.insertIntoTable({ id, data: numbered(3) })
      await expect.poll(() => onError.mock.calls).toHaveLength(n)
    }
    expect(warned).toHaveBeenCalledWith(expect.objectContaining({ message: 'the listener is broken' }))
  })

  it('a vacuum frees what was merged once its versions are gone, and nothing before', async () => {
    const { catalog, content } = await open()
    await pieces(catalog, 6)
    await catalog.createTableTag({ id, tag: 'two', version: 2 })
    await catalog.optimizeTable({ id })
    expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
    await catalog.batchDeleteTableVersions({
      id,
      ranges: [
        { start_version: 1, end_version: 2 },
        { start_version: 3, end_version: 7 },
      ],
    })
    await catalog.vacuum({ graceMillis: 0 })
    const data = (await pathsOf(content)).filter((path) => path.includes('/data/'))
    // Two that the tag needs, and the merged one.
    expect(data).toHaveLength(3)
    expect(await rowsOf(catalog, id)).toEqual(numbered(18))
    expect(await rowsOf(catalog, id, { version: 2 })).toEqual(numbered(6))
  })
})

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tableFromIPC } from '@uwdata/flechette'
import { describe, expect, onTestFinished } from 'vitest'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type CatalogOptions, openCatalog } from '../../../src/tabularium/index.ts'
import { Child } from '../../processes/child-process.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { childrenOf, runs } from '../../support/child-processes.ts'
import { contentWith } from '../../support/contents.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* The process that runs Lance for a catalog: what its end means for requests, and that none is left behind. */

const id = ['t']
/** Changes of each writer beside kills. */
const turns = Number(process.env.TURNS ?? 4)
const isolated = (options: Partial<NonNullable<CatalogOptions['lance']>> = {}) => ({
  format: 'lance' as const,
  lance: { isolate: true, ...options },
})
const opened = async (options: CatalogOptions = isolated()) =>
  closedAfterwards(await openCatalog(join(await freshFolder(), 'catalog'), options))

/** The file that such a process runs. */
const named = 'lance/isolated/child'

/** The processes of Lance of all catalogs of this process. */
const processes = () => childrenOf(process.pid, named)

/** What this process has open. */
const handles = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process|TCP/.test(name))

/** What is open besides. Connections of earlier tests may still end meanwhile. */
function openBeside(before: readonly string[]): string[] {
  const left = [...before]
  return handles().filter((name) => {
    const at = left.indexOf(name)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function killAll(): number[] {
  const found = processes()
  for (const pid of found) process.kill(pid, 'SIGKILL')
  return found
}

describe('the process of Lance', () => {
  lanceIt('whenever it is killed, acknowledged changes are there once, and all others go on', async () => {
    const catalog = await opened()
    await catalog.createTable({ id, data: [{ n: -1, by: 0 }] })
    let isOver = false
    let done = 0
    const kills = (async () => {
      let count = 0
      while (!isOver) {
        const from = done
        const wanted = 1 + Math.floor(Math.random() * 12)
        while (done < from + wanted && !isOver) await sleep(1)
        await sleep(Math.random() * 20)
        count += killAll().length
      }
      return count
    })()
    /** Rows that must be there, by their number, with what they hold. */
    const model = new Map<number, number>([[-1, 0]])
    const isDone = async (change: () => Promise<unknown>): Promise<boolean> => {
      try {
        await change()
      } catch (error) {
        const { message } = error as Error
        // Only its count is lost, or it was killed once more when it was tried again.
        expect(message).toMatch(/^The change is made: it is version|Nothing was changed\./)
        return message.startsWith('The change is made')
      } finally {
        done++
      }
      return true
    }
    const writer = async (from: number) => {
      for (let n = from; n < from + turns; n++) {
        if (!(await isDone(() => catalog.insertIntoTable({ id, data: [{ n, by: 0 }] })))) continue
        model.set(n, 0)
        const updates: [string, string][] = [['by', 'by + 1']]
        if (await isDone(() => catalog.updateTable({ id, predicate: `n = ${n}`, updates }))) model.set(n, 1)
      }
    }
    const reader = async () => {
      while (!isOver) {
        const count = await countOf(catalog, id).catch(({ message }) => message)
        if (!/ended twice/.test(String(count))) expect(count).toEqual(expect.any(Number))
      }
    }
    const reading = reader()
    reading.catch(() => {})
    await Promise.all([0, 10_000, 20_000].map(writer)).finally(() => {
      isOver = true
    })
    const killed = await kills
    expect(killed).toBeGreaterThan(0)
    await reading
    // The last kill may have left no process: this starts one.
    const found = (await rowsOf(catalog, id)).map(({ n, by }): [number, number] => [Number(n), Number(by)])
    const memory = async () => {
      await countOf(catalog, id)
      return (await catalog.metrics()).lance!.memoryBytes
    }
    await expect.poll(memory).toBeGreaterThan(1e7)
    const { ended } = (await catalog.metrics()).lance!
    expect(ended).toEqual({ time: 0, memory: 0, abandoned: 0, crash: expect.any(Number) })
    // One that was killed while it ended anyway does not count.
    expect([ended.crash > 0, ended.crash <= killed]).toEqual([true, true])
    expect(found.sort(([a], [b]) => a - b)).toEqual([...model].sort(([a], [b]) => a - b))
    expect(await catalog.verify()).toMatchObject({ ok: true })
  })

  lanceIt('a change whose process ends after its record is made, and the answer says so', async () => {
    const folder = await freshFolder()
    const real = fileContent(folder)
    let kills = false
    const shared = {
      ...real.shared!,
      names: (prefix: string) => real.shared!.names(prefix),
      sync: (path: string) => real.shared!.sync(path),
      replace: (path: string, bytes: Uint8Array) => real.shared!.replace(path, bytes),
      // The manifest of a version is linked once the version is recorded.
      link: (from: string, to: string) => {
        if (kills) killAll()
        return real.shared!.link(from, to)
      },
    }
    const catalog = closedAfterwards(
      await openCatalog({
        store: memoryStore(),
        root: `file://${folder}`,
        content: contentWith(real, { shared }),
        ...isolated(),
      }),
    )
    await catalog.createTable({ id, data: [{ n: 1 }, { n: 2 }] })
    kills = true
    expect(await catalog.insertIntoTable({ id, data: [{ n: 3 }] })).toMatchObject({ version: 2 })
    await expect(catalog.updateTable({ id, updates: [['n', 'n + 10']] })).rejects.toMatchObject({
      code: 'Internal',
      message: expect.stringMatching(
        /^The change is made: it is version 3, .* Do not send the change again\.$/,
      ),
    })
    await catalog.createTable({ id: ['other'], data: [{ n: 1 }] })
    kills = false
    expect((await rowsOf(catalog, id)).map(({ n }) => Number(n)).sort()).toEqual([11, 12, 13])
    expect(await countOf(catalog, ['other'])).toBe(1)
  })

  lanceIt('work that takes too much time is ended, and no other request notices', async () => {
    // Far more than a busy machine needs for what takes no time.
    const catalog = await opened(isolated({ callMillis: 6_000 }))
    const data = Array.from({ length: 400 }, (_, n) => ({ n, text: 'a'.repeat(2_000) }))
    await catalog.createTable({ id, data })
    // The distance of each pair takes 400 million steps.
    const slow = "levenshtein(repeat(text, 10), repeat(concat(text, 'b'), 10)) < 9"
    const asked = [
      countOf(catalog, id, { predicate: slow }),
      countOf(catalog, id, { predicate: 'n < 7' }),
    ] as const
    await expect(asked[0]).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('lance.callMillis'),
    })
    expect(await asked[1]).toBe(7)
    expect(await countOf(catalog, id, { predicate: 'n < 9' })).toBe(9)
    expect((await catalog.metrics()).lance?.ended).toEqual({ time: 1, memory: 0, abandoned: 0, crash: 0 })
  })

  lanceIt('work that takes too much memory is ended', async () => {
    const catalog = await opened(isolated({ memoryBytes: 300 * 1024 * 1024 }))
    const data = Array.from({ length: 400 }, (_, n) => ({ n, text: 'a'.repeat(2_000) }))
    await catalog.createTable({ id, data })
    const large = 'length(repeat(text, 1000)) + length(repeat(text, 1001)) > 5'
    const asked = [
      countOf(catalog, id, { predicate: large }),
      countOf(catalog, id, { predicate: 'n < 7' }),
    ] as const
    await expect(asked[0]).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('lance.memoryBytes'),
    })
    expect(await asked[1]).toBe(7)
    expect((await catalog.metrics()).lance?.ended).toMatchObject({ time: 0, crash: 0 })
    expect((await catalog.metrics()).lance?.ended.memory).toBeGreaterThan(0)
  })

  lanceIt(
    'it starts with the first request, ends when it is idle or the catalog is closed, and leaves nothing',
    async () => {
      const before = handles()
      const catalog = await openCatalog(join(await freshFolder(), 'catalog'), isolated({ idleMillis: 300 }))
      expect(processes()).toEqual([])
      await catalog.createTable({ id, data: [{ n: 1 }] })
      const [first] = processes()
      await expect.poll(processes).toEqual([])
      expect(await countOf(catalog, id)).toBe(1)
      const [second, ...others] = processes()
      expect([second !== first, others]).toEqual([true, []])
      const stopped = AbortSignal.timeout(5)
      await catalog
        .countTableRows({ id, predicate: "regexp_like(cast(n as string), 'x')" }, { signal: stopped })
        .catch(() => {})
      await catalog.close()
      expect(runs(second!)).toBe(false)
      await expect.poll(() => openBeside(before)).toEqual([])
    },
  )

  lanceIt('it ends with a catalog that is killed', async () => {
    const directory = join(await freshFolder(), 'catalog')
    const owner = new Child('test/catalog/lance/kills-child.ts', [directory, 'a', 'isolated'])
    onTestFinished(() => owner.stop())
    await owner.said('ready')
    const [found] = childrenOf(owner.pid, named)
    expect(runs(found!)).toBe(true)
    await owner.kill()
    await expect.poll(() => runs(found!)).toBe(false)
  })

  lanceIt('differences of rows are the same, whenever it is killed', async () => {
    const catalog = await opened()
    const rows = (from: number) =>
      Array.from({ length: 10_000 }, (_, i) => ({ n: from + i, text: `row ${i}` }))
    await catalog.createTable({ id, data: rows(0) })
    await catalog.insertIntoTable({ id, data: rows(10_000) })
    await catalog.deleteFromTable({ id, predicate: 'n % 7 = 0' })
    const read = async () => {
      const { data } = await catalog.tableChanges({ id, from: 1, to: 3 })
      const rows = tableFromIPC(data).toArray()
      return rows.map(({ n, _change_type }) => `${_change_type} ${n}`).join()
    }
    const expected = await read()
    expect(expected.split(',').length).toBeGreaterThan(8_000)
    let killed = 0
    for (let turn = 0; turn < 3; turn++) {
      // A read that finds the process dead has another one, which must not be killed as well.
      await countOf(catalog, id)
      const found = read()
      await sleep(Math.random() * 40)
      killed += killAll().length
      expect((await found) === expected).toBe(true)
    }
    expect(killed).toBeGreaterThan(0)
  })

  lanceIt(
    'where too many files are open to start it, a request is told so, and the catalog goes on',
    async () => {
      const counts = new Child('test/catalog/lance/few-files-child.ts', [
        join(await freshFolder(), 'catalog'),
      ])
      await counts.ended()
      expect(counts.lines.slice(0, -1)).toHaveLength(10)
      for (const line of counts.lines.slice(0, -1)) {
        expect(line).toMatch(/^[0-9]: (?:counted 1|ServiceUnavailable)$/)
      }
      const told = counts.lines.join()
      expect(told).toContain('counted')
      expect(told).toContain('ServiceUnavailable')
      expect(counts.lines.at(-1)).toBe('at last: 2')
    },
  )

  lanceIt('it ends at once where a dataset is still opened for a request that was canceled', async () => {
    const folder = await freshFolder()
    const real = fileContent(folder)
    let isSlow = false
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const content = contentWith(real, {
      shared: real.shared!,
      get: (path, range) => {
        if (!isSlow || !path.endsWith('.manifest') || range !== undefined) return real.get(path, range)
        asked()
        return new Promise(() => {})
      },
    })
    const catalog = closedAfterwards(
      await openCatalog({ store: memoryStore(), root: `file://${folder}`, content, ...isolated() }),
    )
    await catalog.createTable({ id, data: [{ n: 1 }] })
    await countOf(catalog, id)
    await catalog.insertIntoTable({ id, data: [{ n: 2 }] })
    isSlow = true
    const cancel = new AbortController()
    const refused = expect(catalog.queryTable({ id }, { signal: cancel.signal })).rejects.toThrow('enough')
    await isAsked
    cancel.abort(new Error('enough'))
    await refused
    const began = performance.now()
    await catalog.close()
    // Work that goes on is ended after 30 seconds.
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(processes()).toEqual([])
  })

  lanceIt('options that do not fit are refused', async () => {
    const wrong: [object, string][] = [
      [{ isolated: true }, 'lance has no option isolated'],
      [{ isolate: 'yes' }, 'Give true or false'],
      [{ isolate: true, memoryBytes: 1 }, 'memoryBytes must be a whole number from'],
      [{ isolate: true, callMillis: 0 }, 'callMillis'],
      [{ isolate: true, idleMillis: Number.POSITIVE_INFINITY }, 'idleMillis'],
      [{ callMillis: 10 }, 'Add isolate: true'],
    ]
    for (const [lance, message] of wrong) {
      const folder = join(await freshFolder(), 'catalog')
      await expect(openCatalog(folder, { lance } as CatalogOptions)).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringContaining(message),
      })
    }
  })
})

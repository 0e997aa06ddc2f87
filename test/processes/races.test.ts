import { rm } from 'node:fs/promises'
import { tableFromIPC } from '@uwdata/flechette'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'
import { columns } from './crash-work.ts'
import { balls, type Report, seats, sizes } from './race-work.ts'

// The processes race before the first test.
limitEach(120)

const processes = ['p0', 'p1', 'p2', 'p3']
const initialSeats = seats.slice(0, 3)

describe('several processes on one catalog', () => {
  let directory: string
  let catalog: LocalCatalog
  let children: Child[] = []
  let reports: Report[]

  beforeAll(async () => {
    directory = await temporaryDirectory()
    catalog = await openCatalog(directory)
    for (const id of [['seats'], ['few']]) await catalog.createNamespace({ id })
    for (const name of initialSeats) await catalog.declareTable({ id: ['seats', name] })
    for (const id of [['left'], ['right']]) await catalog.declareTable({ id })
    await catalog.createTable({ id: ['rows'], data: [], schema: columns })

    children = processes.map((me) => new Child('test/processes/race-child.ts', [directory, me]))
    for (const child of children) await child.said('ready')
    for (const child of children) child.write('go\n')
    for (const child of children) await child.ended()
    reports = children.map(({ lines }) => JSON.parse(lines.at(-1)!) as Report)
  })

  afterAll(async () => {
    for (const child of children) child.stop()
    await catalog?.close()
    await rm(directory, { recursive: true, force: true })
  })

  test('met each other', () => {
    for (const { refused } of reports) {
      expect(refused.TableAlreadyExists).toBeGreaterThan(0)
      expect(refused.TableNotFound).toBeGreaterThan(0)
    }
    expect(reports.some(({ refused }) => (refused.ConcurrentModification ?? 0) > 0)).toBe(true)
  })

  test('every contested create has exactly one winner', async () => {
    const won = reports.flatMap((report) => report.won).sort()
    expect(won).toEqual(Array.from({ length: sizes.creates }, (_, n) => `c${n}`).sort())
    const withRows = reports.flatMap((report) => report.wonWithRows).sort()
    expect(withRows).toEqual(Array.from({ length: sizes.createsWithRows }, (_, n) => `r${n}`).sort())
    for (const [i, me] of processes.entries()) {
      const [first] = reports[i]!.won
      if (first)
        expect(await catalog.describeTable({ id: [first] })).toMatchObject({ properties: { by: me } })
      for (const name of reports[i]!.wonWithRows) {
        expect(await catalog.countTableRows({ id: [name], predicate: `note = '${me}'` })).toEqual({
          count: 1,
        })
      }
    }
  })

  test('names are taken by one table at a time, and none is lost', async () => {
    const { tables } = await catalog.listAllTables({ limit: 10_000 })
    expect(new Set(tables).size).toBe(tables.length)
    const names = [...seats.map((name) => `seats$${name}`), ...balls.map((name) => `few$${name}`)]
    for (const name of names) {
      const initial = initialSeats.includes(name.replace('seats$', '')) ? 1 : 0
      const came = reports.reduce((sum, { arrivals }) => sum + (arrivals[name] ?? 0), initial)
      const went = reports.reduce((sum, { departures }) => sum + (departures[name] ?? 0), 0)
      expect(came - went, name).toBe(tables.includes(name) ? 1 : 0)
    }
    expect(tables.filter((name) => name.startsWith('seats$'))).toHaveLength(initialSeats.length)
  })

  test('versions are contiguous, each of one batch, and the same on both tables', async () => {
    const committed = reports.flatMap(({ commits }) => commits)
    const lists = await Promise.all(
      ['left', 'right'].map((name) => catalog.listTableVersions({ id: [name], limit: 10_000 })),
    )
    for (const { versions } of lists) {
      expect(versions.map(({ version }) => version)).toEqual(committed.map((_, i) => i + 1))
      expect(versions.map(({ metadata }) => metadata?.batch).sort()).toEqual(committed.toSorted())
    }
    const order = lists.map(({ versions }) => versions.map(({ manifest_path }) => manifest_path))
    expect(order[0]).toEqual(order[1])
    for (const { commits } of reports) {
      expect(order[0]!.filter((batch) => commits.includes(batch))).toEqual(commits)
    }
  })

  test('every row that was inserted, and not deleted, is there once', async () => {
    const inserted = reports.flatMap((report) => report.inserted)
    const deleted = new Set(reports.flatMap((report) => report.deleted))
    expect(inserted).toHaveLength(processes.length * sizes.inserts)
    const { data } = await catalog.queryTable({ id: ['rows'] })
    const notes = (tableFromIPC(data).toArray() as { note: string }[]).map(({ note }) => note)
    expect(notes.sort()).toEqual(inserted.filter((note) => !deleted.has(note)).sort())

    const { versions } = await catalog.listTableVersions({ id: ['rows'], limit: 10_000 })
    const merged = reports.flatMap((report) => report.merged)
    expect(merged.length).toBeGreaterThan(0)
    const changes = inserted.length + deleted.size + merged.length
    expect(versions.map(({ version }) => version)).toEqual(
      Array.from({ length: changes + 1 }, (_, i) => i + 1),
    )
  })
})

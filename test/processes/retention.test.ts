import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'

// Processes are started and killed many times.
limitEach(240)

const kills = 10 * Number(process.env.HISTORY_RUNS ?? 1)
const id = ['t']

/** Reads each version that is there: version n has n rows. Returns their numbers, by branch. */
async function found(catalog: LocalCatalog): Promise<Map<string, number[]>> {
  const branches = ['']
  for await (const { name } of catalog.branches({ id })) branches.push(name)
  const found = new Map<string, number[]>()
  for (const branch of branches) {
    const numbers: number[] = []
    for await (const { version } of catalog.versions({ id, branch })) {
      expect((await catalog.countTableRows({ id, branch, version, predicate: 'x > 0' })).count).toBe(version)
      numbers.push(version)
    }
    found.set(branch, numbers)
  }
  return found
}

test(`after ${kills} kills in the middle of removals, all versions that must stay can be read`, async () => {
  const directory = await temporaryDirectory()
  const children = new Set<Child>()
  onTestFinished(async () => {
    for (const child of children) child.stop()
    await rm(directory, { recursive: true, force: true })
  })
  {
    await using catalog = await openCatalog(directory)
    await catalog.createTable({ id, data: [{ x: 1 }] })
  }
  let latest = 1
  const named = new Map<string, number>()
  const done: Record<string, number> = {}
  for (let n = 0; n < kills; n++) {
    const child = new Child('test/processes/retention-child.ts', [directory, 'steps', String(n + 1)])
    const vacuum = new Child('test/processes/retention-child.ts', [directory, 'vacuum', ''])
    for (const one of [child, vacuum]) children.add(one)
    await child.wrote(20 + ((n * 13) % 40))
    // Later by a part of a step each time.
    await new Promise((resolve) => setTimeout(resolve, (n * 3) % 17))
    await Promise.all([child.kill(), vacuum.kill()])
    for (const line of child.lines.slice(1)) {
      const [word, step, name, version] = line.split(' ') as [string, string, string, string]
      if (word !== 'did') continue
      done[step] = (done[step] ?? 0) + 1
      if (step === 'insert') latest++
      if (step === 'tag' || step === 'branch') named.set(name, Number(version))
    }
    await using catalog = await openCatalog(directory)
    const now = await found(catalog)
    const main = now.get('')!
    // The last insert may have been committed before its answer was written.
    expect([latest, latest + 1]).toContain(Math.max(...main))
    latest = Math.max(...main)
    for (const version of named.values()) expect(main).toContain(version)
    for (const newest of [latest, latest - 1, latest - 2]) if (newest > 0) expect(main).toContain(newest)
    const { findings } = await catalog.verify()
    expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([])
  }
  for (const step of ['insert', 'tag', 'branch', 'transaction']) expect(done[step]).toBeGreaterThan(0)

  // Pins of killed processes hold nothing for longer than their lease, and nothing else is left.
  const later = Date.now() + 7_200_000
  await using catalog = await openCatalog(directory, { retention: { versions: 3 }, now: () => later })
  await catalog.vacuum({ graceMillis: 0 })
  await catalog.vacuum({ graceMillis: 0 })
  const kept = new Set([latest, latest - 1, latest - 2])
  for await (const { version } of catalog.tags({ id })) kept.add(version)
  for await (const { parentVersion } of catalog.branches({ id })) kept.add(parentVersion)
  expect((await found(catalog)).get('')!.sort((a, b) => a - b)).toEqual([...kept].sort((a, b) => a - b))
  expect(await catalog.vacuum({ graceMillis: 0, dryRun: true })).toMatchObject({ versions: 0, removed: 0 })
  const { findings } = await catalog.verify()
  expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([])
})

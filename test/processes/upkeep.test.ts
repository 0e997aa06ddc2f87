import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CatalogError,
  type LocalCatalog,
  openCatalog,
  restoreCatalog,
  verifyCatalog,
} from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { inspect } from '../support/inspect.ts'
import { Child } from './child-process.ts'

/** How often each kind of upkeep runs while the others write; more in long runs. */
const rounds = Number(process.env.TABULARIUM_UPKEEP_ROUNDS ?? 2)

describe('upkeep while other processes write', () => {
  let folder: string
  let directory: string
  let catalog: LocalCatalog
  let children: Child[] = []

  beforeAll(async () => {
    folder = await temporaryDirectory()
    directory = join(folder, 'catalog')
    catalog = await openCatalog(directory)
    for (const name of ['left', 'right']) await catalog.declareTable({ id: [name] })
    await catalog.createTable({ id: ['rows'], data: [{ n: -1, by: 'nobody' }] })
    children = ['p0', 'p1'].map((me) => new Child('test/processes/upkeep-child.ts', [directory, me]))
    for (const child of children) await child.said('ready')
    for (const child of children) child.write('go\n')
  })

  afterAll(async () => {
    for (const child of children) child.stop()
    await catalog?.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function checkCopy(path: string): Promise<void> {
    expect(await verifyCatalog(path)).toMatchObject({ ok: true, findings: [] })
    await using copy = await openCatalog(path)
    const [left, right] = await Promise.all(
      ['left', 'right'].map((name) => copy.listTableVersions({ id: [name], limit: 10_000 })),
    )
    const manifests = (list: typeof left) => list!.versions.map(({ manifest_path }) => manifest_path)
    expect(manifests(left)).toEqual(manifests(right))
  }

  test('backups are whole, vacuums take nothing that is needed, and a verification finds nothing', {
    timeout: 20_000 * rounds,
  }, async () => {
    for (let n = 0; n < rounds; n++) {
      const copy = join(folder, `copy${n}`)
      const [report, verified, vacuumed] = await Promise.all([
        catalog.backup(copy, { links: n % 2 === 1 }),
        catalog.verify(),
        catalog.vacuum({ graceMillis: 0 }).catch((error: unknown) => error),
      ])
      // A vacuum during the backup is postponed.
      if (vacuumed instanceof Error) {
        expect(vacuumed).toBeInstanceOf(CatalogError)
        expect(vacuumed.message).toContain('is copying the catalog')
      }
      expect(report.tables).toBeGreaterThan(2)
      expect(verified.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
      await checkCopy(copy)
      await catalog.vacuum({ graceMillis: 0 })
    }
    for (const child of children) child.write('stop\n')
    for (const child of children) await child.ended()
    for (const child of children) expect(Number(child.lines.at(-1))).toBeGreaterThan(0)
    expect(await catalog.verify()).toMatchObject({ ok: true })
  })

  test('what a backup held back is gone in the end', async () => {
    await catalog.vacuum({ graceMillis: 0 })
    const { examined } = await catalog.vacuum({ graceMillis: 0, dryRun: true })
    expect((await catalog.verify()).objects).toBe(examined)
  })

  test('a backup that is restored tells what the catalog told', async () => {
    const before = await inspect(catalog)
    await catalog.backup(join(folder, 'last'))
    await catalog.close()
    await restoreCatalog(join(folder, 'last'), directory, { replace: true })
    catalog = await openCatalog(directory)
    expect(await inspect(catalog)).toEqual(before)
    expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
  })
})

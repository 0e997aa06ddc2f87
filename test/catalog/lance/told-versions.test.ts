import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Content, SharedFiles } from '../../../src/base/content/content.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { limitEach } from '../../support/time-limit.ts'
import { manifestOf, uuidOf } from './manifests.ts'
import { type Dataset, declared, nameOf } from './support.ts'

// Each call of the content waits.
limitEach(120)

/*
 * The manifest of a version that callers are told of is there. Lance takes a version without a manifest for a dataset that
 * does not exist, and an append to it then replaces all rows.
 */

type Actor = 'lists' | 'only reads' | 'pages' | 'describes' | 'writes' | 'writes both' | 'is restarted'

const actors = fc.array(
  fc.constantFrom<Actor>(
    'lists',
    'only reads',
    'pages',
    'describes',
    'writes',
    'writes both',
    'is restarted',
  ),
  { minLength: 4, maxLength: 10 },
)

/** How long the calls of the content wait, in milliseconds, one after the other. */
const delays = fc.array(fc.constantFrom(0, 0, 1, 2, 5), { minLength: 10, maxLength: 50 })

/** A content whose calls wait first. */
function delayed(real: Content, wait: () => Promise<void>): Content {
  const own = real.shared!
  const shared: SharedFiles = {
    names: (prefix) => wait().then(() => own.names(prefix)),
    sync: (path) => wait().then(() => own.sync(path)),
    replace: (path, bytes) => wait().then(() => own.replace(path, bytes)),
    // A version is recorded, and its manifest has no name yet.
    link: (from, to) =>
      wait()
        .then(wait)
        .then(() => own.link(from, to)),
  }
  return contentWith(real, {
    shared,
    get: (path, range) => wait().then(() => real.get(path, range)),
    remove: (path) => wait().then(() => real.remove(path)),
  })
}

it('of each version that is told, the manifest is there, whoever writes meanwhile', async () => {
  let told = 0
  let during = 0
  await fc.assert(
    fc.asyncProperty(delays, actors, async (waits, drawn) => {
      const folder = await freshFolder()
      const real = fileContent(folder)
      let isRunning = false
      let call = 0
      const content = delayed(real, async () => {
        const millis = waits[call++ % waits.length]!
        if (isRunning && millis > 0) await sleep(millis)
      })
      const options = { store: memoryStore(), root: `file://${folder}`, managedVersioning: true, content }
      const open = async () => closedAfterwards(await openCatalog(options))
      const catalogs = await Promise.all([open(), open()])
      const readOnly = closedAfterwards(await openCatalog({ ...options, readOnly: true }))
      const datasets: Record<string, Dataset> = {}
      let transaction = 0
      const stage = async (name: string, version: number) =>
        datasets[name]!.stage(version, manifestOf(version, version - 1, uuidOf(transaction++), 'both'))
      for (const name of ['t', 'u']) {
        datasets[name] = await declared(catalogs[0], real, name)
        await catalogs[0].createTableVersion({ id: [name], ...(await stage(name, 1)) })
      }
      const next = async (name: string) => {
        const names = await real.shared!.names(`${datasets[name]!.prefix}_versions/`)
        return names.filter((one) => one.endsWith('.manifest')).length + 1
      }
      const write = async (catalog: Pick<LocalCatalog, 'createTableVersion'>, name: string) =>
        catalog.createTableVersion({ id: [name], ...(await stage(name, await next(name))) })
      let writing = 0
      const isThere = async (version: number) => {
        if (version > 1) told++
        if (writing > 0) during++
        const path = `${datasets.t!.prefix}_versions/${nameOf(version)}`
        expect([version, await real.get(path)]).toEqual([version, expect.anything()])
      }
      const works: Record<Actor, (catalog: LocalCatalog) => Promise<unknown>> = {
        // As Lance asks for the latest one.
        lists: async (catalog) => {
          const { versions } = await catalog.listTableVersions({ id: ['t'], descending: true, limit: 1 })
          expect(versions).toHaveLength(1)
          await isThere(versions[0]!.version)
        },
        pages: async (catalog) => {
          const { versions } = await catalog.listTableVersions({ id: ['t'] })
          for (const { version } of versions) await isThere(version)
        },
        describes: async (catalog) => {
          const version = await next('t')
          for (const one of [version - 1, version]) {
            const found = await catalog.describeTableVersion({ id: ['t'], version: one }).catch(() => {})
            if (found) await isThere(found.version.version)
          }
        },
        writes: (catalog) => write(catalog, 't'),
        'writes both': (catalog) =>
          catalog.transaction(async (tx) => {
            for (const name of ['t', 'u']) await write(tx, name)
          }),
        'only reads': () => works.lists(readOnly),
        'is restarted': async () => {
          await works.lists(await openCatalog(options))
        },
      }
      isRunning = true
      const work = drawn.map(async (actor, i) => {
        const catalog = catalogs[i % 2]!
        if (!actor.startsWith('writes')) return works[actor](catalog)
        writing++
        // Others may take the number first.
        await works[actor](catalog).catch(() => {})
        writing--
      })
      await Promise.all(work)
      isRunning = false
      for (const catalog of catalogs) await works.pages(catalog)
    }),
    { numRuns: 20 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
  expect(told).toBeGreaterThan(25)
  expect(during).toBeGreaterThan(10)
})

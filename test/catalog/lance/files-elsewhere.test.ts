import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, onTestFinished } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { CatalogError } from '../../../src/base/errors.ts'
import { manifestField } from '../../../src/catalog/lance/manifest-file.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { datasetAt, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { releases, requirePython } from './clients/python.ts'
import { baseAt, withDataFile, withFields } from './manifests.ts'
import { nameOf } from './support.ts'

limitEach(120)

/*
 * Manifests that name files in other folders: those of shallow clones, and those that somebody forged to read what only
 * the server can.
 */

const manifestName = `_versions/${nameOf(1)}`
const file = 'x.lance'

/** A folder of datasets whose data files have one name, so that each could stand for another. */
async function lake() {
  const folder = await freshFolder()
  const paths = {
    own: join(folder, 'lake/own.lance'),
    source: join(folder, 'lake/a source.lance'),
    loose: join(folder, 'lake/loose.lance'),
    secret: join(folder, 'elsewhere/secret.lance'),
  }
  for (const place of ['lake', 'elsewhere', 'a catalog']) await mkdir(join(folder, place))
  for (const [name, path] of Object.entries(paths)) {
    await datasetAt(path, [{ word: name }])
    const [written] = await readdir(join(path, 'data'))
    await cp(join(path, 'data', written!), join(path, 'data', file))
  }
  return { folder, ...paths }
}

type Lake = Awaited<ReturnType<typeof lake>>

/** Makes the manifest of a dataset name its files in another folder. */
async function forge(path: string, base: string, isDataset = true, name = file): Promise<void> {
  const manifest = await readFile(join(path, manifestName))
  const made = withFields(manifest, (fields) => [
    ...withDataFile(fields, name, 7n),
    baseAt(7n, base, isDataset),
  ])
  await writeFile(join(path, manifestName), made)
}

async function opened({ folder, own, source }: Lake, options: CatalogOptions): Promise<LocalCatalog> {
  const catalog = await openCatalog(join(folder, 'a catalog'), {
    locationRoots: [join(folder, 'lake')],
    managedVersioning: true,
    ...options,
  })
  closedAfterwards(catalog)
  await catalog.registerTable({ id: ['own'], location: own })
  await catalog.registerTable({ id: ['source'], location: source })
  return catalog
}

const wordsIn = async (catalog: LocalCatalog, id: string[]) =>
  (await rowsOf(catalog, id)).map(({ word }) => word)

/** Ways to name a folder, some of which Lance takes. */
const spellings: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `${path}/`,
  (path) => pathToFileURL(path).href,
  (path) => pathToFileURL(path).href.replace('file:', 'FILE:'),
  (path) => pathToFileURL(path).href.replace('file://', 'file://localhost'),
  (path) => pathToFileURL(path).href.replace('file://', 'file:'),
  (path) => pathToFileURL(path).href.replace('file:', 'file-object-store:'),
  (path) => path.replace(/[^/]+\/[^/]+$/, 'lake/own.lance/../../$&'),
  (path) => pathToFileURL(path).href.replace(/[^/]+\/[^/]+$/, 'lake/own.lance/%2E%2e/../$&'),
  (path) => pathToFileURL(path).href.replace(/[^/]+\/[^/]+$/, 'lake/own.lance\\..\\..\\$&'),
  (path) => pathToFileURL(path).href.replace(/[^/]+\/[^/]+$/, 'lake%2fown.lance%2f..%2f..%2f$&'),
  (path) => path.replaceAll('/', '//'),
  (path) => `/../..${path}`,
  (path) => `/proc/self/root${path}`,
  (path) => path.slice(1),
]

describe.each([
  ['in this process', {}],
  ['in a process of its own', { isolate: true }],
])('files in other folders, by Lance %s', (_, isolation) => {
  lanceIt('are read below the roots alone, however a manifest spells their folder', async () => {
    const found = await lake()
    const catalog = await opened(found, { lance: isolation })
    let answered = 0
    let id = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('own' as const, 'source' as const, 'loose' as const, 'secret' as const),
        fc.constantFrom(...spellings),
        fc.boolean(),
        async (place, spell, isDataset) => {
          const name = `forged${++id}`
          const path = join(found.folder, 'lake', `${name}.lance`)
          await cp(found.own, path, { recursive: true })
          await forge(path, spell(isDataset ? found[place] : join(found[place], 'data')), isDataset)
          await catalog.registerTable({ id: [name], location: path })
          const answer = await wordsIn(catalog, [name]).catch((error: CatalogError) => error)
          if (answer instanceof CatalogError) {
            expect(answer).toMatchObject({ code: 'InvalidTableState' })
            const counted = catalog.countTableRows({ id: [name] })
            if (/no folder below the roots/.test(answer.message)) {
              await expect(counted).rejects.toMatchObject({ code: 'InvalidTableState' })
              const change = catalog.updateTable({ id: [name], updates: [['word', "word || '!'"]] })
              await expect(change).rejects.toThrow('is no folder below the roots of this catalog')
            } else await counted.catch(() => {})
          } else {
            expect([place, answer]).toEqual([expect.not.stringMatching('secret'), [place]])
            answered++
          }
        },
      ),
      { numRuns: 60 * Number(process.env.HISTORY_RUNS ?? 1) },
    )
    expect(answered).toBeGreaterThan(5)
  })

  lanceIt('are read by callers who may read the table that they lie in', async () => {
    const found = await lake()
    let may = new Set<string>()
    const asked: string[] = []
    const catalog = await opened(found, {
      lance: isolation,
      authorize({ operation, id }) {
        asked.push(`${operation} ${id}`)
        return operation !== 'queryTable' || may.has(String(id))
      },
    })
    await forge(found.own, found.source)
    const denied = {
      code: 'PermissionDenied',
      message: expect.stringContaining('has files that lie outside of it'),
    }
    const change = () => catalog.updateTable({ id: ['own'], updates: [['word', "word || '!'"]] })
    may = new Set(['own'])
    await expect(wordsIn(catalog, ['own'])).rejects.toMatchObject(denied)
    await expect(catalog.countTableRows({ id: ['own'] })).rejects.toMatchObject(denied)
    await expect(change()).rejects.toMatchObject(denied)
    may = new Set(['own', 'source'])
    expect(await wordsIn(catalog, ['own'])).toEqual(['source'])
    expect(asked).toContain('queryTable source')
    // The version is open by now.
    may = new Set(['own'])
    await expect(wordsIn(catalog, ['own'])).rejects.toMatchObject(denied)
    may = new Set(['own', 'source'])
    await change()
    expect(await wordsIn(catalog, ['own'])).toEqual(['source!'])
    await catalog.deregisterTable({ id: ['source'] })
    await expect(wordsIn(catalog, ['own'])).rejects.toMatchObject(denied)
  })

  lanceIt('have names that lead to no other folder', async () => {
    const found = await lake()
    const catalog = await opened(found, { lance: isolation })
    const names = [`../../a source.lance/data/${file}`, join(found.secret, 'data', file)]
    for (const [i, name] of [...names, pathToFileURL(names[1]!).href].entries()) {
      const path = join(found.folder, 'lake', `named${i}.lance`)
      await cp(found.own, path, { recursive: true })
      const manifest = await readFile(join(path, manifestName))
      await writeFile(
        join(path, manifestName),
        withFields(manifest, (fields) => withDataFile(fields, name, undefined)),
      )
      await catalog.registerTable({ id: [`named${i}`], location: path })
      await expect(wordsIn(catalog, [`named${i}`])).rejects.toMatchObject({ code: 'InvalidTableState' })
    }
  })

  lanceIt('are not read where a manifest is written again while Lance opens it', async () => {
    const found = await lake()
    const path = join(found.folder, 'a catalog/tables/t')
    await cp(found.own, path, { recursive: true })
    const real = fileContent(join(found.folder, 'a catalog'))
    const harmless = await readFile(join(path, manifestName))
    let isArmed = false
    const get: Content['get'] = async (name, range) => {
      if (!isArmed || range !== undefined || !name.endsWith('.manifest')) return real.get(name, range)
      // What is looked at is not what Lance will read.
      await writeFile(join(path, manifestName), harmless)
      await forge(path, found.secret)
      return harmless
    }
    const catalog = await openCatalog({
      store: memoryStore(),
      content: contentWith(real, { get, shared: real.shared! }),
      root: pathToFileURL(join(found.folder, 'a catalog')).href,
      managedVersioning: true,
      lance: isolation,
    })
    onTestFinished(() => catalog.close())
    await catalog.registerTable({ id: ['t'], location: path })
    isArmed = true
    await expect(wordsIn(catalog, ['t'])).rejects.toThrow('is written again and again while Lance opens it')
    isArmed = false
    await expect(wordsIn(catalog, ['t'])).rejects.toMatchObject({ code: 'InvalidTableState' })
  })

  lanceIt('are not those of a manifest that a version names elsewhere', async () => {
    const found = await lake()
    const catalog = await opened(found, { lance: isolation })
    const path = join(found.folder, 'elsewhere/other.lance')
    await datasetAt(path, [{ hidden: 1 }, { hidden: 2 }], (table) => table.add([{ hidden: 3 }]))
    const manifest_path = join(path, '_versions', nameOf(2))
    await catalog.createTableVersion({ id: ['own'], version: 2, manifest_path })
    // A file of that name is in the folder of the table, too: with one row, and not with three.
    const own = withFields(await readFile(join(found.own, manifestName)), (fields) => [
      ...fields.filter(({ number }) => number !== manifestField.version),
      { number: manifestField.version, value: 2n },
    ])
    await writeFile(join(found.own, '_versions', nameOf(2)), own)
    expect(await countOf(catalog, ['own'])).toBe(1)
    expect(await wordsIn(catalog, ['own'])).toEqual(['own'])
  })
})

for (const release of releases) {
  lanceIt(`a shallow clone by Lance ${release} for Python is read and changed`, async ({ skip }) => {
    const python = await requirePython(release, skip)
    const found = await lake()
    const catalog = await opened(found, {})
    const path = (name: string) => join(found.folder, 'lake', `${name}.lance`)
    const clones = [
      [found.source, path('by path')],
      [found.source, path('by URL')].map((one) => pathToFileURL(one).href),
      [found.secret, path('outside')],
    ]
    const script = `
import lance, sys
for source, clone in zip(sys.argv[1::2], sys.argv[2::2]):
    lance.dataset(source).shallow_clone(clone, 1)`
    await promisify(execFile)(python, ['-c', script, ...clones.flat()])
    for (const name of ['by path', 'by URL', 'outside'])
      await catalog.registerTable({ id: [name], location: path(name) })
    for (const id of [['by path'], ['by URL']]) {
      expect(await wordsIn(catalog, id)).toEqual(['source'])
      await catalog.insertIntoTable({ id, data: [{ word: 'new' }] })
      await catalog.updateTable({ id, updates: [['word', "word || '!'"]], predicate: "word = 'source'" })
      await catalog.createTableBranch({ id, name: 'side' })
      await catalog.insertIntoTable({ id, branch: 'side', data: [{ word: 'aside' }] })
      await catalog.optimizeTable({ id })
      expect((await wordsIn(catalog, id)).sort()).toEqual(['new', 'source!'])
      expect(await countOf(catalog, id, { branch: 'side' })).toBe(3)
      expect(await countOf(catalog, id, { version: 1 })).toBe(1)
    }
    expect(await wordsIn(catalog, ['source'])).toEqual(['source'])
    await expect(wordsIn(catalog, ['outside'])).rejects.toThrow('is no folder below the roots')
  })
}

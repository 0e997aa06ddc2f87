import { readdirSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { copyOfAll } from '../../../src/catalog/lance/copy-dataset.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { copyCatalog, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { pathsOf } from '../../support/contents.ts'
import { Draw } from '../../support/draw.ts'
import { datasetAt, howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { told } from '../maintenance/filled.ts'

limitEach(300)

/* Copies, exports and clones of tables of Lance, after random histories, beside a plain model. */

const id = ['lance', 't']
const now = { graceMillis: 0 }

async function opened(path: string, options = {}): Promise<LocalCatalog> {
  return closedAfterwards(await openCatalog(path, { ...howLanceRuns, ...options }))
}

type Row = { readonly n: number; readonly text: string }

/** What a random history made: the rows of each version of each branch, and the versions of the tags. */
class Model {
  readonly branches = new Map<string, Map<number, readonly Row[]>>()
  readonly tags = new Map<string, { readonly branch: string; readonly version: number }>()

  latest(branch: string): readonly [version: number, rows: readonly Row[]] {
    return [...this.branches.get(branch)!].at(-1)!
  }
}

const sorted = (rows: readonly Record<string, unknown>[]) =>
  [...(rows as unknown as Row[])].sort((a, b) => a.n - b.n || (a.text < b.text ? -1 : 1))

/** Changes a new table at random. */
async function randomHistory(catalog: LocalCatalog, draw: Draw, steps: number): Promise<Model> {
  const model = new Model()
  let next = 0
  const rows = (count: number): Row[] =>
    Array.from({ length: count }, () => ({ n: next++, text: `text ${draw.below(100)}` }))
  const first = rows(8)
  await catalog.createTable({ id, data: first })
  model.branches.set('main', new Map([[1, first]]))
  for (let step = 0; step < steps; step++) {
    const branch = draw.oneOf([...model.branches.keys()])
    const [version, there] = model.latest(branch)
    const made = (rows: readonly Row[]) => model.branches.get(branch)!.set(version + 1, rows)
    const kind = draw.oneOf(['insert', 'insert', 'delete', 'update', 'branch', 'tag', 'index', 'restore'])
    if (kind === 'insert') {
      const data = rows(1 + draw.below(5))
      await catalog.insertIntoTable({ id, branch, data })
      made([...there, ...data])
    } else if (kind === 'delete') {
      const [from, to] = [draw.below(next), draw.below(next)]
      if (!there.some(({ n }) => n >= from && n <= to)) continue
      const predicate = `n >= ${from} AND n <= ${to}`
      await catalog.deleteFromTable({ id, branch, predicate })
      made(there.filter(({ n }) => !(n >= from && n <= to)))
    } else if (kind === 'update') {
      const n = draw.below(next)
      if (!there.some((row) => row.n === n)) continue
      const updates = [['text', "'changed'"]] as [string, string][]
      await catalog.updateTable({ id, branch, updates, predicate: `n = ${n}` })
      made(there.map((row) => (row.n === n ? { n, text: 'changed' } : row)))
    } else if (kind === 'branch' && model.branches.size < 4) {
      const name = `${draw.oneOf(['dev', 'team/a', 'x'])}-${step}`
      await catalog.createTableBranch({ id, name, from_branch: branch, from_version: version })
      model.branches.set(name, new Map([[version, there]]))
    } else if (kind === 'tag') {
      const at = draw.oneOf([...model.branches.get(branch)!.keys()])
      await catalog.createTableTag({ id, tag: `tag-${step}`, branch, version: at })
      model.tags.set(`tag-${step}`, { branch, version: at })
    } else if (kind === 'index' && branch === 'main' && there.length > 0) {
      await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
      made(there)
    } else if (kind === 'restore') {
      const [at, rows] = draw.oneOf([...model.branches.get(branch)!])
      await catalog.restoreTable({ id, branch, version: at })
      made(rows)
    }
  }
  return model
}

/** Compares each version of a catalog with a model. */
async function expectModel(catalog: LocalCatalog, { branches, tags }: Model): Promise<void> {
  for (const [branch, versions] of branches) {
    const listed = (await catalog.listTableVersions({ id, branch })).versions.map(({ version }) => version)
    expect([branch, listed]).toEqual([branch, [...versions.keys()]])
    for (const [version, rows] of versions) {
      expect([branch, version, sorted(await rowsOf(catalog, id, { branch, version }))]).toEqual([
        branch,
        version,
        sorted(rows),
      ])
    }
  }
  const listed = (await catalog.listTableTags({ id })).tags
  for (const [tag, { branch, version }] of tags)
    expect(listed[tag]).toMatchObject({ version, ...(branch !== 'main' && { branch }) })
}

const whole = { ok: true, problems: 0, harmless: 0, elsewhere: 0 }

describe('copies of tables of Lance', () => {
  for (const seed of [1, 2, 3]) {
    lanceIt(
      `hold each version, tag, branch and index, and need nothing of the original (${seed})`,
      async () => {
        const folder = await freshFolder()
        const at = (name: string) => join(folder, name)
        const source = await opened(at('source'), { format: 'lance' })
        await source.createNamespace({ id: ['lance'] })
        const model = await randomHistory(source, new Draw(seed), 18)
        await expectModel(source, model)
        const before = await told(source)
        const copied = { tables: 1, withoutRows: [] }
        expect(await copyCatalog(source, at('a copy at a longer path'))).toMatchObject(copied)
        expect(await source.exportTo(at('export'), { history: true })).toMatchObject(copied)
        expect(await source.exportTo(at('latest'))).toMatchObject(copied)
        await source.backup(at('backup'))
        await source.close()
        await rm(at('source'), { recursive: true })
        await rename(at('export'), at('moved'))
        const imported = await opened(at('imported'))
        expect(await imported.importFrom(at('moved'))).toMatchObject(copied)
        await rm(at('moved'), { recursive: true })
        for (const catalog of [
          await opened(at('a copy at a longer path')),
          imported,
          await opened(at('backup')),
        ]) {
          expect(await told(catalog)).toEqual(before)
          expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
          await expectModel(catalog, model)
          expect(await catalog.verify()).toMatchObject(whole)
          // It goes on from there.
          for (const branch of model.branches.keys()) {
            const [version, rows] = model.latest(branch)
            const more = { n: 1_000, text: 'more' }
            expect((await catalog.insertIntoTable({ id, branch, data: [more] })).version).toBe(version + 1)
            expect(sorted(await rowsOf(catalog, id, { branch }))).toEqual(sorted([...rows, more]))
          }
        }
        const latest = await opened(at('of the latest'))
        expect(await latest.importFrom(at('latest'))).toMatchObject({ ...copied, versions: 1 })
        const [version, rows] = model.latest('main')
        expect((await latest.listTableVersions({ id })).versions).toMatchObject([{ version }])
        expect(sorted(await rowsOf(latest, id))).toEqual(sorted(rows))
        // The folder of an export is a dataset, for any program that reads Lance.
        const db = await lance.connect(at('latest/lance/t'))
        const table = await db.openTable('dataset', [], {}).catch(() => undefined)
        expect(table).toBeUndefined()
        await rename(at('latest/lance/t/dataset'), at('latest/lance/t/dataset.lance'))
        expect(await (await db.openTable('dataset')).countRows()).toBe(rows.length)
      },
    )

    lanceIt(`are made of any version by cloneTable, and live without the source (${seed})`, async () => {
      const folder = await freshFolder()
      const catalog = await opened(folder, { format: 'lance' })
      await catalog.createNamespace({ id: ['lance'] })
      const draw = new Draw(seed + 100)
      const model = await randomHistory(catalog, draw, 18)
      const clones = new Map<string, readonly Row[]>()
      for (const [branch, versions] of model.branches) {
        const [version, rows] = draw.oneOf([...versions])
        const name = `of ${branch}`
        const made = await catalog.cloneTable({
          id: [name],
          source: id,
          source_branch: branch,
          source_version: version,
        })
        expect(made.version).toBe(version)
        clones.set(name, rows)
      }
      for (const [tag, { branch, version }] of model.tags) {
        await catalog.cloneTable({ id: [tag], source: id, source_tag: tag })
        clones.set(tag, model.branches.get(branch)!.get(version)!)
      }
      const { location } = await catalog.describeTable({ id })
      await catalog.cloneTable({ id: ['last'], source_location: location!, properties: { a: 'b' } })
      clones.set('last', model.latest('main')[1])
      await catalog.transaction(async (tx) => {
        await tx.cloneTable({ id: ['inside'], source: id })
        await tx.createNamespace({ id: ['beside'] })
      })
      clones.set('inside', model.latest('main')[1])
      await expectModel(catalog, model)
      await catalog.dropTable({ id })
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
      expect(await catalog.verify()).toMatchObject(whole)
      for (const [name, rows] of clones) {
        expect([name, sorted(await rowsOf(catalog, [name]))]).toEqual([name, sorted(rows)])
        await catalog.insertIntoTable({ id: [name], data: [{ n: 1_000, text: 'more' }] })
        await catalog.deleteFromTable({ id: [name], predicate: 'n < 4' })
        const now = sorted([...rows.filter(({ n }) => n >= 4), { n: 1_000, text: 'more' }])
        expect([name, sorted(await rowsOf(catalog, [name]))]).toEqual([name, now])
        await catalog.renameTable({ id: [name], new_table_name: `${name} again` })
        expect(sorted(await rowsOf(catalog, [`${name} again`]))).toEqual(now)
        await catalog.dropTable({ id: [`${name} again`] })
      }
      expect(readdirSync(join(folder, 'tables'))).toEqual([])
    })
  }

  lanceIt('have what others published past the catalog, and the indexes', async () => {
    const folder = await freshFolder()
    const catalog = await opened(join(folder, 'one'), { locationRoots: [folder] })
    const location = await datasetAt(join(folder, 'far'), [{ n: 1 }, { n: 2 }], async (table) => {
      await table.createIndex('n')
      await table.add([{ n: 3 }])
    })
    await catalog.registerTable({ id: ['far'], location })
    const other = join(folder, 'other')
    expect(await copyCatalog(catalog, other)).toMatchObject({
      tables: 1,
      withoutRows: [],
      versions: 3,
      rows: 7,
    })
    await catalog.cloneTable({ id: ['clone'], source: ['far'] })
    await rm(join(folder, 'far'), { recursive: true })
    for (const [there, name] of [
      [await opened(other), 'far'],
      [catalog, 'clone'],
    ] as const) {
      expect(sorted(await rowsOf(there, [name]))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
      const { indexes } = await there.listTableIndices({ id: [name] })
      expect(indexes).toMatchObject([{ columns: ['n'], index_type: 'BTREE' }])
    }
  })

  lanceIt('pass through memory where they are not between folders of this machine', async () => {
    const folder = await freshFolder()
    const catalog = await opened(folder, { format: 'lance' })
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    await catalog.createTableBranch({ id: ['t'], name: 'side' })
    await catalog.insertIntoTable({ id: ['t'], branch: 'side', data: [{ n: 2 }] })
    await catalog.createTableTag({ id: ['t'], tag: 'x', branch: 'side', version: 2 })
    const { location } = await catalog.describeTable({ id: ['t'] })
    const from = { content: fileContent(fileURLToPath(location!)), prefix: '', location: location! }
    const to = { content: memoryContent(), prefix: 'a/', location: 'memory://somewhere/a' }
    const copy = await copyOfAll(from, [], () => true)
    await copy!.writeTo(to, undefined)
    const back = { content: fileContent(join(folder, 'back')), prefix: '', location: location! }
    await (await copyOfAll(to, [], () => true))!.writeTo(back, undefined)
    const paths = await pathsOf(back.content, '')
    expect(paths).toHaveLength(copy!.files + 2)
    for (const path of paths)
      expect([path, await back.content.get(path)]).toEqual([path, await from.content.get(path)])
    expect(await copyOfAll({ ...to, location: 'memory://somewhere/else' }, [], () => true)).toBeUndefined()
  })

  lanceIt('come without rows where Lance could read nothing', async () => {
    const source = await opened(await freshFolder(), { format: 'lance' })
    await source.createTable({ id: ['t'], data: [{ n: 1 }] })
    const target = await opened('memory:')
    expect(await copyCatalog(source, target)).toMatchObject({ tables: 1, versions: 0, withoutRows: [['t']] })
  })

  lanceIt('are refused whole where a file of the dataset is missing or cut', async () => {
    const folder = await freshFolder()
    const catalog = await opened(join(folder, 'source'), { format: 'lance' })
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }, { n: 2 }] })
    await catalog.deleteFromTable({ id: ['t'], predicate: 'n = 1' })
    await catalog.createTableScalarIndex({ id: ['t'], column: 'n', index_type: 'BTREE' })
    const { location } = await catalog.describeTable({ id: ['t'] })
    const root = fileURLToPath(location!)
    await catalog.exportTo(join(folder, 'export'), { history: true })
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((item) => item.isFile())
      .map((item) => relative(root, join(item.parentPath, item.name)))
      .filter((path) => /^(?:data|_deletions)\/|18446744073709551612\.manifest$/.test(path))
    expect(files.length).toBeGreaterThan(2)
    for (const path of files) {
      for (const place of [root, join(folder, 'export/t/dataset')]) {
        const bytes = await readFile(join(place, path))
        const isManifest = path.startsWith('_versions/')
        // Without a manifest, the version is gone, and the catalog would find that out.
        if (isManifest && place === root) await writeFile(join(place, path), bytes.subarray(40))
        else await rm(join(place, path))
        const target = await opened(join(folder, 'target'))
        if (place === root) {
          const told = /t cannot be (?:copied|exported): In the dataset at .* (?:is missing|cannot be read)/
          await fails(copyCatalog(catalog, target), 'InvalidTableState', told)
          await fails(catalog.exportTo(join(folder, 'none')), 'InvalidTableState', told)
          await fails(
            catalog.cloneTable({ id: ['u'], source: ['t'] }),
            'InvalidTableState',
            /missing|damaged/,
          )
        } else {
          const failed = await target.importFrom(join(folder, 'export')).catch((error) => error)
          expect(failed.code).toMatch(/^Invalid/)
          expect(failed.message).toMatch(/is missing|lacks versions/)
        }
        expect((await target.listTables({ id: [] })).tables).toEqual([])
        await target.close()
        expect(readdirSync(join(folder, 'target')).filter((name) => name === 'tables')).toEqual([])
        await writeFile(join(place, path), bytes)
      }
    }
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
  })
})

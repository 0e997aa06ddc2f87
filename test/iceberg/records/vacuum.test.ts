import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { putObject } from '../../../src/catalog/formats/index.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { gate } from '../../support/gate.ts'
import { makeTable, servedDirectory } from '../directory.ts'
import { schema, snapshotUpdates } from '../rest.ts'

type Served = Awaited<ReturnType<typeof servedDirectory>>

/** A catalog with a further root, whose tables lie inside of the catalog or below that root. */
async function scene() {
  const folder = await freshFolder()
  const root = join(folder, 'warehouse')
  mkdirSync(root)
  const served = await servedDirectory(join(folder, 'catalog'), { locationRoots: [root] })
  await served.rest.post('namespaces', { namespace: ['prod'] })
  return { ...served, root }
}

/** The metadata files below a folder. */
function metadataFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.metadata.json')).map((name) => join(folder, name))
}

/** The files that the versions of a table name. */
async function namedBy(catalog: LocalCatalog, name: string): Promise<string[]> {
  const { versions } = await catalog.listTableVersions({ id: ['prod', name] })
  return versions.map(({ manifest_path }) => fileURLToPath(manifest_path))
}

/** Leaves a metadata file as a process does that ended between the file and its commit. */
async function leaveFile(catalog: LocalCatalog, name: string): Promise<string> {
  const { location } = await catalog.describeTable({ id: ['prod', name] })
  const stop = new Error('the process ended')
  let url = ''
  const left = catalog.transaction(async (tx) => {
    const asked = {
      id: ['prod', name],
      folder: `${location}/metadata`,
      before: '00009-',
      after: '.metadata.json',
    }
    url = await putObject(tx, { ...asked, parts: [Buffer.from('{}')] })
    throw stop
  })
  await expect(left).rejects.toBe(stop)
  return fileURLToPath(url)
}

/** A UUID such as another catalog gives its files. */
function ofAnotherCatalog(): string {
  return crypto.randomUUID().replace(/-4(...)-.(...)-/, '-8$1-a$2-')
}

const names = ['a', 'b'] as const
const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      name: fc.constantFrom(...names),
      outside: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('commit', 'lose', 'race', 'crash', 'foreign', 'hold'),
      name: fc.constantFrom(...names),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('trim', 'leave', 'purge', 'letGo', 'young'),
      name: fc.constantFrom(...names),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('vacuum'), name: fc.constant('a') }) },
)

/** A history, and what must be there after it. */
class History {
  readonly #scene: Served & { readonly root: string }
  readonly #commits: Record<string, number> = {}
  /** Files of others, and those of deregistered tables, which stay. */
  readonly #kept = new Set<string>()
  readonly #folders = new Set<string>()
  #held: { readonly name: string; readonly file: string; readonly letGo: () => Promise<unknown> } | undefined

  constructor(scene: Served & { readonly root: string }) {
    this.#scene = scene
  }

  async run({
    kind,
    name,
    outside = false,
  }: {
    kind: string
    name: string
    outside?: boolean
  }): Promise<void> {
    const { rest, catalog, root } = this.#scene
    if (kind === 'vacuum') return this.vacuum()
    if (kind === 'letGo') return this.letGo()
    const isThere = this.#commits[name] !== undefined
    if (kind === 'create') {
      if (isThere) return
      const location = outside ? `file://${root}/${name}${Math.random()}` : undefined
      this.#folders.add(
        fileURLToPath(await makeTable(rest, name, { commits: 0, ...(location && { location }) })).replace(
          /\/metadata\/[^/]*$/,
          '',
        ),
      )
      this.#commits[name] = 0
      return
    }
    if (!isThere) return
    const path = `namespaces/prod/tables/${name}`
    const id = ['prod', name]
    const [file] = await namedBy(catalog, name)
    const folder = join(file!, '..')
    switch (kind) {
      case 'commit':
        expect((await this.#commit(path, name)).status).toBe(200)
        break
      case 'race':
        await Promise.all(
          [1, 2, 3].map((n) =>
            rest.post(path, {
              requirements: [],
              updates: [{ action: 'set-properties', updates: { n: `${n}${Math.random()}` } }],
            }),
          ),
        )
        break
      case 'lose': {
        const fails = {
          identifier: { namespace: ['prod'], name: 'none' },
          requirements: [{ type: 'assert-table-uuid', uuid: 'x' }],
          updates: [],
        }
        const first = {
          identifier: { namespace: ['prod'], name },
          requirements: [],
          updates: [{ action: 'set-properties', updates: { lost: `${Math.random()}` } }],
        }
        const before = metadataFiles(folder)
        expect((await rest.post('transactions/commit', { 'table-changes': [first, fails] })).status).toBe(404)
        // It failed for certain, so its file is gone at once.
        expect(metadataFiles(folder)).toEqual(before)
        break
      }
      case 'crash':
        expect(existsSync(await leaveFile(catalog, name))).toBe(true)
        break
      case 'foreign': {
        const other = join(folder, `00007-${ofAnotherCatalog()}.metadata.json`)
        writeFileSync(other, '{}')
        this.#kept.add(other)
        break
      }
      case 'hold':
        await this.#hold(name)
        break
      case 'trim': {
        const { versions } = await catalog.listTableVersions({ id })
        const last = versions.at(-1)!.version
        if (versions.length > 1)
          await catalog.batchDeleteTableVersions({
            id,
            ranges: [{ start_version: versions[0]!.version, end_version: last }],
          })
        break
      }
      case 'leave':
        await this.letGo()
        for (const one of await namedBy(catalog, name)) this.#kept.add(one)
        await rest.send('DELETE', path)
        delete this.#commits[name]
        this.#folders.delete(join(folder, '..'))
        break
      case 'purge':
        await this.letGo()
        await rest.send('DELETE', `${path}?purgeRequested=true`)
        delete this.#commits[name]
        for (const one of this.#kept) if (one.startsWith(folder)) this.#kept.delete(one)
        this.#folders.delete(join(folder, '..'))
        expect(metadataFiles(folder)).toEqual([])
        break
      case 'young': {
        const young = await leaveFile(catalog, name)
        await catalog.vacuum()
        expect(existsSync(young)).toBe(true)
        break
      }
    }
  }

  #commit(path: string, name: string) {
    const n = ++this.#commits[name]!
    const updates = snapshotUpdates(n, { ...(n > 1 && { parent: n - 1 }), sequence: n })
    return this.#scene.rest.post(path, { requirements: [], updates })
  }

  /** A commit that has written its file, and waits. */
  async #hold(name: string): Promise<void> {
    if (this.#held !== undefined) return
    const { catalog } = this.#scene
    const id = ['prod', name]
    const { location } = await catalog.describeTable({ id })
    const { version } = (await catalog.listTableVersions({ id })).versions.at(-1)!
    const { open, opened } = gate()
    const { open: written, opened: file } = gate<string>()
    const done = catalog.transaction(
      async (tx) => {
        const parts = [Buffer.from('{}')]
        const asked = { id, folder: `${location}/metadata`, before: '00008-', after: '.metadata.json', parts }
        const url = await putObject(tx, asked)
        written(fileURLToPath(url))
        await opened
        await tx.createTableVersion({ id, version: version + 1, manifest_path: url })
      },
      { attempts: 1 },
    )
    done.catch(() => {})
    this.#held = {
      name,
      file: await file,
      letGo: () => {
        open()
        return done.catch(() => {})
      },
    }
  }

  async letGo(): Promise<void> {
    const held = this.#held
    this.#held = undefined
    await held?.letGo()
    if (held === undefined || this.#commits[held.name] === undefined) return
    // What it wrote is no metadata, so the table goes on from the version before.
    const id = ['prod', held.name]
    const { versions } = await this.#scene.catalog.listTableVersions({ id })
    const last = versions.at(-1)!
    if (fileURLToPath(last.manifest_path) !== held.file) return
    const before = versions.at(-2)!
    await this.#scene.catalog.createTableVersion({
      id,
      version: last.version + 1,
      manifest_path: before.manifest_path,
      metadata: before.metadata ?? null,
    })
  }

  async vacuum(): Promise<void> {
    const { catalog } = this.#scene
    await catalog.vacuum({ graceMillis: 0 })
    const named = new Set<string>(this.#kept)
    for (const name of Object.keys(this.#commits))
      for (const file of await namedBy(catalog, name)) named.add(file)
    if (this.#held) named.add(this.#held.file)
    for (const file of named) expect(existsSync(file), file).toBe(true)
    const found = [...this.#folders].flatMap(metadataFiles)
    expect(found.filter((file) => !named.has(file))).toEqual([])
  }
}

test('files of a staged table stay while one of them is young', async () => {
  const { rest, catalog } = await scene()
  const staged = await rest.post('namespaces/prod/tables', { name: 's', schema, 'stage-create': true })
  const data = fileURLToPath(`${staged.body.metadata.location}/data`)
  const files = ['first', 'last'].map((name) => join(data, `${name}.parquet`))
  for (const file of files) writeFileSync(file, 'rows')
  const old = Date.now() / 1_000 - 7_200
  utimesSync(files[0]!, old, old)
  await catalog.vacuum()
  expect(files.map(existsSync)).toEqual([true, true])
  utimesSync(files[1]!, old, old)
  await catalog.vacuum()
  expect(files.map(existsSync)).toEqual([false, false])
})

test('after any history, each file that a version names is there, and no other one is older than the grace', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 25 }), async (commands) => {
      const history = new History(await scene())
      for (const one of commands) await history.run(one)
      await history.vacuum()
      await history.letGo()
      await history.vacuum()
    }),
    { numRuns: 12 },
  )
})

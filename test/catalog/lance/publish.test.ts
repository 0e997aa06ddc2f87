import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SharedFiles } from '../../../src/base/content/content.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathOf } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { type Dataset, declared, listed, nameOf, twoCatalogs } from './support.ts'

eachContent((openAny) => {
  const open = () => openAny({ managedVersioning: true })

  it('a version is published under its final name before it is answered', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    const { version } = await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    expect(version).toMatchObject({
      version: 1,
      manifest_path: `${dataset.objectPath}_versions/${nameOf(1)}`,
      manifest_size: 3,
    })
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(2, 'two')) })
    expect(await dataset.manifests()).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
    expect((await catalog.describeTableVersion({ id: ['t'], version: 1 })).version).toEqual(version)
  })

  it('a version asked for twice is created once', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    const staged = await dataset.stage(1, 'one')
    const first = await catalog.createTableVersion({ id: ['t'], ...staged })
    const again = await catalog.createTableVersion({ id: ['t'], ...staged })
    expect(again.version).toEqual(first.version)
    expect(first.transaction_id).toBeDefined()
    expect(again.transaction_id).toBeUndefined()
    const both = await dataset.stage(2, 'two')
    const answers = await Promise.all([1, 2, 3].map(() => catalog.createTableVersion({ id: ['t'], ...both })))
    expect(answers.filter(({ transaction_id }) => transaction_id !== undefined)).toHaveLength(1)
    expect(await dataset.manifests()).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
  })

  it('of a refused version nothing stays', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    for (const version of [1, 3]) {
      const staged = await dataset.stage(version, 'other')
      await expect(catalog.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
        code: 'ConcurrentModification',
      })
      // A retry of the request hears the same.
      await expect(catalog.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
        code: 'ConcurrentModification',
      })
    }
    expect(await dataset.manifests()).toEqual([[1, 'one']])
    expect(await listed(catalog, 't')).toEqual([1])
  })

  it('one of many writers of the same version succeeds', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    const staged = await Promise.all([1, 2, 3, 4, 5].map((n) => dataset.stage(1, `writer ${n}`)))
    const answers = await Promise.allSettled(
      staged.map((entry) => catalog.createTableVersion({ id: ['t'], ...entry })),
    )
    const winners = answers.flatMap(({ status }, n) => (status === 'fulfilled' ? [`writer ${n + 1}`] : []))
    expect(winners).toHaveLength(1)
    expect(await dataset.manifests()).toEqual([[1, winners[0]]])
  })

  it('a manifest must be there, below the table, and of the version', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    const other = await declared(catalog, content, 'u')
    const staged = await dataset.stage(2, 'two')
    for (const entry of [
      { ...staged, version: 1 },
      { ...staged, branch: 'dev' },
      { ...(await other.stage(2, 'two')) },
    ]) {
      await expect(catalog.createTableVersion({ id: ['t'], ...entry })).rejects.toMatchObject({
        code: 'InvalidInput',
      })
    }
    await content.remove(staged.manifest_path.replace(dataset.objectPath, dataset.prefix))
    await expect(catalog.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
      code: 'InvalidInput',
    })
    expect(await listed(catalog, 't')).toEqual([])
  })

  it('a writer of a table that was dropped and created again learns to open it again', async () => {
    const { catalog, content } = await open()
    const old = await declared(catalog, content, 't')
    await catalog.dropTable({ id: ['t'] })
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'new')) })
    const late = await old.stage(2, 'late')
    await expect(catalog.createTableVersion({ id: ['t'], ...late })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(/The table lies there now, .*: open it again\.$/),
    })
    expect(await listed(catalog, 't')).toEqual([1])
  })

  it('versions of a batch are published together, or not at all', async () => {
    const { catalog, content } = await open()
    const [a, b] = [await declared(catalog, content, 'a'), await declared(catalog, content, 'b')]
    const first = [await a.stage(1, 'a1'), await a.stage(2, 'a2')]
    const { versions } = await catalog.batchCreateTableVersions({
      entries: [
        ...first.map((entry) => ({ id: ['a'], ...entry })),
        { id: ['b'], ...(await b.stage(1, 'b1')) },
      ],
    })
    expect(versions.map(({ manifest_path }) => manifest_path)).toEqual([
      `${a.objectPath}_versions/${nameOf(1)}`,
      `${a.objectPath}_versions/${nameOf(2)}`,
      `${b.objectPath}_versions/${nameOf(1)}`,
    ])
    const step = async (dataset: Dataset, id: string, version: number) => ({
      create_table_version: { id: [id], ...(await dataset.stage(version, id + version)) },
    })
    const stale = { operations: [await step(a, 'a', 3), await step(b, 'b', 1)] }
    await expect(catalog.batchCommitTables(stale)).rejects.toMatchObject({ code: 'ConcurrentModification' })
    expect([await a.manifests(), await b.manifests()]).toEqual([
      [
        [1, 'a1'],
        [2, 'a2'],
      ],
      [[1, 'b1']],
    ])
    await catalog.batchCommitTables({ operations: [await step(a, 'a', 3), await step(b, 'b', 2)] })
    expect([(await a.manifests()).at(-1), (await b.manifests()).at(-1)]).toEqual([
      [3, 'a3'],
      [2, 'b2'],
    ])
  })

  it('the first version of a branch makes the branch', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    for (const [version, text] of [
      [1, 'one'],
      [2, 'two'],
    ] as const) {
      const staged = await dataset.stage(version, text, 'a/b')
      await catalog.createTableVersion({ id: ['t'], branch: 'a/b', ...staged })
    }
    expect(await listed(catalog, 't', 'a/b')).toEqual([1, 2])
    expect(await listed(catalog, 't')).toEqual([1])
    expect(await dataset.manifests('a/b')).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
    await expect(
      catalog.createTableVersion({ id: ['t'], branch: 'no', version: 1, manifest_path: 'made-up' }),
    ).rejects.toMatchObject({ code: 'TableBranchNotFound' })
  })

  it('versions that others published past the catalog are adopted', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    await dataset.publish(2, 'past')
    const staged = await dataset.stage(2, 'two')
    await expect(catalog.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
      code: 'ConcurrentModification',
    })
    expect((await catalog.describeTableVersion({ id: ['t'], version: 2 })).version).toMatchObject({
      manifest_path: `${dataset.objectPath}_versions/${nameOf(2)}`,
      manifest_size: 4,
    })
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(3, 'three')) })
    expect(await listed(catalog, 't')).toEqual([1, 2, 3])
    await dataset.publish(4, 'past')
    await dataset.publish(5, 'past')
    expect(await listed(catalog, 't')).toEqual([1, 2, 3, 4, 5])
    expect((await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })).version).toBe(5)
    expect((await catalog.verify()).findings).toEqual([])
  })

  it('versions that a cleanup removed are gone', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    for (const version of [1, 2, 3])
      await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(version, `${version}`)) })
    await dataset.remove(1)
    await expect(catalog.describeTableVersion({ id: ['t'], version: 1 })).rejects.toMatchObject({
      code: 'TableVersionNotFound',
    })
    await dataset.remove(2)
    expect(await listed(catalog, 't')).toEqual([3])
    expect((await catalog.verify()).findings).toEqual([])
  })

  it('a branch that was removed can be made again', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    const commit = async (text: string) =>
      catalog.createTableVersion({ id: ['t'], branch: 'dev', ...(await dataset.stage(1, text, 'dev')) })
    await commit('first')
    await content.remove(`${dataset.prefix}tree/dev/`)
    await commit('second')
    expect(await dataset.manifests('dev')).toEqual([[1, 'second']])
    expect(await listed(catalog, 't', 'dev')).toEqual([1])
  })

  it('versions stay when all manifests are gone, since the disk may be', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    await dataset.remove(1)
    expect(await listed(catalog, 't')).toEqual([1])
  })

  it('a vacuum removes staged manifests that nobody will commit', async () => {
    const { catalog, content } = await openAny({ now: () => Date.now() + 3_600_000 })
    const dataset = await declared(catalog, content, 't')
    await catalog.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    const recorded = await dataset.stage(2, 'two')
    await catalog.createTableVersion({ id: ['t'], ...recorded })
    // As after a crash: the staged name is back, and so is the work to publish it.
    await dataset.remove(2)
    await content.put(recorded.manifest_path.replace(dataset.objectPath, dataset.prefix), Buffer.from('two'))
    await dataset.stage(3, 'left')
    await dataset.stage(2, 'left', 'dev')
    expect((await catalog.vacuum({ graceMillis: 0 })).removed).toBe(2)
    expect(await listed(catalog, 't')).toEqual([1, 2])
    expect([await dataset.manifests(), await dataset.manifests('dev')]).toEqual([
      [
        [1, 'one'],
        [2, 'two'],
      ],
      [],
    ])
  })

  it('a table that is renamed keeps its versions, and one that is registered again has them back', async () => {
    const { catalog, content } = await open()
    const dataset = await declared(catalog, content, 't')
    const staged = await dataset.stage(1, 'one')
    await catalog.createTableVersion({ id: ['t'], ...staged })
    await catalog.renameTable({ id: ['t'], new_table_name: 'u' })
    await catalog.createTableVersion({ id: ['u'], ...(await dataset.stage(2, 'two')) })
    const { location } = await catalog.deregisterTable({ id: ['u'] })
    await catalog.registerTable({ id: ['v'], location: location! })
    expect(await listed(catalog, 'v')).toEqual([1, 2])
    expect((await catalog.createTableVersion({ id: ['v'], ...staged })).version.version).toBe(1)
    await catalog.createTableVersion({ id: ['v'], ...(await dataset.stage(3, 'three')) })
    expect(await dataset.manifests()).toHaveLength(3)
  })
})

describe('a process that dies between the record and the publication', () => {
  const die = () => {
    throw new Error('killed')
  }

  type Next = (catalog: LocalCatalog) => Promise<unknown>
  it.each<[string, Next]>([
    ['lists versions', (catalog) => listed(catalog, 't')],
    ['describes a version', (catalog) => catalog.describeTableVersion({ id: ['t'], version: 2 })],
    ['describes the table', (catalog) => catalog.describeTable({ id: ['t'], load_detailed_metadata: true })],
  ])('leaves it to who %s next', async (_, next) => {
    const { failing, other, before, content } = await twoCatalogs()
    const dataset = await declared(other, content, 't')
    await failing.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
    before.link = die
    const staged = await dataset.stage(2, 'two')
    await expect(failing.createTableVersion({ id: ['t'], ...staged })).rejects.toThrow()
    expect(await dataset.manifests()).toHaveLength(2)
    await next(other)
    expect(await dataset.manifests()).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
    // The writer's retry hears that its version is there.
    expect((await other.createTableVersion({ id: ['t'], ...staged })).version.version).toBe(2)
  })

  it('leaves it to who commits next, and no version is published before one below it', async () => {
    const { failing, other, before, content } = await twoCatalogs()
    const dataset = await declared(other, content, 't')
    before.link = die
    const entries = [await dataset.stage(1, 'one'), await dataset.stage(2, 'two')]
    const batch = { entries: entries.map((entry) => ({ id: ['t'], ...entry })) }
    await expect(failing.batchCreateTableVersions(batch)).rejects.toThrow()
    const seen: unknown[] = []
    before.link = async (_, to) => {
      seen.push([
        to.slice(-29),
        (await dataset.manifests()).filter(([name]) => typeof name === 'number').length,
      ])
    }
    await failing.createTableVersion({ id: ['t'], ...(await dataset.stage(3, 'three')) })
    expect(seen).toEqual([1, 2, 3].map((version) => [nameOf(version), version - 1]))
    expect(await dataset.manifests()).toEqual([
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ])
    expect(await listed(other, 't')).toEqual([1, 2, 3])
  })

  it('may have given the final name, and only the staged one is left to remove', async () => {
    const { failing, other, before, content } = await twoCatalogs()
    const dataset = await declared(other, content, 't')
    before.link = async (from, to) => {
      await dataset.content.shared!.link(from, to)
      die()
    }
    await expect(
      failing.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) }),
    ).rejects.toThrow()
    expect(await dataset.manifests()).toHaveLength(2)
    expect(await listed(other, 't')).toEqual([1])
    expect(await dataset.manifests()).toEqual([[1, 'one']])
  })
})

it('a program that publishes the same version past the catalog wins, and the writer is told', async () => {
  const { failing, other, before, content } = await twoCatalogs()
  const dataset = await declared(other, content, 't')
  await failing.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
  before.link = () => {
    delete before.link
    return dataset.publish(2, 'past')
  }
  const staged = await dataset.stage(2, 'two')
  await expect(failing.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
    code: 'ConcurrentModification',
  })
  expect(await dataset.manifests()).toEqual([
    [1, 'one'],
    [2, 'past'],
  ])
  expect(await listed(other, 't')).toEqual([1, 2])
  await other.createTableVersion({ id: ['t'], ...(await dataset.stage(3, 'three')) })
})

it('the writer is told also where another process notices first, and has recorded nothing of it yet', async () => {
  const { failing, other, before, content, options } = await twoCatalogs()
  const dataset = await declared(other, content, 't')
  await failing.createTableVersion({ id: ['t'], ...(await dataset.stage(1, 'one')) })
  const noticed = gate()
  const answered = gate()
  const slow = closedAfterwards(
    await openCatalog({
      ...options,
      content: contentWith(content, {
        shared: content.shared,
        async *list(prefix) {
          if (prefix.endsWith('_versions/')) {
            noticed.open()
            await answered.opened
          }
          yield* content.list(prefix)
        },
      }),
    }),
  )
  onTestFinished(() => answered.open())
  let noticing: Promise<unknown> | undefined
  before.link = async () => {
    before.link = async () => {
      noticing = slow.listTableVersions({ id: ['t'] })
      await noticed.opened
    }
    await dataset.publish(2, 'past')
  }
  const created = failing.createTableVersion({ id: ['t'], ...(await dataset.stage(2, 'two')) })
  await expect(created).rejects.toMatchObject({ code: 'ConcurrentModification' })
  answered.open()
  await noticing
  expect(await dataset.manifests()).toEqual([
    [1, 'one'],
    [2, 'past'],
  ])
  expect(await listed(other, 't')).toEqual([1, 2])
})

it('a manifest that vanishes before it is published makes no version', async () => {
  const { failing, other, before, content } = await twoCatalogs()
  const dataset = await declared(other, content, 't')
  for (const version of [1, 2]) {
    before.link = (from) => dataset.content.remove(from)
    const staged = await dataset.stage(version, 'lost')
    await expect(failing.createTableVersion({ id: ['t'], ...staged })).rejects.toMatchObject({
      code: 'ConcurrentModification',
    })
    expect(await listed(failing, 't')).toEqual(version === 1 ? [] : [1])
    delete before.link
    await failing.createTableVersion({ id: ['t'], ...(await dataset.stage(version, 'again')) })
  }
  expect(await listed(failing, 't')).toEqual([1, 2])
})

describe('managed versioning is offered', () => {
  const offered = async (location: string, locationRoots: string[]) => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { managedVersioning: true, locationRoots }),
    )
    const { managed_versioning } = await catalog.declareTable({ id: ['t'], location })
    const described = await catalog.describeTable({ id: ['t'] })
    expect(described.managed_versioning).toBe(managed_versioning)
    return managed_versioning ?? false
  }

  it('below a root, and nowhere else', async () => {
    const folder = await freshFolder()
    expect(await offered(`${folder}/t`, [folder])).toBe(true)
    expect(await offered(`${folder}/t`, [])).toBe(false)
    expect(await offered('s3://bucket/t', [folder])).toBe(false)
  })

  it('not by a content that has no files of other programs', async () => {
    const content = contentWith(fileContent(await freshFolder()))
    const catalog = closedAfterwards(
      await openCatalog({ store: memoryStore(), content, managedVersioning: true }),
    )
    expect(await catalog.declareTable({ id: ['t'] })).not.toHaveProperty('managed_versioning')
    // Then versions are recorded as clients name them.
    const staged = { version: 1, manifest_path: `x/_versions/${nameOf(1)}-${crypto.randomUUID()}` }
    expect((await catalog.createTableVersion({ id: ['t'], ...staged })).version).toMatchObject(staged)
    expect(await listed(catalog, 't')).toEqual([1])
  })
})

lanceIt('a change of rows is acknowledged once the name of its manifest is durable', async () => {
  const folder = await freshFolder()
  const real = fileContent(folder)
  let slow: (() => Promise<void>) | undefined
  const shared: SharedFiles = {
    names: (prefix) => real.shared!.names(prefix),
    sync: (path) => real.shared!.sync(path),
    replace: (path, bytes) => real.shared!.replace(path, bytes),
    link: (from, to) => real.shared!.link(from, to),
    async linkAll(links, onLinked) {
      const results = await real.shared!.linkAll!(links, onLinked)
      await slow?.()
      return results
    },
  }
  const options = { store: memoryStore(), root: `file://${folder}`, format: 'lance' as const }
  const catalog = closedAfterwards(await openCatalog({ ...options, content: contentWith(real, { shared }) }))
  const id = ['t']
  const { location } = await catalog.createTable({ id, data: [{ n: 1 }] })
  const names = () => real.shared!.names(`${pathOf(location!)}_versions/`)
  for (const change of [
    () => catalog.insertIntoTable({ id, data: [{ n: 2 }] }),
    () => catalog.updateTable({ id, updates: [['n', 'n + 1']] }),
    () => catalog.deleteFromTable({ id, predicate: 'n = 2' }),
  ]) {
    const [named, disk] = [gate(), gate()]
    slow = () => {
      named.open()
      return disk.opened
    }
    const before = (await catalog.listTableVersions({ id })).versions.length
    let isAcknowledged = false
    const changed = change().then(() => {
      isAcknowledged = true
    })
    await named.opened
    // Others find the version already.
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(before + 1)
    await sleep(100)
    expect(isAcknowledged).toBe(false)
    disk.open()
    await changed
    expect((await names()).filter((name) => name.includes('.manifest-'))).toEqual([])
  }
})

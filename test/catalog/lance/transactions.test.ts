import { describe, expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog, type Transaction } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { eachContent, pathsOf } from '../../support/contents.ts'
import { type Dataset, declared, listed, nameOf, twoCatalogs } from './support.ts'

/* test/catalog/lance/clients.test.ts has the same with Lance itself. */

const give = (
  on: Pick<LocalCatalog, 'createTableVersion'>,
  name: string,
  entry: { version: number; manifest_path: string },
  branch?: string,
) => on.createTableVersion({ id: [name], branch, ...entry })

/** Two tables with one version each. */
async function tables(catalog: LocalCatalog, content: Content) {
  const [a, b] = [await declared(catalog, content, 'a'), await declared(catalog, content, 'b')]
  await give(catalog, 'a', await a.stage(1, 'a1'))
  await give(catalog, 'b', await b.stage(1, 'b1'))
  return { a, b }
}

const waiting = async (content: Content) =>
  (await pathsOf(content)).filter((path) => path.includes('_staged/'))
const givenUp = new Error('given up')
const conflict = { code: 'ConcurrentModification' }

eachContent((openAny) => {
  const open = () => openAny({ managedVersioning: true })

  it('versions of several tables are seen inside, and published together by the commit', async () => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    await catalog.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(2, 'a2'))
      const answers: string[] = []
      for (const version of [2, 3, 4]) {
        const { version: made } = await give(tx, 'b', await b.stage(version, `b${version}`))
        expect((await tx.describeTableVersion({ id: ['b'], version })).version).toEqual(made)
        const latest = await tx.listTableVersions({ id: ['b'], descending: true, limit: 1 })
        expect(latest.versions).toEqual([made])
        answers.push(made.manifest_path)
      }
      // As Lance wants it: under the final name, outside of the folder that it lists.
      for (const [at, path] of answers.entries()) {
        expect(path).toMatch(new RegExp(`^${b.objectPath}_staged/[^/]+/${nameOf(at + 2)}$`))
        const held = await content.get(path.replace(b.objectPath, b.prefix))
        expect(new TextDecoder().decode(held)).toBe(`b${at + 2}`)
      }
      expect([await listed(tx, 'a'), await listed(tx, 'b')]).toEqual([
        [1, 2],
        [1, 2, 3, 4],
      ])
      expect([await listed(catalog, 'a'), await listed(catalog, 'b')]).toEqual([[1], [1]])
      expect([await a.manifests(), await b.manifests()]).toEqual([[[1, 'a1']], [[1, 'b1']]])
    })
    expect([await listed(catalog, 'a'), await listed(catalog, 'b')]).toEqual([
      [1, 2],
      [1, 2, 3, 4],
    ])
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
    ])
    expect(await b.manifests()).toEqual([
      [1, 'b1'],
      [2, 'b2'],
      [3, 'b3'],
      [4, 'b4'],
    ])
    expect((await catalog.describeTableVersion({ id: ['b'], version: 4 })).version.manifest_path).toBe(
      `${b.objectPath}_versions/${nameOf(4)}`,
    )
    expect(await waiting(content)).toEqual([])
    expect((await catalog.verify()).findings).toEqual([])
  })

  it('of a transaction that is given up nothing stays', async () => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    const before = await pathsOf(content)
    const failing = catalog.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(2, 'a2'))
      await give(tx, 'b', await b.stage(2, 'b2'))
      const made = await declared(tx, content, 'c')
      await give(tx, 'c', await made.stage(1, 'c1'))
      throw givenUp
    })
    await expect(failing).rejects.toBe(givenUp)
    expect(await pathsOf(content)).toEqual(before)
    expect([await listed(catalog, 'a'), await listed(catalog, 'b')]).toEqual([[1], [1]])
    await give(catalog, 'a', await a.stage(2, 'other'))
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'other'],
    ])
  })

  const others: [string, (catalog: LocalCatalog, b: Dataset) => Promise<unknown>][] = [
    ['through the catalog', async (catalog, b) => give(catalog, 'b', await b.stage(2, 'other'))],
    ['past the catalog', (_, b) => b.publish(2, 'other')],
  ]
  it.each(others)('when another writer changes one table %s, none is changed', async (_, write) => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    let runs = 0
    const lost = catalog.transaction(
      async (tx) => {
        runs++
        await give(tx, 'a', await a.stage(2, 'a2'))
        await give(tx, 'b', await b.stage(2, 'b2'))
        await write(catalog, b)
      },
      { attempts: 1 },
    )
    await expect(lost).rejects.toMatchObject(conflict)
    expect(runs).toBe(1)
    expect([await a.manifests(), await b.manifests()]).toEqual([
      [[1, 'a1']],
      [
        [1, 'b1'],
        [2, 'other'],
      ],
    ])
    expect([await listed(catalog, 'a'), await listed(catalog, 'b')]).toEqual([[1], [1, 2]])
    expect(await waiting(content)).toEqual([])
  })

  it('the function runs again on what others committed', async () => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    let runs = 0
    await catalog.transaction(async (tx) => {
      const next = (await listed(tx, 'b')).length + 1
      await give(tx, 'a', await a.stage(2, `a2 of run ${++runs}`))
      await give(tx, 'b', await b.stage(next, `b${next}`))
      if (runs === 1) await give(catalog, 'b', await b.stage(2, 'other'))
    })
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2 of run 2'],
    ])
    expect(await b.manifests()).toEqual([
      [1, 'b1'],
      [2, 'other'],
      [3, 'b3'],
    ])
    expect(await waiting(content)).toEqual([])
  })

  it('a version is refused inside as outside, and leaves nothing', async () => {
    const { catalog, content } = await open()
    const { a } = await tables(catalog, content)
    await catalog.transaction(async (tx) => {
      const first = await a.stage(2, 'a2')
      const made = await give(tx, 'a', first)
      // A retry of the request hears the same, also at the same moment.
      expect((await give(tx, 'a', first)).version).toEqual(made.version)
      for (const version of [1, 2, 4])
        await expect(give(tx, 'a', await a.stage(version, 'stale'))).rejects.toMatchObject(conflict)
      const racing = await Promise.all([1, 2, 3].map((n) => a.stage(3, `writer ${n}`)))
      const ends = await Promise.allSettled(racing.map((entry) => give(tx, 'a', entry)))
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await waiting(content)).toHaveLength(2)
      const next = await a.stage(4, 'a4')
      const answers = await Promise.all([1, 2, 3].map(() => give(tx, 'a', next)))
      for (const { version } of answers) expect(version).toEqual(answers[0]!.version)
      expect(answers[0]!.version.manifest_path).toContain('/_staged/')
    })
    expect((await a.manifests()).filter(([version]) => version !== 3 && version !== 4)).toEqual([
      [1, 'a1'],
      [2, 'a2'],
    ])
    expect(await listed(catalog, 'a')).toEqual([1, 2, 3, 4])
  })

  it('tables may be declared, renamed and dropped in the same transaction', async () => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    await catalog.createNamespace({ id: ['n'] })
    const made = await catalog.transaction(async (tx) => {
      const made = await declared(tx, content, 'c')
      await give(tx, 'c', await made.stage(1, 'c1'))
      await tx.renameTable({ id: ['c'], new_table_name: 'd', new_namespace_id: ['n'] })
      await tx.createTableVersion({ id: ['n', 'd'], ...(await made.stage(2, 'c2')) })
      expect((await tx.listTableVersions({ id: ['n', 'd'] })).versions).toHaveLength(2)
      await give(tx, 'a', await a.stage(2, 'a2'))
      await tx.renameTable({ id: ['a'], new_table_name: 'e' })
      await give(tx, 'e', await a.stage(3, 'a3'))
      await give(tx, 'b', await b.stage(2, 'b2'))
      await tx.dropTable({ id: ['b'] })
      return made
    })
    expect(await made.manifests()).toEqual([
      [1, 'c1'],
      [2, 'c2'],
    ])
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
      [3, 'a3'],
    ])
    expect(await listed(catalog, 'e')).toEqual([1, 2, 3])
    expect((await pathsOf(content)).filter((path) => path.startsWith(b.prefix))).toEqual([])
    expect(await waiting(content)).toEqual([])
  })

  it('a table that is deregistered in the same transaction keeps its versions', async () => {
    const { catalog, content } = await open()
    const { a } = await tables(catalog, content)
    const location = await catalog.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(2, 'a2'))
      return (await tx.deregisterTable({ id: ['a'] })).location!
    })
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
    ])
    await catalog.transaction(async (tx) => {
      await tx.registerTable({ id: ['f'], location })
      expect(await listed(tx, 'f')).toEqual([1, 2])
      await give(tx, 'f', await a.stage(3, 'a3'))
      expect(await listed(tx, 'f')).toEqual([1, 2, 3])
    })
    expect(await listed(catalog, 'f')).toEqual([1, 2, 3])
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
      [3, 'a3'],
    ])
  })

  it('batches inside wait, too', async () => {
    const { catalog, content } = await open()
    const { a, b } = await tables(catalog, content)
    await catalog.transaction(async (tx) => {
      const entries = [
        { id: ['a'], ...(await a.stage(2, 'a2')) },
        { id: ['b'], ...(await b.stage(2, 'b2')) },
      ]
      const { versions } = await tx.batchCreateTableVersions({ entries })
      for (const { manifest_path } of versions) expect(manifest_path).toContain('/_staged/')
      const stale = [
        { create_table_version: { id: ['a'], ...(await a.stage(3, 'a3')) } },
        { create_table_version: { id: ['b'], ...(await b.stage(2, 'stale')) } },
      ]
      await expect(tx.batchCommitTables({ operations: stale })).rejects.toMatchObject(conflict)
      const step = { id: ['b'], ...(await b.stage(3, 'b3')) }
      const { results } = await tx.batchCommitTables({ operations: [{ create_table_version: step }] })
      expect(results[0]!.create_table_version!.version.manifest_path).toContain('/_staged/')
      expect([await a.manifests(), await b.manifests()]).toEqual([[[1, 'a1']], [[1, 'b1']]])
    })
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
    ])
    expect(await b.manifests()).toEqual([
      [1, 'b1'],
      [2, 'b2'],
      [3, 'b3'],
    ])
  })

  it('what is true outside is told there, also by a transaction that is given up', async () => {
    const { catalog, content } = await open()
    const { a } = await tables(catalog, content)
    await a.publish(2, 'past')
    const failing = catalog.transaction(async (tx) => {
      expect(await listed(tx, 'a')).toEqual([1, 2])
      await give(tx, 'a', await a.stage(3, 'a3'))
      throw givenUp
    })
    await expect(failing).rejects.toBe(givenUp)
    expect(await listed(catalog, 'a')).toEqual([1, 2])
    // A cleanup that removes versions below is no loss for those above.
    await catalog.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(3, 'a3'))
      expect(await listed(tx, 'a')).toEqual([1, 2, 3])
    })
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'past'],
      [3, 'a3'],
    ])
  })

  it('a program that writes a table of the transaction past the catalog is heard before the commit', async () => {
    const { catalog, content } = await open()
    const { b } = await tables(catalog, content)
    const lost = catalog.transaction(
      async (tx) => {
        await give(tx, 'b', await b.stage(2, 'b2'))
        const made = await declared(tx, content, 'c')
        await give(tx, 'c', await made.stage(1, 'c1'))
        await made.publish(1, 'past')
      },
      { attempts: 1 },
    )
    await expect(lost).rejects.toMatchObject(conflict)
    expect(await b.manifests()).toEqual([[1, 'b1']])
  })

  describe('what Lance keeps in files of its own', () => {
    const refused = { code: 'InvalidTableState' }
    type Change = (tx: Transaction, id: string[]) => Promise<unknown>
    it.each<[string, Change]>([
      ['making a tag', (tx, id) => tx.createTableTag({ id, tag: 'y', version: 1 })],
      ['moving a tag', (tx, id) => tx.updateTableTag({ id, tag: 'x', version: 1 })],
      ['deleting a tag', (tx, id) => tx.deleteTableTag({ id, tag: 'x' })],
      ['making a branch', (tx, id) => tx.createTableBranch({ id, name: 'new' })],
      ['deleting a branch', (tx, id) => tx.deleteTableBranch({ id, name: 'dev' })],
    ])('does not change inside: %s is refused', async (_, change) => {
      const { catalog, content } = await open()
      const { a } = await tables(catalog, content)
      await catalog.createTableTag({ id: ['a'], tag: 'x', version: 1 })
      await a.publish(1, 'one', 'dev')
      await a.putRef('branches/dev', { parentVersion: 1 })
      const before = await pathsOf(content)
      await catalog.transaction(async (tx) => {
        await expect(change(tx, ['a'])).rejects.toMatchObject(refused)
        expect(await pathsOf(content)).toEqual(before)
        expect((await tx.listTableTags({ id: ['a'] })).tags).toEqual({ x: { version: 1, manifestSize: 2 } })
        const made = await declared(tx, content, 'c')
        await give(tx, 'c', await made.stage(1, 'c1'))
        await expect(change(tx, ['c'])).rejects.toMatchObject(refused)
      })
    })

    it('a branch must be there, and then its versions wait like others', async () => {
      const { catalog, content } = await open()
      const { a } = await tables(catalog, content)
      await a.publish(1, 'one', 'dev/x')
      await a.putRef('branches/dev%2Fx', { parentVersion: 1 })
      await catalog.transaction(async (tx) => {
        await expect(give(tx, 'a', await a.stage(1, 'no', 'new'), 'new')).rejects.toMatchObject({
          code: 'TableBranchNotFound',
        })
        await give(tx, 'a', await a.stage(2, 'two', 'dev/x'), 'dev/x')
        await give(tx, 'a', await a.stage(2, 'a2'))
        expect(await listed(tx, 'a', 'dev/x')).toEqual([1, 2])
        expect(await a.manifests('dev/x')).toEqual([[1, 'one']])
      })
      expect(await a.manifests('dev/x')).toEqual([
        [1, 'one'],
        [2, 'two'],
      ])
      expect(await a.manifests()).toEqual([
        [1, 'a1'],
        [2, 'a2'],
      ])
    })

    it('manifests of versions that are deleted go after the commit', async () => {
      const { catalog, content } = await open()
      const { a } = await tables(catalog, content)
      const ranges = [{ start_version: 1, end_version: 2 }]
      const remove = (end: () => unknown) =>
        catalog.transaction(
          async (tx) => {
            const next = (await listed(tx, 'a')).at(-1)! + 1
            await give(tx, 'a', await a.stage(next, `a${next}`))
            const { deleted_count } = await tx.batchDeleteTableVersions({ id: ['a'], ranges })
            expect(deleted_count).toBe(1)
            expect(await listed(tx, 'a')).toEqual([2])
            expect(await listed(catalog, 'a')).toEqual([1])
            expect(await a.manifests()).toEqual([[1, 'a1']])
            await end()
          },
          { attempts: 1 },
        )
      await expect(
        remove(() => {
          throw givenUp
        }),
      ).rejects.toBe(givenUp)
      // Somebody needs the version meanwhile.
      const tagged = remove(() => catalog.createTableTag({ id: ['a'], tag: 'x', version: 1 }))
      await expect(tagged).rejects.toMatchObject(conflict)
      expect(await a.manifests()).toEqual([[1, 'a1']])
      await catalog.deleteTableTag({ id: ['a'], tag: 'x' })
      await remove(() => {})
      expect(await a.manifests()).toEqual([[2, 'a2']])
      expect(await listed(catalog, 'a')).toEqual([2])
    })
  })

  it('a vacuum leaves alone what waits for a commit, and takes what nobody will commit', async () => {
    // So that all that is there counts as old.
    const { catalog, content } = await openAny({ managedVersioning: true, now: () => Date.now() + 3_600_000 })
    const { a } = await tables(catalog, content)
    const left = `${a.prefix}_staged/01JZZZZZZZZZZZZZZZZZZZZZZZ.${crypto.randomUUID()}/${nameOf(2)}`
    await content.put(left, Buffer.from('left'))
    const removed: number[] = []
    await catalog.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(2, 'a2'))
      removed.push((await catalog.vacuum({ graceMillis: 0 })).removed)
    })
    expect(removed).toEqual([1])
    expect(await listed(catalog, 'a')).toEqual([1, 2])
    expect(await waiting(content)).toEqual([])
  })

  it('a vacuum leaves alone what is written where a transaction declares a table', async () => {
    const { catalog, content } = await open()
    const { b } = await tables(catalog, content)
    const removed: number[] = []
    const made = await catalog.transaction(async (tx) => {
      const made = await declared(tx, content, 'c')
      // As a writer of Lance does before it asks for a version.
      await content.put(`${made.prefix}data/x.lance`, Buffer.from('rows'))
      await give(tx, 'c', await made.stage(1, 'c1'))
      await give(tx, 'b', await b.stage(2, 'b2'))
      removed.push((await catalog.vacuum({ graceMillis: 0 })).removed)
      return made
    })
    expect(removed).toEqual([0])
    expect(await made.manifests()).toEqual([[1, 'c1']])
    expect(await pathsOf(content, `${made.prefix}data/`)).toHaveLength(1)
  })
})

describe('a process that dies between the commit and the publication', () => {
  const dying = async (times: number) => {
    const { failing, other, before, content } = await twoCatalogs()
    const { a, b } = await tables(failing, content)
    let links = 0
    before.link = (_, to) => {
      if (!to.includes('/_staged/') && ++links > times) throw new Error('killed')
    }
    await failing.transaction(async (tx) => {
      await give(tx, 'a', await a.stage(2, 'a2'))
      for (const version of [2, 3]) await give(tx, 'b', await b.stage(version, `b${version}`))
      const made = await declared(tx, content, 'c')
      await give(tx, 'c', await made.stage(1, 'c1'))
    })
    return { other, before, content, a, b }
  }

  it.each([0, 1, 2, 3])('after %i publications leaves the others to who comes next', async (times) => {
    const { other, content, a, b } = await dying(times)
    expect(await waiting(content)).not.toEqual([])
    expect((await other.vacuum({ graceMillis: 0 })).removed).toBe(0)
    expect([await listed(other, 'a'), await listed(other, 'b'), await listed(other, 'c')]).toEqual([
      [1, 2],
      [1, 2, 3],
      [1],
    ])
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [2, 'a2'],
    ])
    expect(await b.manifests()).toEqual([
      [1, 'b1'],
      [2, 'b2'],
      [3, 'b3'],
    ])
    expect(await waiting(content)).toEqual([])
  })

  it('publishes nothing on top of a version that another program published in between', async () => {
    const { other, content, b } = await dying(0)
    await b.publish(2, 'past')
    await give(other, 'b', await b.stage(3, 'next'))
    expect(await b.manifests()).toEqual([
      [1, 'b1'],
      [2, 'past'],
      [3, 'next'],
    ])
    expect(await listed(other, 'b')).toEqual([1, 2, 3])
    expect((await pathsOf(content)).filter((path) => path.startsWith(`${b.prefix}_staged/`))).toEqual([])
  })

  it('does not bring back a version that a cleanup removed', async () => {
    const { failing, other, before, content } = await twoCatalogs()
    const { a } = await tables(other, content)
    const removed: string[] = []
    before.link = async (from, to) => {
      if (to.includes('/_staged/')) return
      // It dies before it removes the name under which the manifest waited.
      await content.shared!.link(from, to)
      removed.push(from)
      throw new Error('killed')
    }
    await failing.transaction(async (tx) => give(tx, 'a', await a.stage(2, 'a2')))
    expect(removed.length).toBeGreaterThan(0)
    expect(await waiting(content)).toHaveLength(1)
    await give(other, 'a', await a.stage(3, 'a3'))
    await a.remove(2)
    expect(await listed(other, 'a')).toEqual([1, 3])
    expect(await a.manifests()).toEqual([
      [1, 'a1'],
      [3, 'a3'],
    ])
  })
})

it('a program that publishes past the catalog in the instant of the commit wins, and the caller is told', async () => {
  const { failing, other, before, content } = await twoCatalogs()
  const { a, b } = await tables(other, content)
  before.link = async (_, to) => {
    if (to.includes('/_staged/')) return
    delete before.link
    await b.publish(2, 'past')
  }
  const late = failing.transaction(async (tx) => {
    await give(tx, 'a', await a.stage(2, 'a2'))
    for (const version of [2, 3]) await give(tx, 'b', await b.stage(version, `b${version}`))
  })
  await expect(late).rejects.toMatchObject({
    code: 'InvalidTableState',
    message: expect.stringContaining('is committed, but not whole'),
  })
  expect(await a.manifests()).toEqual([
    [1, 'a1'],
    [2, 'a2'],
  ])
  expect(await b.manifests()).toEqual([
    [1, 'b1'],
    [2, 'past'],
  ])
  expect(await listed(other, 'b')).toEqual([1, 2])
})

it('a commit whose answer is lost publishes what it committed', async () => {
  const real = memoryStore()
  let loses = false
  const store: Store = {
    features: real.features,
    read: (body) => real.read(body),
    write: async (body) => {
      const result = await real.write(body)
      if (!loses) return result
      loses = false
      throw new Error('lost')
    },
    close: () => real.close(),
  }
  const content = memoryContent()
  const catalog = closedAfterwards(await openCatalog({ store, content, managedVersioning: true }))
  const { a } = await tables(catalog, content)
  const late = catalog.transaction(async (tx) => {
    await give(tx, 'a', await a.stage(2, 'a2'))
    loses = true
  })
  await expect(late).rejects.toThrow('lost')
  expect(loses).toBe(false)
  expect(await a.manifests()).toEqual([
    [1, 'a1'],
    [2, 'a2'],
  ])
  expect(await waiting(content)).toEqual([])
})

import { expect, it } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { keys } from '../../../src/base/store/records.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog, type Transaction } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith, pathOf, pathsOf } from '../../support/contents.ts'
import { numbered, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

/*
 * A vacuum reads in many steps, and others change the catalog between any two of them. Each test runs a change at the
 * first moment of a vacuum, then at the second one, and so on. Nothing that the catalog needs may go.
 */

// It runs a change at each of many moments.
limitEach(60)

const id = ['t']

/** A store that waits before each call. */
function waiting(store: Store, wait: () => Promise<unknown> | undefined): Store {
  return {
    features: store.features,
    read: async (body) => {
      await wait()
      return store.read(body)
    },
    write: async (body) => {
      await wait()
      return store.write(body)
    },
    close: () => store.close(),
  }
}

interface Scene {
  readonly catalog: LocalCatalog
  readonly content: Content
  /** Holds back whatever the catalog writes to its store, from the next manifest on. Returns what lets it go on. */
  readonly holdCommit: () => { readonly held: Promise<void>; readonly letGo: () => void }
}

interface Story {
  /** What is there before the vacuum. Returns what happens amid it. */
  readonly begin: (scene: Scene) => Promise<() => Promise<unknown>>
  readonly check: (scene: Scene) => Promise<void>
}

let location: string

const stories: Readonly<Record<string, Story>> = {
  'an insert that is recorded': inserting({ onProgress: () => {} }),
  'an insert that its commit records': inserting({}),
  'a transaction with rows': {
    async begin({ catalog }) {
      await catalog.createTable({ id, data: numbered(3) })
      return transacting(catalog, async (tx) => {
        await tx.insertIntoTable({ id, data: numbered(2, 3) })
        await tx.createTable({ id: ['u'], data: numbered(2) })
      })
    },
    async check({ catalog }) {
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
      expect(await rowsOf(catalog, ['u'])).toEqual(numbered(2))
    },
  },
  'a transaction that declares a table with files of others': {
    begin: ({ catalog, content }) =>
      transacting(catalog, async (tx) => {
        const { location } = await tx.declareTable({ id })
        await content.put(`${pathOf(location)}data/theirs.lance`, new Uint8Array(7))
      }),
    async check({ content }) {
      expect(await pathsOf(content)).toHaveLength(1)
    },
  },
  'a table that is deregistered': {
    async begin({ catalog }) {
      location = (await catalog.createTable({ id, data: numbered(3) })).location
      return () => catalog.deregisterTable({ id })
    },
    async check({ catalog }) {
      await catalog.registerTable({ id, location })
      expect(await rowsOf(catalog, id)).toEqual(numbered(3))
    },
  },
  'a declared table with files of others that is deregistered': {
    async begin({ catalog, content }) {
      const { location } = await catalog.declareTable({ id })
      await content.put(`${pathOf(location)}data/theirs.lance`, new Uint8Array(7))
      return () => catalog.deregisterTable({ id })
    },
    async check({ content }) {
      expect(await pathsOf(content)).toHaveLength(1)
    },
  },
  'a table that is registered again': {
    async begin({ catalog }) {
      await catalog.createTable({ id, data: numbered(3) })
      const { location } = await catalog.deregisterTable({ id })
      return () => catalog.registerTable({ id: ['u'], location })
    },
    async check({ catalog }) {
      expect(await rowsOf(catalog, ['u'])).toEqual(numbered(3))
    },
  },
}

/** A transaction that has done its work, and is committed by what this returns. */
async function transacting(
  catalog: LocalCatalog,
  work: (tx: Transaction) => Promise<void>,
): Promise<() => Promise<void>> {
  let letGo = () => {}
  let isDone = () => {}
  const done = new Promise<void>((resolve) => {
    isDone = resolve
  })
  const committed = catalog.transaction(async (tx) => {
    await work(tx)
    await new Promise<void>((resolve) => {
      letGo = resolve
      isDone()
    })
  })
  await done
  return () => {
    letGo()
    return committed
  }
}

/** An insert whose rows are written, and whose commit is on its way. */
function inserting(options: { onProgress?: () => void }): Story {
  return {
    async begin({ catalog, holdCommit }) {
      await catalog.createTable({ id, data: numbered(3) })
      const { held, letGo } = holdCommit()
      const inserted = catalog.insertIntoTable({ id, data: numbered(2, 3) }, options)
      await held
      return () => {
        letGo()
        return inserted
      }
    },
    async check({ catalog }) {
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
    },
  }
}

/** Runs a story with its change at one moment of a vacuum. Returns whether the vacuum has such a moment. */
async function runs({ begin, check }: Story, at: number): Promise<boolean> {
  const store = memoryStore()
  const content = memoryContent()
  let hold: Promise<void> | undefined
  let onManifest: (() => void) | undefined
  const catalog = closedAfterwards(
    await openCatalog({
      store: waiting(store, () => hold),
      content: contentWith(content, {
        async put(path, bytes) {
          if (path.includes('/_versions/')) onManifest?.()
          await content.put(path, bytes)
        },
      }),
      transactionCount: 1,
    }),
  )
  const holdCommit = () => {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      onManifest = () => {
        hold ??= new Promise((done) => {
          letGo = done
        })
        resolve()
      }
    })
    return { held, letGo: () => letGo() }
  }
  const scene = { catalog, content, holdCommit }
  const change = await begin(scene)

  // Opening a catalog has no moments.
  let moments = Number.NEGATIVE_INFINITY
  const moment = async () => {
    if (moments++ !== at) return
    await change()
    // Nothing is known any more of what was done.
    const kept = () => store.read((reader) => [...reader.range({ prefix: keys.transactions })].length)
    for (let n = 0; n < 3; n++) await catalog.createNamespace({ id: [`n${n}`] })
    await expect.poll(kept).toBe(1)
  }
  const other = closedAfterwards(
    await openCatalog({
      store: waiting(store, moment),
      content: contentWith(content, {
        async *list(prefix) {
          await moment()
          yield* content.list(prefix)
          await moment()
        },
        async get(path, range) {
          await moment()
          return content.get(path, range)
        },
      }),
    }),
  )
  moments = 0
  await other.vacuum({ graceMillis: 0 })
  const isReached = moments > at
  if (!isReached) await change()
  await check(scene)
  return isReached
}

it.each(Object.entries(stories))('at each moment of a vacuum: %s', async (_, story) => {
  let at = 0
  while (await runs(story, at)) at++
  expect(at).toBeGreaterThan(5)
})

it('a change ends, though a vacuum begins whenever it has written something', async () => {
  const store = memoryStore()
  const own = memoryContent()
  const others = closedAfterwards(await openCatalog({ store, content: own }))
  let vacuums = 0
  const content = contentWith(own, {
    async put(path, bytes) {
      const stored = await own.put(path, bytes)
      vacuums++
      await others.vacuum({ graceMillis: 0 })
      return stored
    },
  })
  const catalog = closedAfterwards(await openCatalog({ store, content }))
  const rows = numbered(20_000)
  await catalog.createTable({ id, data: rows })
  await catalog.insertIntoTable({ id, data: rows })
  await catalog.deleteFromTable({ id, predicate: 'n < 1000' })
  expect(vacuums).toBeGreaterThan(3)
  expect(await catalog.countTableRows({ id, predicate: 'n >= 0' })).toMatchObject({ count: 38_000 })
})

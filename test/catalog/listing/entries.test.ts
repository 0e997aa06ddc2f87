import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../../../src/catalog/formats/index.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { stages } from '../../histories/stages.ts'
import { bySegments, type Page, requireOrder, walkPages } from './walk.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const id = ['t']

type Token = string | null | undefined

/** A listing whose entries are named by numbers: how to read a page, and how entries come and go. */
interface Listing {
  readonly list: (catalog: LocalCatalog, page_token: Token, limit: number) => Promise<Page<string>>
  readonly add: (catalog: LocalCatalog, n: number) => Promise<unknown>
  readonly remove: (catalog: LocalCatalog, n: number) => Promise<unknown>
  readonly compare: (a: string, b: string) => number
}

const letters = ['a', 'B', 'ｚ', '𝒜', 'é']
const anyName = (n: number) => `${letters[n % letters.length]}${n}`
const plainName = (n: number) => `${'aB-_.'[n % 5]}${n}`
const numerically = (a: string, b: string) => Number(a) - Number(b)

const ofOneFormat = { id: [], name: 'format', value: 'MINE' }

function versions(descending: boolean): Listing {
  return {
    async list(catalog, page_token, limit) {
      const answer = await catalog.listTableVersions({ id, page_token, limit, descending })
      return { items: answer.versions.map(({ version }) => String(version)), token: answer.page_token }
    },
    // Versions come at the end only, whatever the number asked for.
    async add(catalog) {
      const { version } = await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })
      return catalog.createTableVersion({ id, version: version! + 1, manifest_path: 'm' })
    },
    remove: (catalog, n) =>
      catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: n, end_version: n + 1 }] }),
    compare: descending ? (a, b) => numerically(b, a) : numerically,
  }
}

const listings: Readonly<Record<string, Listing>> = {
  namespaces: {
    async list(catalog, page_token, limit) {
      const { namespaces, page_token: token } = await catalog.listNamespaces({ id: [], page_token, limit })
      return { items: namespaces, token }
    },
    add: (catalog, n) => catalog.createNamespace({ id: [anyName(n)] }),
    remove: (catalog, n) => catalog.dropNamespace({ id: [anyName(n)] }),
    compare: bySegments,
  },
  'tables of one format': {
    async list(catalog, page_token, limit) {
      const { names, next } = await tablesWith(catalog, { ...ofOneFormat, page_token, limit })
      return { items: names, token: next }
    },
    async add(catalog, n) {
      const ofFormat = (name: string, format: string) =>
        catalog.declareTable({ id: [name], properties: { format } })
      await ofFormat(anyName(n), 'Mine')
      await ofFormat(`${anyName(n)} of another`, 'Other').catch(() => {})
    },
    remove: (catalog, n) => catalog.dropTable({ id: [anyName(n)] }),
    compare: bySegments,
  },
  'versions, oldest first': versions(false),
  'versions, latest first': versions(true),
  tags: {
    async list(catalog, page_token, limit) {
      const { tags, page_token: token } = await catalog.listTableTags({ id, page_token, limit })
      return { items: Object.keys(tags), token }
    },
    add: (catalog, n) => catalog.createTableTag({ id, tag: plainName(n), version: 0 }),
    remove: (catalog, n) => catalog.deleteTableTag({ id, tag: plainName(n) }),
    compare: bySegments,
  },
  branches: {
    async list(catalog, page_token, limit) {
      const { branches, page_token: token } = await catalog.listTableBranches({ id, page_token, limit })
      return { items: Object.keys(branches), token }
    },
    add: (catalog, n) => catalog.createTableBranch({ id, name: plainName(n), from_version: 0 }),
    remove: (catalog, n) => catalog.deleteTableBranch({ id, name: plainName(n) }),
    compare: bySegments,
  },
}

/** Even numbers stay, odd ones come and go. */
const plan = fc.record({
  between: fc.array(fc.array(fc.tuple(fc.boolean(), fc.nat(12)), { maxLength: 6 }), { maxLength: 12 }),
  limits: fc.array(fc.constantFrom(1, 2, 0, 5, Number.MAX_SAFE_INTEGER), { maxLength: 8 }),
})

describe.each(['memory', 'lmdb'] as const)('walks on %s', (store) => {
  test.each(Object.keys(listings))(
    'through %s see what is there throughout exactly once',
    {
      timeout: 20_000 * factor,
    },
    async (kind) => {
      const { list, add, remove, compare } = listings[kind]!
      await fc.assert(
        fc.asyncProperty(plan, async ({ between, limits }) => {
          await using stage = await stages[store]!()
          const { catalog } = stage
          await catalog.declareTable({ id })
          await catalog.createTableVersion({ id, version: 0, manifest_path: 'm' })
          for (let n = 1; n <= 20; n++) await add(catalog, n)
          const all = await list(catalog, null, Number.MAX_SAFE_INTEGER)
          for (let n = 1; n <= 20; n += 2) await remove(catalog, n)
          const kept = (await list(catalog, null, Number.MAX_SAFE_INTEGER)).items
          expect(kept.length).toBeGreaterThanOrEqual(10)
          expect(all.items.length).toBe(kept.length + 10)

          const pages = await walkPages(
            (token, limit) => list(catalog, token, limit),
            [...limits, 2],
            async (page) => {
              for (const [adds, n] of between[page % 13] ?? []) {
                await (adds ? add : remove)(catalog, 2 * n + 1).catch(() => {})
              }
            },
          )

          const seen = pages.flat()
          requireOrder(seen, compare)
          expect(seen.filter((item) => kept.includes(item))).toEqual(kept)
        }),
        { numRuns: (store === 'memory' ? 24 : 5) * factor },
      )
    },
  )

  test('get past thousands of tables of another format, in short pages', async () => {
    await using stage = await stages[store]!()
    const { catalog } = stage
    const declared = (name: string, format: string) => ({
      declare_table: { id: [name], properties: { format } },
    })
    const others = Array.from({ length: 9_999 }, (_, i) => declared(`t${10_000 + i}`, 'other'))
    await catalog.batchCommitTables({ operations: [declared('a', 'mine'), ...others] })
    await catalog.batchCommitTables({ operations: [declared('u', 'other'), declared('v', 'other')] })
    await catalog.batchCommitTables({ operations: [declared('z', 'mine')] })
    const pages = await walkPages(
      async (page_token, limit) => {
        const { names, next } = await tablesWith(catalog, { ...ofOneFormat, page_token, limit })
        return { items: names, token: next }
      },
      [10],
    )
    expect(pages).toEqual([['a'], ['z']])
  })
})

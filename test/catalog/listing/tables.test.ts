import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { stages } from '../../histories/stages.ts'
import { bySegments, requireOrder, walkPages } from './walk.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)

// In JavaScript's own order the last two come the other way round.
const names = ['a', 'a-', 'b', 'é', 'ｚ', '𝒜'] as const
const name = fc.constantFrom(...names)

/** Namespaces that stay, and those that come and go. */
const lasting = [[], ['a'], ['a', 'b'], ['𝒜'], ['ｚ'], ['b', 'a', 'a']]
const parents = [['b'], ['b', 'a']]
const fleeting = [['é'], ['a', 'é'], ['a-'], ['b', 'ｚ']]

const place = fc.constantFrom(...lasting, ...fleeting, ...fleeting)
const tableName = name.map((n) => `${n}.t`)
const change = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), at: place, name: tableName, declared: fc.boolean() }),
  fc.record({ kind: fc.constant('drop' as const), at: place, name: tableName }),
  fc.record({
    kind: fc.constant('move' as const),
    at: place,
    name: tableName,
    to: place,
    newName: tableName,
  }),
  fc.record({ kind: fc.constant('dropNamespace' as const), at: fc.constantFrom(...fleeting) }),
  fc.record({ kind: fc.constant('createNamespace' as const), at: fc.constantFrom(...fleeting) }),
)

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

const plan = fc.record({
  first: fc.array(change, { maxLength: 30, size: 'max' }),
  stable: fc.uniqueArray(fc.tuple(fc.constantFrom(...lasting), name), {
    maxLength: 20,
    size: 'max',
    selector: ([at, n]) => [...at, n].join('$'),
  }),
  between: fc.array(fc.array(change, { maxLength: 6, size: 'max' }), { maxLength: 15, size: 'max' }),
  limits: fc.array(fc.constantFrom(1, 2, 3, 0, 7, Number.MAX_SAFE_INTEGER), { maxLength: 10 }),
  last: fc.constantFrom(1, 2, 5),
  under: fc.constantFrom(...lasting),
  includeDeclared: fc.boolean(),
})

describe.each(['memory', 'lmdb'] as const)(
  'walks through the tables of a changing catalog on %s',
  (store) => {
    test('see every table that is there throughout exactly once, in order', {
      timeout: 20_000 * factor,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(plan, async ({ first, stable, between, limits, last, under, includeDeclared }) => {
          await using stage = await stages[store]!()
          const { catalog } = stage
          for (const id of [...parents, ...lasting].filter((path) => path.length > 0).sort(byDepth)) {
            await catalog.createNamespace({ id })
          }
          // Stable names end in `.s`, fleeting ones in `.t`: no change hits a table that is to stay.
          const kept = stable.map(([at, n]) => [...at, `${n}.s`])
          await createTables(catalog, kept, includeDeclared)
          for (const one of first) await apply(catalog, one)

          const pages = await walkPages(
            async (page_token, limit) => {
              const asked = { id: under, page_token, include_declared: includeDeclared }
              const { tables, page_token: token } = await catalog.listTables({ ...asked, limit })
              const all = await catalog.listTables({ id: under, include_declared: includeDeclared })
              const from = all.tables.indexOf(tables[0] ?? '')
              // Nothing that is there is left out within a page.
              if (tables.length > 0) expect(tables).toEqual(all.tables.slice(from, from + tables.length))
              return { items: tables, token }
            },
            [...limits, last],
            async (page) => {
              for (const one of between[page % 16] ?? []) await apply(catalog, one)
            },
          )

          const seen = pages.flat()
          requireOrder(seen, bySegments)
          const wanted = kept.filter((id) => under.every((n, i) => id[i] === n)).map((id) => id.join('$'))
          expect(seen.filter((id) => id.endsWith('.s'))).toEqual(wanted.sort(bySegments))
        }),
        { numRuns: (store === 'memory' ? 70 : 20) * factor },
      )
    })

    test('end early, with a token, at a page of none, and hold 10,000 tables at most', async () => {
      await using stage = await stages[store]!()
      const { catalog } = stage
      const ids = Array.from({ length: 10_050 }, (_, i) => [`t${String(i).padStart(5, '0')}`])
      for (const part of [ids.slice(0, 10_000), ids.slice(10_000)]) {
        await catalog.batchCommitTables({ operations: part.map((id) => ({ declare_table: { id } })) })
      }
      const none = await catalog.listTables({ id: [], limit: 0 })
      expect(none.tables).toEqual([])
      const usual = await catalog.listTables({ id: [], page_token: none.page_token })
      expect(usual.tables).toHaveLength(1_000)
      const most = await catalog.listTables({ id: [], limit: Number.MAX_SAFE_INTEGER })
      expect(most.tables).toHaveLength(10_000)
      const rest = await catalog.listTables({ id: [], page_token: most.page_token })
      expect([...most.tables, ...rest.tables]).toEqual(ids.map(([id]) => id))
      expect(rest.page_token).toBeUndefined()
      await catalog.createNamespace({ id: ['empty'] })
      expect((await catalog.listTables({ id: ['empty'], limit: 0 })).page_token).toBeUndefined()
    })

    test('get past thousands of empty namespaces, in short pages', async () => {
      await using stage = await stages[store]!()
      const { catalog } = stage
      await Promise.all(
        Array.from({ length: 10_100 }, (_, i) => catalog.createNamespace({ id: [`n${10_000 + i}`] })),
      )
      await catalog.declareTable({ id: ['z'] })
      const pages = await walkPages(
        async (page_token, limit) => {
          const { tables, page_token: token } = await catalog.listTables({ id: [], page_token, limit })
          return { items: tables, token }
        },
        [10],
      )
      expect(pages).toEqual([[], ['z']])
    })
  },
)

async function apply(catalog: LocalCatalog, one: Change): Promise<void> {
  // Names collide and places may be gone: what cannot be done is left out.
  await perform(catalog, one).catch(() => {})
}

async function perform(catalog: LocalCatalog, one: Change): Promise<unknown> {
  switch (one.kind) {
    case 'create':
      return createTables(catalog, [[...one.at, one.name]], one.declared)
    case 'drop':
      return catalog.dropTable({ id: [...one.at, one.name] })
    case 'move':
      return catalog.renameTable({
        id: [...one.at, one.name],
        new_table_name: one.newName,
        new_namespace_id: one.to,
      })
    case 'dropNamespace':
      return catalog.dropNamespace({ id: one.at, behavior: 'Cascade' })
    case 'createNamespace':
      return catalog.createNamespace({ id: one.at })
  }
}

async function createTables(
  catalog: LocalCatalog,
  ids: readonly string[][],
  declared: boolean,
): Promise<void> {
  if (ids.length === 0) return
  const declarations = ids.map((id) => ({ declare_table: { id } }))
  const versions = ids.map((id) => ({ create_table_version: { id, version: 1, manifest_path: 'm' } }))
  await catalog.batchCommitTables({ operations: declared ? declarations : [...declarations, ...versions] })
}

function byDepth(a: readonly string[], b: readonly string[]): number {
  return a.length - b.length
}

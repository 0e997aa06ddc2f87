import { describe, expect } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'

/* Predicates and expressions for tables of Lance: all of a text counts, and values are those of the row as it was. */

const id = ['t']

async function catalogWithRows(): Promise<LocalCatalog> {
  const catalog = closedAfterwards(
    await openCatalog(await freshFolder(), { format: 'lance', ...howLanceRuns }),
  )
  const data = [1, 2, 3].map((n) => ({ n, text: n === 2 ? "a) -- '(" : 'b' }))
  await catalog.createTable({ id, data })
  return catalog
}

const versionOf = async (catalog: LocalCatalog) => (await catalog.listTableVersions({ id })).versions.length

describe('a text for Lance', () => {
  lanceIt('is refused where something follows the predicate, and nothing changes', async () => {
    const catalog = await catalogWithRows()
    const rows = await rowsOf(catalog, id)
    const trailing = [
      'n = 1 nad n = 2',
      'true; DROP TABLE t',
      'n = 1) OR (true',
      "n = 1 /* ' */) OR (true /* ' */",
    ]
    for (const predicate of trailing) {
      const refused = { code: 'InvalidInput' }
      await expect(catalog.deleteFromTable({ id, predicate })).rejects.toMatchObject(refused)
      await expect(countOf(catalog, id, { predicate })).rejects.toMatchObject(refused)
      await expect(catalog.queryTable({ id, filter: predicate })).rejects.toMatchObject(refused)
      const updates: [string, string][] = [['n', '0']]
      await expect(catalog.updateTable({ id, updates, predicate })).rejects.toMatchObject(refused)
      const merge = { id, on: 'n', data: [{ n: 1, text: 'c' }], when_matched_update_all: true }
      const filtered = { ...merge, when_matched_update_all_filt: predicate }
      await expect(catalog.mergeInsertIntoTable(filtered)).rejects.toMatchObject(refused)
    }
    await expect(catalog.updateTable({ id, updates: [['n', 'n + 1 x']] })).rejects.toMatchObject({
      code: 'InvalidInput',
    })
    expect([await rowsOf(catalog, id), await versionOf(catalog)]).toEqual([rows, 1])
  })

  lanceIt('may hold parentheses, comments and quotes', async () => {
    const catalog = await catalogWithRows()
    const counts = { "text = 'a) -- ''('": 1, '(n = 1) OR (n = 2)': 2, 'n > 1 -- )': 2, 'n > 2 /* ) */': 1 }
    for (const [predicate, count] of Object.entries(counts))
      expect([predicate, await countOf(catalog, id, { predicate })]).toEqual([predicate, count])
    await catalog.updateTable({ id, updates: [['text', "concat('(', text) -- )"]], predicate: 'n = 3' })
    expect(await countOf(catalog, id, { predicate: "text = '(b'" })).toBe(1)
  })

  lanceIt('of an update names no other column that is set', async () => {
    const catalog = await catalogWithRows()
    const update = (...updates: [string, string][]) => catalog.updateTable({ id, updates })
    for (const value of ['cast(n as string)', '`N`', 'concat(text, cast(n AS string))'])
      await expect(update(['n', 'n + 1'], ['text', value])).rejects.toMatchObject({
        code: 'Unsupported',
        message: expect.stringContaining('"text" names the column "n", which the update sets too'),
      })
    expect(await versionOf(catalog)).toBe(1)
    await update(['n', 'n + 1'], ['text', "concat(text, ' n')"])
    expect((await rowsOf(catalog, id)).map(({ n, text }) => [Number(n), text])).toEqual([
      [2, 'b n'],
      [3, "a) -- '( n"],
      [4, 'b n'],
    ])
  })
})

import { readdirSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

const rowsFrom = (start: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ n: start + i, name: `row ${start + i}` }))

describe('verify, of tables of Lance', () => {
  lanceIt('finds each file that is missing or cut, and nothing where all are there', async () => {
    const catalog = closedAfterwards(await openCatalog(await freshFolder(), { format: 'lance' }))
    const id = ['docs']
    await catalog.createTable({ id, data: rowsFrom(0, 50) })
    await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
    await catalog.insertIntoTable({ id, data: rowsFrom(50, 20) })
    await catalog.deleteFromTable({ id, predicate: 'n % 7 = 3' })
    await catalog.createTableBranch({ id, name: 'side' })
    await catalog.insertIntoTable({ id, branch: 'side', data: rowsFrom(100, 5) })
    await catalog.deleteFromTable({ id, branch: 'side', predicate: 'n = 101' })
    await catalog.updateTable({ id, updates: [['name', "'new'"]], predicate: 'n < 3' })
    await catalog.optimizeTable({ id })
    const { location } = await catalog.describeTable({ id })
    const folder = fileURLToPath(location!)
    const whole = await catalog.verify()
    expect(whole).toMatchObject({ ok: true, harmless: 0, elsewhere: 0, tables: 1 })
    expect(whole.bytes).toBeGreaterThan(0)

    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((item) => item.isFile())
      .map((item) => relative(folder, join(item.parentPath, item.name)))
    const kinds = new Set<string>()
    for (const path of files.filter((path) =>
      /(?:^|\/)(?:data|_deletions|_versions)\/[^/]+\.(?!json)[^/]+$/.test(path),
    )) {
      const kind = /(?:data|_deletions|_versions)(?=\/)/.exec(path)![0]
      kinds.add(path.startsWith('tree/') ? `branch ${kind}` : kind)
      const file = join(folder, path)
      const bytes = await readFile(file)
      await rm(file)
      const missing = await catalog.verify()
      const name = path.split('/').at(-1)!
      expect([path, missing.problems + missing.harmless > 0]).toEqual([path, true])
      expect(JSON.stringify(missing.findings)).toContain(name)
      if (kind !== '_versions') expect([path, missing.ok]).toEqual([path, false])
      if (kind !== '_deletions') {
        await writeFile(file, bytes.subarray(0, bytes.length - 1))
        expect([path, (await catalog.verify()).ok]).toEqual([path, false])
      }
      await writeFile(file, bytes)
    }
    expect([...kinds].sort()).toEqual(
      ['_deletions', '_versions', 'branch _deletions', 'branch _versions', 'branch data', 'data'].sort(),
    )
    const indexes = new Set(files.filter((path) => path.startsWith('_indices/')).map((path) => dirname(path)))
    expect(indexes.size).toBeGreaterThan(0)
    for (const index of indexes) {
      await rename(join(folder, index), join(folder, 'away'))
      expect([index, (await catalog.verify()).findings[0]?.message.includes(index)]).toEqual([index, true])
      await rename(join(folder, 'away'), join(folder, index))
    }
    expect(await catalog.verify()).toEqual(whole)
  })
})

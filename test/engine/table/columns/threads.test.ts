import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { fromJsonSchema, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'

test('worker threads read columns from all files of a fragment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'columns-'))
  const options = { fragmentRows: 128, threadedRows: 0, threadedAfter: 0 }
  const threaded = tableEngine({ ...options, content: fileContent(folder), threads: 1 })
  const single = tableEngine({ ...options, content: fileContent(folder), threads: 0 })
  try {
    const rows = Array.from({ length: 1000 }, (_, n) => ({ n, m: n % 7, s: { a: n, b: -n } }))
    const base = await single.create('t', await toArrowTable(rows))
    const predicates = ['n < 300', 's.b = -5', 'm IS NULL OR s.b > -3']
    const both = async (snapshot: typeof base, more: readonly string[] = []) => {
      for (const predicate of [...predicates, ...more]) {
        const [counted, expected] = await Promise.all(
          [threaded, single].map((engine) => engine.countRows(snapshot, { predicate }).catch(String)),
        )
        expect(counted, predicate).toEqual(expected)
      }
    }
    await both(base)
    const renamed = (
      await single
        .alterColumns([
          { path: 'n', rename: 'm' },
          { path: 'm', rename: 'n' },
        ])
        .apply(base)
    ).snapshot
    await both(renamed)
    const [later] = fromJsonSchema({
      fields: [{ name: 'later', type: { type: 'int32' }, nullable: true }],
    }).fields
    const added = (
      await single.addColumns([{ name: 'sum', expression: 'n + s.b' }, { field: later! }]).apply(renamed)
    ).snapshot
    await both(added, ['sum > -10', 'later IS NULL', 'later = 1'])
    const dropped = (await single.dropColumns(['m', 's.a']).apply(added)).snapshot
    await both(dropped, ['sum > -10', 's.b > sum'])
    await both(base)
  } finally {
    await threaded.close()
    await rm(folder, { recursive: true })
  }
})

import { tableFromIPC } from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { ByteBudget } from '../../../../src/base/scheduling/byte-budget.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { type AnyBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { assemble } from '../../../../src/engine/arrow/take/take.ts'
import { type Snapshot, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { contentWith } from '../../../support/contents.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { fixture, plain } from '../../arrow/fixtures.ts'

limitEach(60)

const types = await decodeArrow(fixture('types.arrows'))

/** Some rows of the table with every type, in this order. */
function ofEveryType(rows: readonly number[]) {
  const columns = types.children.map(({ data, type }) => {
    const all = assemble(
      type,
      (data as readonly AnyBatch[]).map((batch) => ({ batch, runs: [0, batch.length] })),
    )
    const pieces = rows.map((row) => ({ batch: all, runs: [row, row + 1] }))
    return makeColumn(type, [assemble(type, pieces)])
  })
  return new (types.constructor as new (...given: unknown[]) => typeof types)(types.schema, columns)
}

const textsOf = (data: Uint8Array, columns: readonly string[]) =>
  decodeArrow(data).then((table) =>
    (table.toArray() as Record<string, unknown>[])
      .map((row) =>
        JSON.stringify(
          columns.map((name) => plain(row[name])),
          (_, part) => (typeof part === 'bigint' ? `${part}n` : part),
        ),
      )
      .sort(),
  )

test('rows of every type are compared by their values', async () => {
  const engine = tableEngine({ content: memoryContent(), fragmentRows: 64 })
  const count = types.numRows
  const all = Array.from({ length: count }, (_, row) => row)
  const first = await engine.create('t/', ofEveryType(all))
  const other = all.toReversed().filter((row) => row % 3 !== 1)
  const change = await engine.overwriteRows('t/', ofEveryType([...other, 0]))
  const { snapshot } = await change.apply(first)
  for (const { name } of types.schema.fields) {
    const texts = async (given: Snapshot) =>
      textsOf(await engine.queryRows(given, { columns: [name] }), [name])
    const [was, is] = [await texts(first), await texts(snapshot)]
    const data = await engine.queryChanges(first, snapshot, { columns: [name] })
    const kinds = tableFromIPC(data).getChild('_change_type').toArray() as string[]
    const found = (await decodeArrow(data)).toArray() as Record<string, unknown>[]
    expect(found).toHaveLength(kinds.length)
    const replayed = [...was]
    for (const text of await textsOf(
      await engine.queryChanges(first, snapshot, {
        columns: [name],
        limit: kinds.filter((kind) => kind === 'delete').length,
      }),
      [name],
    )) {
      expect(replayed, name).toContain(text)
      replayed.splice(replayed.indexOf(text), 1)
    }
    const added = await textsOf(
      await engine.queryChanges(first, snapshot, {
        columns: [name],
        offset: kinds.filter((kind) => kind === 'delete').length,
      }),
      [name],
    )
    expect([...replayed, ...added].sort(), name).toEqual(is)
    // No row is told that both have.
    for (const text of added)
      expect(was.filter((one) => one === text).length, name).toBeLessThan(
        is.filter((one) => one === text).length,
      )
  }
})

const numbers = (start: number, count: number) =>
  toArrowTable(
    Array.from({ length: count }, (_, i) => ({ n: start + i, s: `row ${start + i}`, long: 'x'.repeat(200) })),
  )

/** A content that notes which files of rows are read, and how many bytes of them. */
function noting() {
  const content = memoryContent()
  const read = { files: new Set<string>(), bytes: 0 }
  const note = (path: string, found: readonly (Uint8Array | undefined)[]) => {
    if (!path.includes('data/') && !path.includes('deletions/')) return
    read.files.add(path)
    for (const bytes of found) read.bytes += bytes?.length ?? 0
  }
  const noted = contentWith(content, {
    get: async (path, range) => {
      const bytes = await content.get(path, range)
      note(path, [bytes])
      return bytes
    },
    getRanges: undefined,
  })
  return { engine: tableEngine({ content: noted, cacheBytes: 0, fragmentRows: 1_024, levels: [] }), read }
}

test('what both versions share is not read', async () => {
  const { engine, read } = noting()
  let version = await engine.create('t/', await numbers(0, 40 * 1_024))
  for (let i = 0; i < 300; i++) {
    const change = await engine.insertRows(version, await numbers(1_000_000 + i, 1))
    version = (await change.apply(version)).snapshot
  }
  const before = version
  const insert = await engine.insertRows(before, await numbers(2_000_000, 10))
  const inserted = (await insert.apply(before)).snapshot
  const deleted = (await engine.deleteRows('n = 5000').apply(inserted)).snapshot
  const readFor = async (from: Snapshot, to: Snapshot) => {
    read.files.clear()
    read.bytes = 0
    const rows = tableFromIPC(
      await engine.queryChanges(await engine.open('t/', from.manifest), await engine.open('t/', to.manifest)),
    ).numRows
    return { rows, files: [...read.files].map((path) => path.split('/').at(-2)).sort(), bytes: read.bytes }
  }
  expect(await readFor(before, before)).toEqual({ rows: 0, files: [], bytes: 0 })
  const added = await readFor(before, inserted)
  expect(added).toMatchObject({ rows: 10, files: ['data'] })
  expect(added.bytes).toBeLessThan(20_000)
  // The deletions, and the row in its fragment.
  const gone = await readFor(inserted, deleted)
  expect(gone).toMatchObject({ rows: 1, files: ['data', 'deletions'] })
  const whole = before.bytes
  expect(gone.bytes).toBeLessThan(whole / 20)
  expect((await readFor(before, deleted)).files).toEqual(['data', 'data', 'deletions'])
})

test('an answer in parts is the file that a whole answer is, and holds memory only while it is read', async () => {
  const engine = tableEngine({ content: memoryContent(), fragmentRows: 1_024 })
  const first = await engine.create('t/', await numbers(0, 30_000))
  const update = await engine.updateRows(first, { updates: [['s', "concat(s, '!')"]] })
  const second = (await update.apply(first)).snapshot
  const whole = await engine.queryChanges(first, second, { on: ['n'] })
  const budget = new ByteBudget(64 << 20, { maxWait: 1_000 } as never)
  const memory = budget.hold(0)
  const parts: Uint8Array[] = []
  let most = 0
  for await (const part of (await engine.streamChanges(first, second, {
    on: ['n'],
    memory,
  })) as AsyncIterable<Uint8Array>) {
    parts.push(part.slice())
    most = Math.max(most, memory.held)
  }
  expect(parts.length).toBeGreaterThan(1)
  const rows = tableFromIPC(whole).toArray()
  expect(tableFromIPC(Buffer.concat(parts)).toArray()).toEqual(rows)
  expect(rows).toHaveLength(60_000)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(40 << 20)
  for (const [offset, limit] of [
    [0, 5],
    [29_998, 4],
    [59_999, 7],
    [70_000, 1],
    [3, 0],
  ]) {
    const some = tableFromIPC(
      await engine.queryChanges(first, second, { on: ['n'], offset, limit }),
    ).toArray()
    expect(some).toEqual(rows.slice(offset, offset! + limit!))
  }
  await expect(engine.queryChanges(first, second, { maxBytes: 1 << 20 })).rejects.toThrow(
    /would take more than/,
  )
})

test('row ids are those of the version that a row is of', async () => {
  const engine = tableEngine({ content: memoryContent() })
  const first = await engine.create('t/', await toArrowTable([{ k: 1 }, { k: 2 }, { k: 3 }]))
  const second = (
    await (await engine.updateRows(first, { updates: [['k', 'k * 10']], predicate: 'k = 2' })).apply(first)
  ).snapshot
  const found = tableFromIPC(await engine.queryChanges(first, second, { withRowId: true })).toArray()
  expect(found).toEqual([
    { k: 2, _rowid: 1, _change_type: 'delete' },
    { k: 20, _rowid: 3, _change_type: 'insert' },
  ])
})

test('columns and keys that do not fit are refused', async () => {
  const engine = tableEngine({ content: memoryContent() })
  const first = await engine.create(
    't/',
    await toArrowTable([
      { k: 1, s: 'a' },
      { k: 1, s: 'b' },
      { k: null, s: 'c' },
    ]),
  )
  const overwrite = async (rows: Record<string, unknown>[]) =>
    (await (await engine.overwriteRows('t/', await toArrowTable(rows))).apply(first)).snapshot
  const empty = (await engine.deleteRows('true').apply(first)).snapshot
  const keyless = (await engine.deleteRows('k IS NULL').apply(first)).snapshot
  const refused = (to: Snapshot, options: object, message: RegExp, from = first) =>
    expect(engine.queryChanges(from, to, options)).rejects.toThrow(message)
  await refused(empty, { on: ['k'] }, /null in "k"/)
  await refused(empty, { on: ['k'] }, /same values in "k"/, keyless)
  await refused(keyless, { on: ['k'] }, /same values in "k"/, empty)
  await refused(empty, { on: ['none'] }, /no column "none"/)
  await refused(empty, { on: ['k', 'k'] }, /"k" twice/)
  await refused(empty, { on: ['k'], columns: ['s'] }, /which columns leaves out/)
  await refused(empty, { columns: ['none'] }, /no column "none"/)
  await refused(empty, { columns: [] }, /is empty/)
  await refused(await overwrite([{ k: 'text', s: 'a' }]), {}, /"k" is double in the one version and/)
  await refused(await overwrite([{ other: 1 }]), { on: ['other'] }, /does not have/)
  await refused(await overwrite([{ _change_type: 1 }]), {}, /has a column _change_type/)
  await refused(await overwrite([{ _rowid: 1 }]), { withRowId: true }, /_rowid/)
  const some = await engine.queryChanges(first, await overwrite([{ k: 'text', s: 'a' }]), { columns: ['s'] })
  expect(tableFromIPC(some).toArray()).toEqual([
    { s: 'b', _change_type: 'delete' },
    { s: 'c', _change_type: 'delete' },
  ])
})

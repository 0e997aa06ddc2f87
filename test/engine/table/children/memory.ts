import { rmSync } from 'node:fs'
import { field, fixedSizeList, float32, int32, tableFromArrays, utf8 } from '@uwdata/flechette'
import type { Content } from '../../../../src/base/content/content.ts'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { type Snapshot, type TableEngine, tableEngine } from '../../../../src/engine/table/index.ts'
import { minIndexedRows } from '../../../../src/engine/table/indexes/indexed-fields.ts'
import { temporaryDirectory } from '../../../support/folders.ts'
import { bytesInUse } from '../../../support/garbage.ts'
import type { kinds, LongValues } from '../memory-kinds.ts'

/*
 * Does one kind of work on a small and on a large table, and writes the most bytes that it held at one time. These are
 * counted whenever the work reads or writes, and without garbage: so they are what it needs.
 */

const fewRows = 1_024
const dimension = 16

let look = () => {}

/** A content at which memory is looked at when it is used. Large objects are told to be written, and forgotten. */
function watched(content: Content, keeps: boolean): Content {
  return {
    get: async (...given) => {
      const bytes = await content.get(...given)
      look()
      return bytes
    },
    getRanges: async (...given) => {
      const found = await content.getRanges!(...given)
      look()
      return found
    },
    readCost: content.readCost,
    put: async (path, parts) => {
      look()
      if (keeps || !path.includes('data/')) await content.put(path, parts)
    },
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
  }
}

function rowsOf(start: number, count: number, step = 1) {
  const ids = Array.from({ length: count }, (_, i) => start + i * step)
  return tableFromArrays(
    {
      id: ids,
      text: ids.map((id) => `${(id * 7919) % 10_007} `.repeat(100)),
      vector: ids.map((id) => Array.from({ length: dimension }, (_, i) => Math.sin(id * (i + 1)))),
    },
    { types: { id: int32(), text: utf8(), vector: fixedSizeList(field('item', float32()), dimension) } },
  )
}

type Work = (engine: TableEngine, base: Snapshot) => Promise<unknown>

const works: Readonly<Record<(typeof kinds)[number], Work>> = {
  'an update': async (engine, base) =>
    (await engine.updateRows(base, { updates: [['id', 'id + 1']], predicate: 'id % 2 = 0' })).apply(base),
  'an update to long texts': async (engine, base) =>
    (await engine.updateRows(base, { updates: [['text', 'repeat(text, 2)']] })).apply(base),
  'a merge': async (engine, base) => {
    const source = rowsOf(0, 512, Math.floor(base.rows / 400))
    const options = { on: ['id'], matched: 'update', inserts: true, orphans: 'keep' } as const
    return (await engine.mergeRows(base, source, options)).apply(base)
  },
  'a column of long texts': (engine, base) =>
    engine.addColumns([{ name: 'more', expression: 'repeat(text, 3)' }]).apply(base),
  'an order': (engine, base) =>
    engine.queryRows(base, { orderBy: [{ column: 'text', descending: true }], limit: 100 }),
  'a take': (engine, base) => {
    const ids = Array.from({ length: 64 }, (_, i) => i * Math.floor(base.rows / 64))
    return engine.queryRows(base, { filter: `_rowid IN (${ids.join()})` })
  },
  'a search': (engine, base) =>
    engine.queryRows(base, {
      columns: ['id'],
      limit: 10,
      search: { vectors: [new Array(dimension).fill(0.5)] },
    }),
  'an index': (engine, base) => {
    const index = { column: 'text', type: 'BTREE', parameters: {}, uuid: '', createdAt: 0 } as const
    return engine.createIndices([index]).apply(base)
  },
}

/** The most bytes held by work on a table of so many fragments. */
async function peakOf(work: Work, fragments: number, fragmentRows: number): Promise<number> {
  const folder = await temporaryDirectory()
  const content = watched(fileContent(folder), true)
  const engine = tableEngine({ content, cacheBytes: 2 ** 18, fragmentRows })
  try {
    const part = (number: number) => rowsOf(number * fragmentRows, fragmentRows)
    let base = await engine.create('', part(0))
    for (let number = 1; number < fragments; number++) {
      base = (await (await engine.insertRows(base, part(number))).apply(base)).snapshot
    }
    // What is loaded and made once does not count.
    await work(engine, base)
    return await mostWithin(() => work(engine, base))
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true })
  }
}

/** The most bytes held by updates of tables of one fragment, all at once. */
async function peakOfLongValues({ updates, columns, rows, length }: LongValues): Promise<number> {
  const folder = await temporaryDirectory()
  const engine = tableEngine({ content: watched(fileContent(folder), true), cacheBytes: 0 })
  try {
    const names = Array.from({ length: columns }, (_, i) => `text${i}`)
    const table = tableFromArrays(
      Object.fromEntries(names.map((name) => [name, new Array(rows).fill('long')])),
      { types: Object.fromEntries(names.map((name) => [name, utf8()])) },
    )
    const dropping = tableEngine({ content: watched(fileContent(folder), false), cacheBytes: 0 })
    const works: (() => Promise<unknown>)[] = []
    for (let number = 0; number < updates; number++) {
      const base = await engine.create(`${number}/`, table)
      const change = await dropping.updateRows(base, {
        updates: names.map((name) => [name, `repeat(${name}, ${length / 4})`]),
      })
      works.push(() => change.apply(base))
    }
    return await mostWithin(() => Promise.all(works.map((work) => work())))
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true })
  }
}

/** What adding a column of 160 MiB to one fragment is refused with. */
async function refusedColumn(): Promise<string> {
  const engine = tableEngine({ content: fileContent(await temporaryDirectory()), cacheBytes: 0 })
  const table = tableFromArrays({ text: new Array(640).fill('long') }, { types: { text: utf8() } })
  const base = await engine.create('', table)
  const change = engine.addColumns([{ name: 'more', expression: 'repeat(text, 65536)' }])
  return change.apply(base).then(
    () => 'added',
    (error: Error) => error.message,
  )
}

async function mostWithin(work: () => Promise<unknown>): Promise<number> {
  const before = bytesInUse()
  let most = 0
  look = () => {
    most = Math.max(most, bytesInUse() - before)
  }
  try {
    await work()
  } finally {
    look = () => {}
  }
  return most
}

const kind = process.argv[2]!
if (kind === 'long values') console.log(await peakOfLongValues(JSON.parse(process.argv[3]!) as LongValues))
else if (kind === 'a column that is too long') console.log(await refusedColumn())
else {
  const work = works[kind as (typeof kinds)[number]]
  // Smaller fragments get no index.
  const rows = kind === 'an index' ? minIndexedRows : fewRows
  console.log(await peakOf(work, 8, rows), await peakOf(work, 32, rows))
}

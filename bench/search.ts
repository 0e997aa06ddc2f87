/** How fast are the nearest of many vectors found, when each is compared? */
import { join } from 'node:path'
import { type Field, field, fixedSizeList, float32, int32, Table } from '@uwdata/flechette'
import { fileContent } from '../src/contents/files/index.ts'
import { makeBatch, makeColumn } from '../src/engine/arrow/batch.ts'
import { type Measure, type Snapshot, type TableEngine, tableEngine } from '../src/engine/table/index.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { arrowTable, lancedb } from './support/peers/lance-rows.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const threads = 2
const measures = ['l2', 'cosine'] as const satisfies readonly Measure[]
const tables = [
  { rows: pick(10_000, 100_000), dimension: 128, hasIndex: true },
  { rows: pick(10_000, 100_000), dimension: 768, hasIndex: false },
  { rows: pick(50_000, 1_000_000), dimension: 128, hasIndex: false },
]
const pieces = 10
/** Searches after which there are copies of the vectors. */
const warmUp = 6

about(`Tables on disk of an integer and a vector of random float32, inserted in ${pieces} pieces. Each search finds the 10
nearest to one vector, and answers their integer, in the warm file cache. Ours has searched the table before, so its
cache of 256 MiB has copies of the vectors, of a byte for each component; its answers are exact. Without a cache it
reads, checks and compares all vectors each time. Ours works on ${threads} threads, LanceDB on all cores. Its index
IVF_PQ answers about the nearest.`)

const folder = newFolder('search')
const database = await lancedb().connect(join(folder, 'lance'))

for (const { rows, dimension, hasIndex } of tables) {
  const name = `${count(rows)} × ${dimension}`
  const path = `${rows}-${dimension}`
  const settings = { content: fileContent(join(folder, path)), threads, threadedAfter: 0 }
  const engine = tableEngine(settings)
  const uncached = tableEngine({ ...settings, cacheBytes: 0 })
  let ours: Snapshot | undefined
  let theirs: Awaited<ReturnType<typeof database.createTable>> | undefined
  for (let piece = 0; piece < pieces; piece++) {
    const table = vectors(rows / pieces, dimension, piece + 1)
    ours = ours
      ? (await (await engine.insertRows(ours, table)).apply(ours)).snapshot
      : await engine.create('', table)
    const lance = arrowTable(arrowBytes(table)) as never
    if (theirs) await theirs.add(lance)
    else theirs = await database.createTable(path, lance)
  }
  const query = Array.from({ length: dimension }, (_, i) => Math.sin(i))
  for (const measure of measures) {
    const nearest = () =>
      theirs!.query().nearestTo(query).distanceType(measure).select(['id', '_distance']).limit(10)
    for (let i = 0; i < warmUp; i++) await search(engine, ours!, query, measure)
    if (hasIndex) await indexed(theirs!, measure)
    const took = await race(rounds, {
      ours: () => milliseconds(() => search(engine, ours!, query, measure)),
      uncached: () => milliseconds(() => search(uncached, ours!, query, measure)),
      lance: () => milliseconds(() => nearest().bypassVectorIndex().toArray()),
      ...(hasIndex && { index: () => milliseconds(() => nearest().toArray()) }),
    })
    figure(`search ${name}, ${measure}`, took.ours!, {
      unit: 'ms',
      against: [
        {
          peer: 'LanceDB without an index',
          samples: took.lance!,
          target: { atLeast: 4, group: 'searching vectors against LanceDB without an index' },
        },
        {
          peer: 'the same without a cache',
          samples: took.uncached!,
          target: { atLeast: 1.5, group: 'searching vectors again' },
        },
        ...(hasIndex ? [{ peer: 'LanceDB with IVF_PQ', samples: took.index!, target: { atLeast: 1 } }] : []),
      ],
    })
  }
  await engine.close()
  await uncached.close()
}

function indexed(
  table: NonNullable<Awaited<ReturnType<typeof database.createTable>>>,
  distanceType: Measure,
) {
  const config = lancedb().Index.ivfPq({ distanceType: distanceType as 'l2' })
  return table.createIndex('v', { config, replace: true })
}

function search(engine: TableEngine, table: Snapshot, query: readonly number[], measure: Measure) {
  return engine.queryRows(table, { columns: ['id'], limit: 10, search: { vectors: [query], measure } })
}

function vectors(rows: number, dimension: number, seed: number): Table {
  const values = new Float32Array(rows * dimension)
  let state = seed
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[i] = (state >>> 8) / 2 ** 24 - 0.5
  }
  const type = fixedSizeList(field('item', float32()), dimension)
  const fields: Field[] = [field('id', int32()), field('v', type)]
  const items = makeBatch(float32(), { length: values.length, values })
  return new Table({ version: 4, endianness: 0, fields, metadata: null } as never, [
    makeColumn(int32(), [
      makeBatch(int32(), { length: rows, values: Int32Array.from({ length: rows }, (_, i) => i) }),
    ]),
    makeColumn(type, [makeBatch(type, { length: rows, children: [items] })]),
  ])
}

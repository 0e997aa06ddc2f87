/** Does counting a hundred million rows stay within its memory, and let others be served meanwhile? */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { dictionary, type Field, field, float64, int8, int32, Table, utf8 } from '@uwdata/flechette'
import { openCatalog } from '../dist/tabularium/index.js'
import { makeBatch, makeColumn } from '../src/engine/arrow/batch.ts'
import { openArena } from './support/arena.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { type Load, load, requestBytes } from './support/http-load.ts'
import { milliseconds } from './support/measure.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const most = pick(2_000_000, 20_000_000, 100_000_000)
const few = most / 10
const cacheBytes = 128 * 2 ** 20
const predicate = "a > 500 AND x < 0.25 AND category = 'c3'"
const turns = pick(2, 5)

about(`Tables of ${count(few)} and ${count(most)} rows on disk (a hundred million with --full; an integer, a float and
a category each), counted with \`${predicate}\` and cacheBytes set to ${cacheBytes / 2 ** 20} MiB, so that
${pick('little', 'most')} of the big one must be read from its files each time. Then a server answers describes on 8
connections, alone and while it counts.`)

const folder = newFolder('scan')
await seed()
await memory()
await serving()

async function seed(): Promise<void> {
  await using catalog = await openCatalog(folder)
  const chunk = Math.min(few, 2_000_000)
  const data = arrowBytes(sample(chunk))
  for (const [name, rows] of [
    ['few', few],
    ['most', most],
  ] as const) {
    await catalog.createTable({ id: [name], data })
    const each: number[] = []
    for (let made = chunk; made < rows; made += chunk) {
      each.push(await milliseconds(() => catalog.insertIntoTable({ id: [name], data })))
    }
    if (each.length > 1) figure(`insert ${count(chunk)} rows, towards ${count(rows)}`, each, { unit: 'ms' })
  }
}

async function memory(): Promise<void> {
  const peaks: Record<string, number[]> = { few: [], most: [] }
  const times: Record<string, number[]> = { few: [], most: [] }
  for (let turn = 0; turn < turns; turn++) {
    for (const name of ['few', 'most'] as const) {
      const arena = await openArena('scan', folder, name, String(cacheBytes), predicate)
      const idle = await arena.run('idle', 1)
      const rows = name === 'few' ? few : most
      times[name]!.push(((await arena.run('count', 2)) * 1e6) / rows)
      peaks[name]!.push((await arena.run('peak', 1)) - idle)
      await arena.close()
    }
  }
  const other = `the same at ${count(few)} rows`
  figure(`count ${count(most)} rows, memory above idle at most`, peaks.most!, {
    unit: 'MiB',
    remark: `cacheBytes is ${cacheBytes / 2 ** 20} MiB; the rest is buffers of what is being read`,
    against: [
      { peer: other, samples: peaks.few!, as: 'cost', remark: 'a table that the cache nearly holds' },
    ],
  })
  figure(`count ${count(most)} rows, each row`, times.most!, {
    unit: 'ns',
    against: [{ peer: other, samples: times.few!, as: 'cost' }],
  })
}

async function serving(): Promise<void> {
  const script = fileURLToPath(new URL('support/arenas/scan-server.ts', import.meta.url))
  const child = fork(script, [folder, String(cacheBytes)])
  try {
    const [url] = (await once(child, 'message')) as [string]
    const describe = requestBytes(
      'POST',
      '/v1/table/few/describe',
      { 'content-type': 'application/json' },
      '{}',
    )
    const alone: Load[] = []
    const busy: Load[] = []
    let counts = 0
    for (let turn = 0; turn <= turns; turn++) {
      const quiet = await load(url, describe, 8, pick(300, 1_000))
      let going = true
      const counting = (async () => {
        while (going) {
          await countOver(url)
          counts++
        }
      })()
      const loaded = await load(url, describe, 8, pick(1_000, 3_000))
      going = false
      await counting
      if (turn > 0) {
        alone.push(quiet)
        busy.push(loaded)
      }
    }
    if (counts === 0) throw new Error('Nothing was counted meanwhile.')
    const of = (loads: Load[], field: keyof Load) => loads.map((one) => one[field])
    figure(`describe while ${count(most)} rows are counted, p99`, of(busy, 'p99'), {
      unit: 'ms',
      target: { below: 15 },
      against: [{ peer: 'the same server idle', samples: of(alone, 'p99'), as: 'cost' }],
    })
    figure(`describes a second while ${count(most)} rows are counted`, of(busy, 'perSecond'), {
      unit: '/s',
      better: 'more',
      against: [{ peer: 'the same server idle', samples: of(alone, 'perSecond') }],
    })
  } finally {
    child.kill()
  }
}

async function countOver(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/table/most/count_rows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ predicate }),
  })
  if (!answer.ok) throw new Error(await answer.text())
  await answer.text()
}

function sample(length: number): Table {
  const entries = Array.from({ length: 16 }, (_, i) => `c${i}`)
  const text = new TextEncoder().encode(entries.join(''))
  const offsets = new Int32Array(17)
  for (const [i, entry] of entries.entries()) offsets[i + 1] = offsets[i]! + entry.length
  const types = { a: int32(), x: float64(), category: dictionary(utf8(), int8()) }
  const columns = {
    a: makeBatch(types.a, { length, values: Int32Array.from({ length }, (_, i) => (i * 7_919) % 1_000) }),
    x: makeBatch(types.x, {
      length,
      values: Float64Array.from({ length }, (_, i) => ((i * 31) % 997) / 997),
    }),
    category: makeBatch(types.category, {
      length,
      values: Int8Array.from({ length }, (_, i) => (i * 13) % 16),
      dictionary: makeColumn(utf8(), [makeBatch(utf8(), { length: 16, offsets, values: text })]),
    }),
  }
  const fields = Object.entries(types).map(([name, type]) => field(name, type)) as Field[]
  return new Table(
    { fields, metadata: null },
    Object.entries(columns).map(([name, batch]) => makeColumn(types[name as keyof typeof types], [batch])),
  )
}

/** How fast are ten million rows counted from object storage, beside a plain download of the same bytes? */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { openCatalog } from '../dist/tabularium/index.js'
import type { Asked } from './support/arenas/s3-server.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { inFlight, milliseconds, race } from './support/measure.ts'
import { seedsOf, tableOf } from './support/predicates.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const rows = Number(process.env.ROWS ?? pick(1_000_000, 10_000_000))
const chunk = 1_048_576
const atOnce = 8

about(`${count(rows)} rows, counted by a predicate on one column or two. The service is a stand-in of our own, in a process
of its own on this machine, that answers from memory: it is nearer and faster than any bucket. So what the catalog adds shows
most. The plain download asks for the same parts of the same objects, ${atOnce} at once, by the bare HTTP client of Node. It
opens its connections anew, as the first count does. It signs nothing, checks nothing and does nothing with the bytes: a
service that asks for signatures would refuse it. The download by the client of S3 is what a program would write with the
SDK of AWS: a new client signs the requests, and nothing is done with the bytes. Over a line of 1 Gbit/s, the service sends no faster than that, to both alike. Cold is the first count of a catalog that was just opened; the cache on disk is that of the option
contentCache, and counts from it begin with a catalog that was just opened, too.`)

const service = fork(fileURLToPath(new URL('./support/arenas/s3-server.ts', import.meta.url)))
const [port] = (await once(service, 'message')) as [number]
process.on('exit', () => service.kill())
process.env.AWS_ACCESS_KEY_ID = 'bench'
process.env.AWS_SECRET_ACCESS_KEY = 'bench'

interface Part {
  readonly path: string
  readonly start: number
  readonly end: number
}

const ask = (asked: Asked) => service.send(asked)

/** The parts of objects that were read since the last question. */
async function partsRead(): Promise<Part[]> {
  ask('reads')
  const [reads] = (await once(service, 'message')) as [Part[]]
  return reads.filter(({ path }) => path.includes('/data/'))
}

const endpoint = `http://127.0.0.1:${port}`
const content = `s3://bucket/rows?endpoint=${encodeURIComponent(endpoint)}`
const directory = newFolder('objects')
const columns = ['a', 'x', 'key', 'name']
const seeds = seedsOf(rows)
{
  await using catalog = await openCatalog(directory, { content, arrowBytes: 2 ** 31 })
  for (let start = 0; start < rows; start += chunk) {
    const table = tableOf(seeds, start, Math.min(start + chunk, rows)).select(columns)
    const data = arrowBytes(table)
    if (start === 0) await catalog.createTable({ id: ['t'], data })
    else await catalog.insertIntoTable({ id: ['t'], data })
  }
}

function download({ path, start, end }: Part, agent: Agent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { range: `bytes=${start}-${end - 1}` }
    get({ port, host: '127.0.0.1', path, agent, headers }, (answer) => {
      const bytes: Buffer[] = []
      answer.on('data', (part) => bytes.push(part))
      answer.on('end', () => resolve(Buffer.concat(bytes)))
      answer.on('error', reject)
    }).on('error', reject)
  })
}

async function downloadByClient({ path, start, end }: Part, client: S3Client): Promise<Uint8Array> {
  const [, Bucket, Key] = /^\/([^/]+)\/(.*)$/.exec(decodeURIComponent(path))!
  const command = new GetObjectCommand({ Bucket, Key, Range: `bytes=${start}-${end - 1}` })
  return (await client.send(command)).Body!.transformToByteArray()
}

type Catalog = Awaited<ReturnType<typeof openCatalog>>

for (const predicate of ['a > 500', 'a > 500 AND key % 2 = 0']) {
  let expected: number | undefined
  const counted = async (catalog: Pick<Catalog, 'countTableRows'>) => {
    const found = await catalog.countTableRows({ id: ['t'], predicate })
    expected ??= found.count
    if (found.count !== expected) throw new Error(`${found.count} rows instead of ${expected}`)
  }
  const opened = async (folder?: string) => {
    const contentCache = folder === undefined ? undefined : { folder }
    const catalog = await openCatalog(directory, { ...(contentCache && { contentCache }) })
    await catalog.describeTable({ id: ['t'] })
    return catalog
  }
  const fresh = async (folder?: string) => {
    await using catalog = await opened(folder)
    return await milliseconds(() => counted(catalog))
  }
  await partsRead()
  await fresh()
  const parts = await partsRead()
  const bytes = parts.reduce((sum, { start, end }) => sum + end - start, 0)
  const kept = newFolder('kept')
  {
    // What threads write may be under way when they end.
    await using catalog = await opened(kept)
    await counted(catalog)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
  await using warm = await opened()
  await counted(warm)
  const downloaded = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
    const time = await milliseconds(() => inFlight(parts.length, atOnce, (i) => download(parts[i]!, agent)))
    agent.destroy()
    return time
  }
  const downloadedByClient = async () => {
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
    const time = await milliseconds(() =>
      inFlight(parts.length, atOnce, (i) => downloadByClient(parts[i]!, client)),
    )
    client.destroy()
    return time
  }
  const took = await race(rounds, {
    download: downloaded,
    client: downloadedByClient,
    cold: () => fresh(),
    filling: async () => {
      const folder = newFolder('filling')
      const time = await fresh(folder)
      rmSync(folder, { recursive: true, force: true })
      return time
    },
    kept: () => fresh(kept),
    memory: () => milliseconds(() => counted(warm)),
  })
  const against = (
    samples: readonly number[],
    target?: { atMost: number },
    byClient?: readonly number[],
  ) => ({
    unit: 'ms',
    against: [
      {
        peer: 'plain download',
        samples,
        as: 'cost' as const,
        ...(target && { target: { ...target, group: 'counting from object storage against a download' } }),
      },
      ...(byClient ? [{ peer: 'download by the client of S3', samples: byClient, as: 'cost' as const }] : []),
    ],
  })
  const what = `count: ${predicate} (${count(Math.round(bytes / 1e6))} MB, ${parts.length} requests)`
  figure(`${what}, cold`, took.cold!, against(took.download!, { atMost: 1.5 }, took.client!))
  ask({ bytesPerSecond: 125e6 })
  const overLine = await race(rounds, { download: downloaded, cold: () => fresh() })
  ask({ bytesPerSecond: Number.MAX_VALUE })
  figure(
    `${what}, cold, over a line of 1 Gbit/s`,
    overLine.cold!,
    against(overLine.download!, { atMost: 1.5 }),
  )
  figure(`${what}, cold, with an empty cache on disk`, took.filling!, against(took.download!))
  figure(`${what}, from the cache on disk`, took.kept!, against(took.download!, { atMost: 1.5 }))
  figure(`${what}, from memory`, took.memory!, against(took.download!, { atMost: 1.5 }))
}
process.exit()

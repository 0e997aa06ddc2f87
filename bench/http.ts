/** What does HTTP cost, beside a bare server that answers the same bytes? */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { createServer, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { float64, int32, tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { serve } from '../dist/server/index.js'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, figure, report } from './support/figures.ts'
import { type Load, load, requestBytes } from './support/http-load.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const token = 'bench-token-0123456789abcdef'
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const connections = 64
const roundMillis = pick(300, 1_500)
/** The tables that are described at random, and the changes among the requests of mixed work. */
const tables = 1_000
const changeEvery = 10

const roles = { catalog: serveCatalog, bare: serveBare, synced: serveSynced, disk: serveDisk }
const role = process.argv[2] as keyof typeof roles | undefined
if (role) await roles[role](process.argv[3]!)
else await main()

async function main(): Promise<void> {
  about(`A catalog on disk, served with a static token, beside a bare node:http server that reads the request and
answers the same bytes; each in a process of its own, on ${connections} connections of plain sockets. The load
comes from this machine too.`)
  const folder = newFolder('http')
  const catalog = await start('catalog', folder)
  try {
    await question(
      catalog.url,
      'describe',
      requestBytes('POST', '/v1/table/prod$table_000/describe', headers, '{}'),
      0.8,
    )
    await question(
      catalog.url,
      'list a page of 100',
      requestBytes('GET', '/v1/namespace/prod/table/list?limit=100', headers),
      0.6,
    )
    await atRandom(catalog)
    await mixed(catalog, folder)
    await inserts(catalog, folder)
  } finally {
    await stop(catalog)
    await rm(folder, { recursive: true, force: true })
  }
}

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

async function question(url: string, what: string, request: Buffer, target: number): Promise<void> {
  const answer = await answerTo(url, request)
  const of = await inTurns(url, await start('bare', answer), request)
  const peer = 'bare node:http'
  const remark = 'the same bytes as a constant: no token, no routing, no catalog'
  figure(`${what}: requests a second`, of('catalog', 'perSecond'), {
    unit: '/s',
    better: 'more',
    headline: what === 'describe' ? 'Describe over HTTP, 64 connections' : undefined,
    against: [{ peer, samples: of('bare', 'perSecond'), target: { atLeast: target }, remark }],
  })
  figure(`${what}: p99`, of('catalog', 'p99'), {
    unit: 'ms',
    against: [{ peer, samples: of('bare', 'p99'), as: 'cost', target: { atMost: 2 }, remark }],
  })
}

/** Loads the catalog and a bare server in turns, and stops the latter. Returns the samples of each. */
async function inTurns(url: string, bare: Server, request: Parameters<typeof load>[1]) {
  const measured = { catalog: [] as Load[], bare: [] as Load[] }
  try {
    for (let round = -1; round < rounds; round++) {
      const ours = await load(url, request, connections, roundMillis)
      const theirs = await load(bare.url, request, connections, roundMillis)
      // The first round warms up.
      if (round >= 0) {
        measured.catalog.push(ours)
        measured.bare.push(theirs)
      }
    }
  } finally {
    await stop(bare)
  }
  return (name: keyof typeof measured, field: keyof Load) => measured[name].map((one) => one[field])
}

/** Describes tables at random: what the server's processors do for it, whoever else is at work. */
async function atRandom(catalog: Server): Promise<void> {
  const requests = Array.from({ length: tables }, (_, i) => describeBytes(i))
  const next = () => requests[Math.floor(Math.random() * tables)]!
  const bare = await start('bare', await answerTo(catalog.url, requests[0]!))
  const measured = { catalog: [] as number[], bare: [] as number[] }
  try {
    for (let round = -1; round < rounds; round++) {
      for (const [name, server] of Object.entries({ catalog, bare })) {
        const before = await processorSeconds(server)
        const { requests } = await load(server.url, next, connections, roundMillis)
        const each = requests / ((await processorSeconds(server)) - before)
        if (round >= 0) measured[name as keyof typeof measured].push(each)
      }
    }
  } finally {
    await stop(bare)
  }
  figure(
    `describe ${count(tables)} tables at random: requests for a second of processor time`,
    measured.catalog,
    {
      unit: '/s',
      better: 'more',
      against: [
        {
          peer: 'bare node:http',
          samples: measured.bare,
          target: { atLeast: 0.95 },
          remark: 'an answer of the same size as a constant: no token, no routing, no catalog',
        },
      ],
    },
  )
}

/** Descriptions with durable changes among them. Each tenth request declares a table. */
async function mixed(catalog: Server, folder: string): Promise<void> {
  const reads = Array.from({ length: tables }, (_, i) => describeBytes(i))
  const bare = await start('synced', join(folder, 'changes'))
  let sent = 0
  const next = () => {
    if (++sent % changeEvery !== 0) return reads[Math.floor(Math.random() * tables)]!
    return requestBytes('POST', `/v1/table/prod$new_${sent}/declare`, headers, '{}')
  }
  const of = await inTurns(catalog.url, bare, next)
  const peer = 'bare node:http that syncs'
  const remark = 'as many of its requests append a line to a file and sync it'
  figure('every tenth request declares a table: requests a second', of('catalog', 'perSecond'), {
    unit: '/s',
    better: 'more',
    against: [{ peer, samples: of('bare', 'perSecond'), remark }],
  })
  figure('every tenth request declares a table: p99', of('catalog', 'p99'), {
    unit: 'ms',
    against: [{ peer, samples: of('bare', 'p99'), as: 'cost', target: { atMost: 2 }, remark }],
  })
}

/** A request that describes the i-th table. */
function describeBytes(i: number): Buffer {
  return requestBytes('POST', `/v1/table/prod$${nameOf(i)}/describe`, headers, '{}')
}

function nameOf(i: number): string {
  return `table_${String(i).padStart(3, '0')}`
}

/** 100 MB of Arrow inserted, beside the body read and written to disk. */
async function inserts(catalog: Server, folder: string): Promise<void> {
  const rows = pick(840_000, 8_400_000)
  const body = Buffer.from(
    tableToIPC(
      tableFromArrays(
        {
          a: Float64Array.from({ length: rows }, (_, i) => i / 3),
          b: Int32Array.from({ length: rows }, (_, i) => i),
        },
        { types: { a: float64(), b: int32() } },
      ),
      { format: 'stream' },
    )!,
  )
  const disk = await start('disk', join(folder, 'body'))
  const times = { catalog: [] as number[], disk: [] as number[] }
  try {
    for (let round = -1; round < pick(1, 5); round++) {
      const path = `/v1/table/big_${round + 1}/create`
      const ours = await timed(() => post(catalog.url + path, body))
      const theirs = await timed(() => post(disk.url + path, body))
      if (round >= 0) {
        times.catalog.push(ours)
        times.disk.push(theirs)
      }
    }
  } finally {
    await stop(disk)
  }
  const megabytes = Math.round(body.length / 1e6)
  figure(`insert ${megabytes} MB`, times.catalog, {
    unit: 'ms',
    against: [
      {
        peer: 'node:http, body to a synced file',
        samples: times.disk,
        target: { atLeast: 0.5 },
        remark: 'the same bytes, looked at by nobody',
      },
    ],
  })
  const before = await peakMemory(catalog)
  const all = await timed(() =>
    Promise.all(Array.from({ length: 10 }, (_, i) => post(`${catalog.url}/v1/table/ten_${i}/create`, body))),
  )
  report(`ten of them at once`, all, 'ms')
  report('memory before them (RSS)', before, 'MB')
  report('memory at most while they ran (RSS)', await peakMemory(catalog), 'MB')
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

function post(url: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/vnd.apache.arrow.stream',
        'content-length': body.length,
      },
    })
    request.on('error', reject).on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(text))))
    })
    request.end(body)
  })
}

async function answerTo(url: string, request: Buffer): Promise<string> {
  const [, method, path] = /^(\w+) (\S+)/.exec(request.toString('latin1'))!
  const response = await fetch(url + path, {
    method: method!,
    headers,
    ...(method === 'POST' ? { body: '{}' } : {}),
  })
  return response.text()
}

async function start(name: keyof typeof roles, argument: string): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), [name, argument])
  const [url] = (await once(child, 'message')) as [string]
  return { child, url }
}

async function stop({ child }: Server): Promise<void> {
  if (child.exitCode !== null) return
  child.kill()
  await once(child, 'exit')
}

async function peakMemory(server: Server): Promise<number> {
  return Math.round((await ask(server, 'memory')) / 1e6)
}

async function processorSeconds(server: Server): Promise<number> {
  return (await ask(server, 'processor')) / 1e6
}

async function ask({ child }: Server, what: 'memory' | 'processor'): Promise<number> {
  child.send(what)
  const [answer] = (await once(child, 'message')) as [number]
  return answer
}

/** Answers what the benchmark asks of a server's process: its memory at most since it was last asked, and its time. */
function answerQuestions(): void {
  let peak = 0
  setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 20)
  process.on('message', (what) => {
    const { user, system } = process.cpuUsage()
    process.send!(what === 'memory' ? peak : user + system)
    if (what === 'memory') peak = 0
  })
}

async function serveCatalog(folder: string): Promise<void> {
  const catalog = await openCatalog(join(folder, 'catalog'))
  await catalog.createNamespace({ id: ['prod'] })
  for (let i = 0; i < tables; i++) {
    await catalog.declareTable({ id: ['prod', nameOf(i)], properties: { owner: 'bench' } })
  }
  const server = await serve(catalog, { auth: { tokens: [token] }, port: 0 })
  answerQuestions()
  process.send!(server.url)
}

async function serveBare(answer: string): Promise<void> {
  const body = Buffer.from(answer)
  answerQuestions()
  listen((request, response) => {
    request.resume()
    request.on('end', () => send200(response, body))
  })
}

/** Appends a line to a file and syncs it where a request declares a table. */
async function serveSynced(path: string): Promise<void> {
  const file = await open(path, 'a')
  const body = Buffer.alloc(300, ' ')
  listen((request, response) => {
    request.resume()
    request.on('end', async () => {
      if (request.url!.endsWith('/declare')) {
        await file.write(body)
        await file.datasync()
      }
      send200(response, body)
    })
  })
}

function send200(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  })
  response.end(body)
}

async function serveDisk(path: string): Promise<void> {
  listen(async (request, response) => {
    await pipeline(request, createWriteStream(path, { flush: true }))
    response.writeHead(200, { 'content-length': 2 })
    response.end('{}')
  })
}

function listen(handler: NonNullable<Parameters<typeof createServer>[1]>): void {
  const server = createServer(handler).listen(0, '127.0.0.1', () => {
    process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
}

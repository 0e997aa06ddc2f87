import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { Served } from '../server/children/served.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { freePort } from '../support/free-port.ts'
import { hostileBody, plainBody } from '../support/hostile-bodies.ts'
import { hostileJson, icebergJsonRoutes, jsonRoutes, jsonShapes } from '../support/hostile-json.ts'
import type { Scenario } from './scenario.ts'
import { mostHeldMillis, Waits } from './waits.ts'

/** Generous limits. A server that decodes or returns everything that is requested exceeds them at once. */
const mostMebibytes = 3_072
/** The most work of the main thread during one short response: 50 ms, and a little for the response itself. */
const mostMainMillis = 70

const mebibyte = 2 ** 20
const arrow = 'application/vnd.apache.arrow.stream'

/** Predicates whose functions take long, for one row, for all rows or for constants. */
const predicates = [
  "levenshtein(repeat('a', 8000), repeat('b', 8000)) > 1",
  'levenshtein(repeat(s, 100), repeat(s, 99)) > 0',
  'levenshtein(repeat(s, 400), repeat(s, 9000)) > 0',
  "reverse(repeat(s, 5000)) > 'a'",
  "regexp_like(repeat(s, 500), '(a|b|c|_)*[0-9]+(x+)+y')",
  "repeat(s, 20000) LIKE '%x%y_%z%'",
  `length(concat(${Array(500).fill('repeat(s, 50)').join()})) > 0`,
  Array.from({ length: 4_000 }, (_, i) => `length(s) = ${i}`).join(' OR '),
  `coalesce(${Array(4_096).fill("s || 'a'").join()}) > ''`,
  `s IN (${Array.from({ length: 4_000 }, (_, i) => `s || '${i}'`).join()})`,
]
/** The timeout of clients, in milliseconds. The server must notice their disconnect. */
const patience = 2_000

/** Bodies, predicates and queries that need far more resources than their size suggests, to the command `serve`. */
export async function hostile(seed: number): Promise<Scenario> {
  const draw = fc.sample(
    fc.record({
      shape: fc.constantFrom(...jsonShapes),
      route: fc.constantFrom(...jsonRoutes, ...icebergJsonRoutes),
      bytes: fc.constantFrom(100_000, 2_000_000, 16 * mebibyte),
    }),
    { seed, numRuns: 5_000 },
  )
  const directory = await temporaryDirectory()
  const port = await freePort()
  const served = new Served(directory, port)
  await served.listens()
  const waits = new Waits(served.pid, `http://127.0.0.1:${port}`)
  const counts = {
    attacks: 0,
    refused: 0,
    abandoned: 0,
    'MiB at most': 0,
    'ms that an answer took at most': 0,
    'ms of them held by the server at most': 0,
    'ms in which the machine lacked memory': 0,
    'ms of the main thread at most': 0,
  }
  let isOver = false

  const post = (path: string, type: string, body: Uint8Array | string, signal?: AbortSignal) =>
    new Promise<{ status: number; bytes: number }>((resolve, reject) => {
      const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) }
      const target = { port, host: '127.0.0.1', path, method: 'POST', headers, signal }
      const sent = request(target, (answer) => {
        let bytes = 0
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        answer.on('end', () => resolve({ status: answer.statusCode!, bytes }))
        answer.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const attack = async (path: string, type: string, body: Uint8Array | string) => {
    const begun = performance.now()
    const { status } = await post(path, type, body).catch(async (cause) => {
      const after = `${path}, with ${Buffer.byteLength(body)} bytes, failed after ${Math.round(performance.now() - begun)} ms`
      // The end of a process that the system killed is known later than the end of its connections.
      await sleep(2_000)
      throw new Error(`${after}. ${served.ending ?? 'The server still runs.'}`, { cause })
    })
    if (status === 500) throw new Error(`${path} was answered with 500.`)
    counts.attacks++
    if (status !== 200) counts.refused++
  }
  const count = async (predicate: string) => {
    counts.attacks++
    const body = JSON.stringify({ predicate })
    try {
      const signal = AbortSignal.timeout(patience)
      const { status } = await post('/v1/table/texts/count_rows', 'application/json', body, signal)
      if (status === 500) throw new Error(`A count of ${predicate} was answered with 500.`)
      if (status !== 200) counts.refused++
    } catch (error) {
      if ((error as Error).name !== 'AbortError') throw error
      counts.abandoned++
    }
  }
  const silent = (head: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.pause()
    socket.write(head)
    return socket
  }

  const raise = (most: keyof typeof counts, to: number) => {
    counts[most] = Math.max(counts[most], Math.round(to))
  }
  const watching = (async () => {
    while (!isOver) {
      const { tookMillis, heldMillis, lackedMillis } = await waits.ask()
      raise('ms that an answer took at most', tookMillis)
      raise('ms of them held by the server at most', heldMillis)
      counts['ms in which the machine lacked memory'] += Math.round(lackedMillis)
      raise('MiB at most', mebibytesOf(served.pid))
      // Often enough to meet a long wait.
      await sleep(10)
    }
  })()
  // The attack, or the end, reports a crashed server.
  watching.catch(() => {})

  await post('/v1/table/wide/create', arrow, plainBody(mebibyte))
  await post('/v1/table/large/create', arrow, plainBody(200 * mebibyte))
  await post('/v1/table/texts/create', arrow, texts(4_096))
  const aliases = (count: number) =>
    JSON.stringify({
      columns: {
        column_aliases: Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, 'x'])),
      },
    })
  const packed = [
    hostileBody({ codec: 'lz4', bytes: 40 * mebibyte, columns: 8 }),
    hostileBody({ codec: 'lz4', bytes: 800 * mebibyte, text: true }),
    hostileBody({ codec: 'zstd', bytes: 77_070_336, text: true }),
    hostileBody({ codec: 'zstd', bytes: 530_000_000, text: true }),
    hostileBody({ codec: 'zstd', bytes: 400_000_000, columns: 20 }),
    plainBody(8 * mebibyte, 400),
  ]

  /** Sends JSON bodies in sequence, and measures the work of the main thread during each short response meanwhile. */
  const attackByJson = async () => {
    for (const { shape, route, bytes } of draw.splice(0, 12)) {
      // One transaction makes all changes of a batch in one turn of the event loop, so a batch stays small here.
      const mostItems = shape === 'operations' ? 1_000 : undefined
      const body = hostileJson(shape, bytes, mostItems)
      let isAnswered = false
      const attacked = attack(route, 'application/json', body).finally(() => {
        isAnswered = true
      })
      while (!isAnswered) {
        const { workedMillis } = await waits.ask()
        if (workedMillis > mostMainMillis)
          throw new Error(
            `The main thread worked for ${Math.round(workedMillis)} ms during one short answer, beside ${body.length} bytes of "${shape}" to ${route}.`,
          )
        raise('ms of the main thread at most', workedMillis)
      }
      await attacked
    }
  }

  const check = () => {
    if (counts['MiB at most'] > mostMebibytes)
      throw new Error(`The server took ${counts['MiB at most']} MiB; ${mostMebibytes} are the most.`)
    const held = counts['ms of them held by the server at most']
    if (held > mostHeldMillis)
      throw new Error(`The server held an answer for ${held} ms; ${mostHeldMillis} are the most.`)
  }
  return {
    counts,
    async round() {
      const idle = Array.from({ length: 4 }, () =>
        silent(
          `POST /v1/table/wide/insert HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${arrow}\r\ncontent-length: 268435456\r\n\r\nabcd`,
        ),
      )
      const readers = Array.from({ length: 6 }, () =>
        silent(
          'POST /v1/table/large/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
        ),
      )
      await Promise.all([
        ...packed.map((body) => attack('/v1/table/packed/create?mode=Overwrite', arrow, body)),
        attack('/v1/table/wide/query', 'application/json', aliases(700)),
        attack('/v1/table/wide/query', 'application/json', aliases(4_500)),
        attack('/v1/table/wide/insert', arrow, plainBody(1_000)),
        ...predicates.map(count),
      ])
      for (const socket of [...idle, ...readers]) socket.destroy()
      check()
      await waits.quiet()
      await attackByJson()
    },
    async end() {
      isOver = true
      await watching
      check()
      await waits[Symbol.asyncDispose]()
      await served.end('SIGTERM')
      await rm(directory, { recursive: true })
    },
  }
}

/** A table with a column `s` of short texts. */
function texts(rows: number): Uint8Array {
  return tableToIPC(tableFromArrays({ s: Array.from({ length: rows }, (_, i) => `text_${i}_of_nineteen`) }), {
    format: 'stream',
  })!
}

function mebibytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024)
}

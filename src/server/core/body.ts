import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { type CatalogError, invalid } from '../../base/errors.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import { clearInterval, clearTimeout, performance, setInterval, setTimeout } from '../../base/time.ts'
import { arrowFileType, arrowStreamType, bytesType, jsonType, type Route } from '../../protocol/wire.ts'
import { type AdmissionControl, arrivingBytes, type TransferTimes } from '../limits/admission-control.ts'
import type { Exchange } from './exchange.ts'

/** The body of a request. */
export interface Body {
  readonly bytes: Buffer
  /** Its share of the memory budget. Release it when the bytes are no longer needed. Absent for a small body. */
  readonly hold?: Hold
  /** The rows of a body of unknown length, as they arrive. `bytes` is empty then. */
  readonly arriving?: AsyncIterable<Uint8Array>
}

/** What a body is. Other protocols also send forms. */
type BodyKind = Route['body'] | 'form'

const none: Body = { bytes: Buffer.alloc(0) }

/** Bodies up to this size are not counted, because the limits of requests and connections bound them. */
export const uncounted = 64 * 1024

/**
 * Reads a complete body. Each chunk is checked against the size limit before it is kept. Bytes count against the memory
 * budget when they arrive, so a body that is only announced takes none.
 */
export function readBody(
  exchange: Exchange,
  kind: BodyKind,
  admission: AdmissionControl,
): Body | Promise<Body> {
  const { headers } = exchange
  const declared = headers['content-length']
  const length = declared === undefined ? undefined : Number(declared)
  if (length === 0 || (length === undefined && headers['transfer-encoding'] === undefined)) return none
  checkHeaders(headers, kind)
  const limit = kind === 'arrow' ? admission.limits.arrowBytes : admission.limits.jsonBytes
  if (length !== undefined && length > limit) throw tooLarge(limit)
  const { body } = exchange
  if (length !== undefined && length <= uncounted && body.readableLength === length && !body.errored) {
    // Fast path: most bodies are small and have arrived. Listening to stream events takes several times as long.
    const bytes = body.read() as Buffer | null
    if (bytes !== null) return { bytes }
  }
  return readStream(body, length, limit, admission)
}

/** A body of unknown length whose rows are written while they arrive begins with more than this. */
const fewBytes = 1024 * 1024

/**
 * Reads an Arrow body of unknown length, or returns a larger one as it arrives. Its memory does not grow with its rows.
 * An Arrow file is read whole, because it is read from its end.
 */
export async function readOrStream(exchange: Exchange, admission: AdmissionControl): Promise<Body> {
  const { limits, memory, times } = admission
  checkHeaders(exchange.headers, 'arrow')
  const chunks = chunksOf(exchange.body, times.upload)
  const started = performance.now()
  const hold = memory.hold(arrivingBytes)
  const buffer = new BodyBuffer(undefined)
  try {
    for (let isFile = false; isFile || buffer.size <= fewBytes; ) {
      const { done, value } = await chunks.next()
      if (done) return { bytes: await buffer.complete(), hold }
      if (buffer.size === 0) isFile = isArrowFile(value)
      buffer.add(value)
      if (isFile && performance.now() - started > times.request) throw tooSlow(times.request)
      if (buffer.size > limits.arrowBytes) throw tooLarge(limits.arrowBytes)
      if (buffer.size > Math.max(uncounted, hold.held)) await hold.take(buffer.size - hold.held)
    }
    const first = await buffer.complete()
    const room = admission.arriving.hold(arrivingBytes)
    exchange.onClose(() => room.release())
    await room.take(arrivingBytes)
    await hold.take(Math.max(0, arrivingBytes - hold.held))
    return { bytes: none.bytes, hold, arriving: limited(first, chunks, limits.streamedBytes) }
  } catch (error) {
    hold.release()
    await chunks.return(undefined)
    throw error
  }
}

/** Whether a body begins as an Arrow file does. */
function isArrowFile(first: Uint8Array): boolean {
  return Buffer.from(first.subarray(0, 6)).toString('latin1').startsWith('ARROW1'.slice(0, first.length))
}

async function* limited(
  first: Uint8Array,
  rest: AsyncGenerator<Buffer, undefined>,
  most: number,
): AsyncGenerator<Uint8Array> {
  let size = first.length
  try {
    yield first
    for await (const chunk of rest) {
      size += chunk.length
      if (size > most) throw tooLarge(most)
      yield chunk
    }
  } finally {
    await rest.return(undefined)
  }
}

/** A stream with fewer than `minBytes` in so many idle periods is stalled. Its source may pause now and then. */
const streamPeriods = 6

/**
 * The chunks of a body, read only when they are asked for. Fails when the body breaks off, and when it stalls while it is
 * asked for: nothing of it arrives for `idleMillis` milliseconds, or too little for longer.
 */
async function* chunksOf(stream: Readable, idleMillis: number): AsyncGenerator<Buffer, undefined> {
  // An `error` event without a listener would crash the process.
  stream.on('error', () => {})
  // The connection stays open for the answer.
  const chunks = stream.iterator({ destroyOnReturn: false })
  const longMillis = streamPeriods * idleMillis
  let waited = 0
  let recent = 0
  try {
    for (;;) {
      const asked = performance.now()
      const { done, value } = await within(chunks.next(), idleMillis)
      if (done) return undefined
      recent += value.length
      waited += performance.now() - asked
      if (waited > longMillis) {
        if (recent < minBytes) throw stalled(longMillis)
        waited = 0
        recent = 0
      }
      yield typeof value === 'string' ? Buffer.from(value) : value
    }
  } finally {
    void chunks.return?.()
  }
}

function within<T>(work: Promise<T>, idleMillis: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(stopped(idleMillis)), idleMillis)
    work.then(resolve, () => reject(incomplete())).finally(() => clearTimeout(timer))
  })
}

async function readStream(
  stream: Readable,
  length: number | undefined,
  limit: number,
  { memory, times }: AdmissionControl,
): Promise<Body> {
  const hold = memory.hold(length ?? limit)
  const buffer = new BodyBuffer(length)
  try {
    await eachChunk(stream, times, (chunk) => {
      buffer.add(chunk)
      const { size } = buffer
      if (size > (length ?? limit)) throw length === undefined ? tooLarge(limit) : incomplete()
      return size > uncounted ? hold.take(size - hold.held) : undefined
    })
    if (length !== undefined && buffer.size !== length) throw incomplete()
    return { bytes: await buffer.complete(), hold }
  } catch (error) {
    hold.release()
    throw error
  }
}

/** Collects the bytes of a body as they arrive. */
class BodyBuffer {
  size = 0
  readonly #length: number | undefined
  #chunks: Buffer[] = []
  /** Allocated for the whole body after a quarter of it has arrived, because then the rest probably comes, too. */
  #bytes: Buffer | undefined

  constructor(length: number | undefined) {
    this.#length = length
  }

  add(chunk: Buffer): void {
    const at = this.size
    this.size += chunk.length
    if (this.#bytes !== undefined) chunk.copy(this.#bytes, at)
    else this.#chunks.push(chunk)
    const length = this.#length
    if (this.#bytes !== undefined || length === undefined || this.size < length / 4) return
    this.#bytes = Buffer.allocUnsafeSlow(length)
    let to = 0
    for (const early of this.#chunks) to += early.copy(this.#bytes, to)
    this.#chunks = []
  }

  async complete(): Promise<Buffer> {
    if (this.#bytes !== undefined) return this.#bytes
    const bytes = Buffer.allocUnsafeSlow(this.size)
    const timeSlice = new TimeSlice(undefined)
    let to = 0
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      to += chunk.copy(bytes, to)
      if (timeSlice.due) await timeSlice.rest()
    }
    return bytes
  }
}

/** A body with fewer bytes in one idle period counts as stalled. */
const minBytes = 16 * 1024

/**
 * Calls `take` with every chunk. The stream is paused while a promise of `take` is pending. An error of `take` ends the
 * reading, and the rest of the stream is ignored. So do a stall, and a stream that takes too long.
 */
function eachChunk(
  stream: Readable,
  { upload: idleMillis, request: wholeMillis }: TransferTimes,
  take: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let open = true
    let waiting: Promise<void> | undefined
    let recent = 0
    const timer = setInterval(() => {
      if (waiting === undefined && recent < minBytes) stop(stalled(idleMillis))
      recent = 0
    }, idleMillis)
    const end = setTimeout(() => stop(tooSlow(wholeMillis)), wholeMillis)
    // The listeners stay, because an `error` event without a listener would crash the process.
    const finish = (settle: () => void) => {
      clearInterval(timer)
      clearTimeout(end)
      open = false
      settle()
    }
    const stop = (error: unknown) => {
      if (open) finish(() => reject(error))
    }
    const onCut = () => stop(incomplete())
    stream.on('data', (chunk: Buffer | string) => {
      if (!open) return
      try {
        recent += chunk.length
        waiting = take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
        if (waiting === undefined) return
        stream.pause()
        waiting.then(() => {
          waiting = undefined
          recent = minBytes
          stream.resume()
        }, stop)
      } catch (error) {
        stop(error)
      }
    })
    stream.on('end', () => {
      if (open) finish(resolve)
    })
    stream.on('close', onCut)
    stream.on('error', onCut)
  })
}

const jsonTypes = /^application\/(?:[\w.+-]+\+)?json$/

const formType = 'application/x-www-form-urlencoded'

function checkHeaders(headers: IncomingHttpHeaders, kind: BodyKind): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalid(`The body is encoded with ${JSON.stringify(encoding)}. Send it without Content-Encoding.`)
  }
  if (kind !== 'arrow' && headers['content-type'] === jsonType) return
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() || undefined
  if (kind === 'arrow') {
    if (type === undefined || type === arrowStreamType || type === arrowFileType || type === bytesType) return
    throw wrongType(type, `${arrowStreamType} or ${arrowFileType}`)
  }
  if (kind === 'form') {
    if (type === undefined || type === formType) return
    throw wrongType(type, formType)
  }
  if (type !== undefined && !jsonTypes.test(type)) throw wrongType(type, jsonType)
}

function wrongType(type: string, wanted: string): CatalogError {
  return invalid(`The body has Content-Type ${JSON.stringify(type)}. Send Content-Type: ${wanted}.`)
}

export function tooLarge(limit: number): CatalogError {
  return invalid(
    `The body is larger than ${limit.toLocaleString('en')} bytes, the most here. Send less at a time.`,
  )
}

function incomplete(): CatalogError {
  return invalid('The body broke off before its end. Send the request again.')
}

function stopped(millis: number): CatalogError {
  return invalid(
    `The body stood still: nothing of it came in ${millis / 1_000} seconds. Nothing was written. Send the request again, faster or in parts.`,
  )
}

function tooSlow(millis: number): CatalogError {
  return invalid(
    `The request took too long to arrive: its body was not there after ${millis / 1_000} seconds. Send it again, faster or in parts.`,
  )
}

function stalled(millis: number): CatalogError {
  return invalid(
    `The body stood still: less than ${minBytes} bytes of it came in ${millis / 1_000} seconds. Send the request again, faster or in parts.`,
  )
}

import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../../base/scheduling/start-worker.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { damaged } from './body.ts'
import { type Codec, type Decompress, type DecompressReply, loadCodecs } from './codecs.ts'

/** Buffers of up to this size are decompressed on this thread, in less than a millisecond. */
const smallBytes = 128 * 1024

/** Bytes that are copied at a time. */
const pieceBytes = 4 << 20

let codecs: Promise<Readonly<Record<Codec, Decompress>>> | undefined
let thread: Promise<DecompressThread | undefined> | undefined

/** Decompresses one buffer whose sizes were checked. A large one goes to a thread of its own, if one can start. */
export async function decompress(
  packed: Uint8Array,
  length: number,
  codec: Codec,
  column: string,
  timeSlice: TimeSlice,
): Promise<Uint8Array> {
  try {
    if (length > smallBytes) {
      thread ??= DecompressThread.start()
      const found = await (await thread)?.decompress(packed, length, codec, timeSlice)
      if (found !== undefined) return found
    }
    codecs ??= loadCodecs()
    return (await codecs)[codec](packed, length)
  } catch (cause) {
    timeSlice.signal?.throwIfAborted()
    throw damaged(column, `has a buffer that is not valid ${codec.toUpperCase()} data`, { cause })
  }
}

interface Waiting {
  readonly resolve: (bytes: Uint8Array | undefined) => void
  readonly reject: (error: unknown) => void
}

/** A thread may keep the memory of its largest request. After one larger than this, it ends when it is idle. */
const maxKept = 64 << 20

/** The decompression thread of this process. It keeps the process alive only while it works. */
class DecompressThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #isLost = false
  #largest = 0

  /** A thread that has started; undefined if none can start. */
  static async start(): Promise<DecompressThread | undefined> {
    try {
      const started = new DecompressThread()
      return (await started.#ready) ? started : undefined
    } catch {
      return undefined
    }
  }

  readonly #ready: Promise<boolean>

  private constructor() {
    const worker = startWorker('engine/arrow/ipc/decompress-worker', { name: 'tabularium decompress' })
    this.#worker = worker
    this.#ready = new Promise((resolve) => {
      worker.on('message', (reply: DecompressReply) => {
        if (reply !== 'ready') return this.#answered(reply)
        worker.unref()
        resolve(true)
      })
      // An error is followed by the exit.
      worker.on('error', () => {})
      worker.on('exit', () => {
        this.#isLost = true
        for (const { resolve } of this.#waiting.values()) resolve(undefined)
        this.#waiting.clear()
        resolve(false)
      })
    })
  }

  /** Decompresses a buffer. Undefined when the thread is lost. */
  async decompress(
    packed: Uint8Array,
    length: number,
    codec: Codec,
    timeSlice: TimeSlice,
  ): Promise<Uint8Array | undefined> {
    if (this.#isLost) return undefined
    // The buffer is copied, not transferred: the caller still uses it.
    const copy = new Uint8Array(packed.length)
    for (let at = 0; at < packed.length; at += pieceBytes) {
      copy.set(packed.subarray(at, at + pieceBytes), at)
      if (timeSlice.due) await timeSlice.rest()
    }
    if (this.#isLost) return undefined
    const id = ++this.#lastId
    const { buffer } = copy
    this.#largest = Math.max(this.#largest, length)
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#worker.ref()
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, codec, packed: buffer, length }, [buffer])
    })
  }

  #end(): void {
    this.#isLost = true
    thread = undefined
    void this.#worker.terminate()
  }

  #answered(reply: Exclude<DecompressReply, 'ready'>): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (this.#waiting.size === 0) {
      this.#worker.unref()
      if (this.#largest > maxKept) this.#end()
    }
    if ('failure' in reply) waiting?.reject(new Error(reply.failure))
    else waiting?.resolve(reply.bytes)
  }
}

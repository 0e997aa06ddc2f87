import { parentPort, workerData } from 'node:worker_threads'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { openContentAgain } from '../../../contents/open.ts'
import { buffersOf, type Values } from '../../arrow/batch.ts'
import {
  compileExpression,
  compilePredicate,
  type Predicate,
  type ValueExpression,
  WorkBudget,
} from '../../predicate/index.ts'
import { computing, makeColumns } from '../columns/make-columns.ts'
import { readLive } from '../format/deletions.ts'
import type { EncodedFile } from '../format/manifest.ts'
import { decodeTableSchema, type TableSchema } from '../format/table-schema.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import { beginOrder } from '../read/order-fragment.ts'
import { beginSearch } from '../search/begin-search.ts'
import { ByteCache } from '../storage/cache.ts'
import type { ReadStorage } from '../storage/objects.ts'
import { evaluateFragment, readFragment } from './evaluate.ts'
import {
  type Cancel,
  type ColumnTask,
  type GivenBack,
  type Reply,
  type ScanRequest,
  type ScanResult,
  toFailure,
  type WorkerSettings,
} from './message.ts'
import { bindingSchema } from './row-columns.ts'
import { SharedBlocks, sharedMemoryOf } from './shared-blocks.ts'

/*
 * A worker thread of a pool. It reads fragments from the content, caches them and evaluates predicates on them. So the
 * main thread does not read, decode or compute checksums, and the replies are small. For new columns it makes the whole
 * file, which the main thread only writes.
 */

/** Most compiled texts that are kept. */
const maxKept = 64

/** A worker's cache of schemas, and of predicates and expressions for them. All fragments of a table share them. */
class CompiledTexts {
  readonly #kept = new Map<string, unknown>()

  schemaOf(request: ScanRequest): TableSchema {
    const { schema, columns } = request
    return this.#keep(keyOf(request), () => decodeTableSchema(schema, columns))
  }

  /** Undefined for all rows. */
  predicateOf(request: ScanRequest): Predicate | undefined {
    const { predicate, now } = request
    if (predicate === undefined) return undefined
    const schema = this.schemaOf(request)
    return this.#keep(`${keyOf(request)} where ${now} ${predicate}`, () =>
      compilePredicate(predicate, bindingSchema(schema, predicate), now),
    )
  }

  expressionsOf(request: ScanRequest, { expressions }: ColumnTask): readonly ValueExpression[] {
    const schema = this.schemaOf(request)
    return expressions.map(({ text, now }) =>
      this.#keep(`${keyOf(request)} value ${now} ${text}`, () =>
        compileExpression(text, bindingSchema(schema, text), now),
      ),
    )
  }

  #keep<T>(key: string, make: () => T): T {
    const known = this.#kept.get(key) as T | undefined
    if (known !== undefined) return known
    const made = make()
    if (this.#kept.size >= maxKept) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(key, made)
    return made
  }
}

function keyOf({ schema, columns }: ScanRequest): string {
  return `${schema} ${columns ? JSON.stringify(columns) : ''}`
}

/**
 * Blocks for two files: one being made, and one being written. Runtimes other than Node do not write files from shared
 * memory. With a small cache, files take little memory, too.
 */
const { cacheBytes } = workerData as WorkerSettings
const isNode = !('deno' in process.versions || 'bun' in process.versions)
const blocksBytes = SharedBlocks.bytes(2)
const hasBlocks = isNode && cacheBytes >= 2 * blocksBytes

const port = parentPort!
const blocks = new SharedBlocks(hasBlocks ? 2 : 0)
const cache = new ByteCache(hasBlocks ? cacheBytes - blocksBytes : cacheBytes)
const storages = new Map<string, Promise<ReadStorage>>()
const compiled = new CompiledTexts()
const waiting: ScanRequest[] = []
const running = new Map<number, AbortController>()

port.on('message', (message: ScanRequest | Cancel | GivenBack) => {
  if ('cancel' in message) cancel(message.cancel)
  else if ('givenBack' in message) blocks.give(message.givenBack)
  else {
    waiting.push(message)
    next()
  }
})
post('ready')

function next(): void {
  while (waiting.length > 0 && running.size < waiting[0]!.depth) {
    const request = waiting.shift()!
    const abort = new AbortController()
    running.set(request.id, abort)
    void answer(request, abort.signal).finally(() => {
      running.delete(request.id)
      next()
    })
  }
}

function cancel(id: number): void {
  const index = waiting.findIndex((request) => request.id === id)
  if (index >= 0) waiting.splice(index, 1)
  running.get(id)?.abort()
}

async function answer(request: ScanRequest, signal: AbortSignal): Promise<void> {
  const { id } = request
  try {
    const budgets = request.steps.map((steps) => new WorkBudget(undefined, steps))
    const { result, transfer } = await answerTo(request, new TimeSlice(signal), budgets)
    post({ id, result, steps: request.steps.map((steps, i) => steps - budgets[i]!.left) }, transfer)
  } catch (error) {
    post({ id, failure: toFailure(error) })
  }
}

/** Executes a request, and returns the memory to transfer rather than copy. */
interface Answer {
  readonly result: ScanResult
  readonly transfer: ArrayBuffer[]
}

interface FileAnswer extends Answer {
  readonly result: EncodedFile
}

async function answerTo(
  request: ScanRequest,
  timeSlice: TimeSlice,
  budgets: readonly WorkBudget[],
): Promise<Answer> {
  const { prefix, entry, wanted } = request
  const storage = await storageOf(request.content)
  const table = { prefix, schema: compiled.schemaOf(request) }
  if (typeof wanted === 'object' && 'expressions' in wanted) {
    const [live, file] = [await readLive(storage, prefix, entry), decodeTableSchema(wanted.file)]
    const columns = compiled.expressionsOf(request, wanted).map((expression, i) => {
      return { field: file.fields[i]!, expression, budget: budgets[i]! }
    })
    const pending = { entry, live, firstRow: wanted.firstRow }
    // Contents other than files may not accept shared memory.
    return inBlocks(request.content.startsWith('file:'), async (memory) => {
      const source = computing(columns, memory)
      const from = await readColumns(storage, table, entry, source.reads)
      return handOver((await makeColumns(from, source, file, pending, timeSlice))!, from)
    })
  }
  const predicate = compiled.predicateOf(request)
  const [budget] = budgets
  if (typeof wanted === 'object' && 'keys' in wanted) {
    const order = await beginOrder(storage, table, predicate, entry, wanted)
    return { result: await order(timeSlice, budget), transfer: [] }
  }
  if (typeof wanted === 'object') {
    const search = await beginSearch(storage, table, predicate, entry, wanted)
    const result = await search(timeSlice, budget)
    const { nearest, candidates = [], vectors } = result
    const arrays = [...nearest, ...candidates].flatMap((found) => Object.values(found) as Values[])
    const all = [...arrays, ...(vectors ? [vectors] : [])]
    return { result, transfer: all.map(({ buffer }) => buffer as ArrayBuffer) }
  }
  const fragment = await readFragment(storage, table, predicate!, entry)
  const result = await evaluateFragment(predicate!, fragment, wanted, timeSlice, budget!)
  return { result, transfer: typeof result === 'number' ? [] : [result.buffer as ArrayBuffer] }
}

/** Makes a file in blocks, if any are free. Blocks that the file does not use are free again at once. */
async function inBlocks(
  mayShare: boolean,
  make: (memory: (bytes: number) => ArrayBufferLike) => Promise<FileAnswer>,
): Promise<FileAnswer> {
  const unused = new Set<SharedArrayBuffer>()
  try {
    const answer = await make((bytes) => {
      const block = mayShare ? blocks.take(bytes) : undefined
      if (block) unused.add(block)
      return block ?? new ArrayBuffer(bytes)
    })
    for (const block of sharedMemoryOf(answer.result.parts)) unused.delete(block)
    return answer
  } finally {
    blocks.give(unused)
  }
}

/** Smaller parts are copied: they may be in a memory pool of Node. */
const smallPart = 64 * 1024

/**
 * The file of new columns, with its large parts. Columns that were read, which stay in the cache, are copied, and so
 * are parts of much larger buffers.
 */
function handOver(file: EncodedFile, from: FragmentRows): FileAnswer {
  const read = new Set<ArrayBufferLike>()
  for (const batch of from.columns) if (batch) for (const buffer of buffersOf(batch)) read.add(buffer)
  const parts = file.parts.map((part) => {
    const { buffer, byteLength } = part
    if (buffer instanceof SharedArrayBuffer) return part
    const isOwn = byteLength >= smallPart && byteLength * 2 >= buffer.byteLength && !read.has(buffer)
    return isOwn ? part : new Uint8Array(part)
  })
  const transfer = new Set(
    parts.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer),
  )
  return { result: { ...file, parts }, transfer: [...transfer] }
}

function post(reply: Reply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(reply, transfer)
}

function storageOf(url: string): Promise<ReadStorage> {
  let storage = storages.get(url)
  if (storage === undefined) {
    storage = openContentAgain(url).then((content) => ({ content, cache }))
    storages.set(url, storage)
  }
  return storage
}

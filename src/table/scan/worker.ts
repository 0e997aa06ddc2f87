import { parentPort, workerData } from 'node:worker_threads'
import { openContentAgain } from '../../content/open.ts'
import { compilePredicate, type Predicate, WorkBudget } from '../../predicate/index.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { decodeTableSchema } from '../format/table-schema.ts'
import { beginSearch } from '../search/search-fragment.ts'
import { ByteCache } from '../storage/cache.ts'
import { uniqueName } from '../storage/object-names.ts'
import type { Storage } from '../storage/objects.ts'
import { evaluateFragment, readFragment } from './fragment.ts'
import {
  type Cancel,
  type Reply,
  type ScanRequest,
  type ScanResult,
  toFailure,
  type WorkerSettings,
} from './message.ts'
import { bindingSchema } from './row-columns.ts'

/*
 * A worker thread of a pool. It reads fragments from the content, caches them and evaluates predicates on them. So the main
 * thread neither reads nor decodes nor checks sums, and the replies are small.
 */

/** Predicates that stay compiled. */
const mostCompiled = 64

const port = parentPort!
const cache = new ByteCache((workerData as WorkerSettings).cacheBytes)
const storages = new Map<string, Promise<Storage>>()
const compiled = new Map<string, Compiled>()
const waiting: ScanRequest[] = []
const running = new Map<number, AbortController>()

interface Compiled {
  readonly schema: ReturnType<typeof decodeTableSchema>
  readonly predicate: Predicate | undefined
}

port.on('message', (message: ScanRequest | Cancel) => {
  if ('cancel' in message) cancel(message.cancel)
  else {
    waiting.push(message)
    next()
  }
})
say('ready')

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
    const budget = new WorkBudget(undefined, request.steps)
    const result = await scan(request, new TimeSlice(signal), budget)
    say({ id, result, steps: request.steps - budget.left }, buffersOf(result))
  } catch (error) {
    say({ id, failure: toFailure(error) })
  }
}

async function scan(request: ScanRequest, timeSlice: TimeSlice, budget: WorkBudget): Promise<ScanResult> {
  const { prefix, entry, wanted } = request
  const storage = await storageOf(request.content)
  const { schema, predicate } = predicateOf(request)
  if (typeof wanted === 'object') {
    const search = await beginSearch(storage, prefix, schema, predicate, entry, wanted)
    return search(timeSlice, budget)
  }
  const fragment = await readFragment(storage, prefix, schema, predicate!, entry)
  return evaluateFragment(predicate!, fragment, wanted, timeSlice, budget)
}

/** What is handed over rather than copied. */
function buffersOf(result: ScanResult): ArrayBuffer[] {
  if (typeof result === 'number') return []
  if (!('nearest' in result)) return [result.buffer as ArrayBuffer]
  const parts = result.nearest.flatMap(({ distances, places }) => [distances, places])
  return [...parts, ...(result.vectors ? [result.vectors] : [])].map(({ buffer }) => buffer as ArrayBuffer)
}

function say(reply: Reply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(reply, transfer)
}

function storageOf(url: string): Promise<Storage> {
  let storage = storages.get(url)
  if (storage === undefined) {
    storage = openContentAgain(url).then((content) => ({
      content,
      cache,
      newName: uniqueName,
      now: Date.now,
    }))
    storages.set(url, storage)
  }
  return storage
}

function predicateOf({ schema: text, columns, predicate, now }: ScanRequest): Compiled {
  const key = `${text} ${columns ? JSON.stringify(columns) : ''} ${now}${predicate === undefined ? '' : ` ${predicate}`}`
  let found = compiled.get(key)
  if (found === undefined) {
    const schema = decodeTableSchema(text, columns)
    found = {
      schema,
      predicate:
        predicate === undefined
          ? undefined
          : compilePredicate(predicate, bindingSchema(schema, predicate), now),
    }
    if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value!)
    compiled.set(key, found)
  }
  return found
}

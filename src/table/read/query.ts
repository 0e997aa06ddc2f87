import { type Bitmap, countRows } from '../../arrow/bitmap.ts'
import { joinParts } from '../../arrow/ipc/encode.ts'
import { invalid } from '../../errors.ts'
import type { Predicate } from '../../predicate/index.ts'
import { prefetch } from '../../scheduling/prefetch.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune, readFragment, selectMatches } from '../scan/fragment.ts'
import { type PendingResult, startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/objects.ts'
import type { CountOptions, QueryOptions } from '../table-engine.ts'
import { AnswerEncoder, type ColumnBatches, inChunks, streamedBytes } from './answer.ts'
import { readColumns } from './fragment-read.ts'
import { selectAllRows, selectRows } from './row-selection.ts'

/** The requested rows as an Arrow IPC file: whole. */
export async function queryRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array> {
  const answer = new AnswerEncoder(snapshot, options)
  const batches: ColumnBatches[] = []
  for await (const batch of readBatches(storage, snapshot, options, answer)) batches.push(batch)
  return joinParts(answer.whole(batches))
}

/**
 * The requested rows as an Arrow IPC file: whole when they are few, otherwise in parts that are made as they are asked
 * for. What can be refused is refused before the first part.
 */
export async function streamRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const answer = new AnswerEncoder(snapshot, options, streamedBytes)
  const batches = readBatches(storage, snapshot, options, answer)
  if (answer.isWhole) {
    const all: ColumnBatches[] = []
    for await (const batch of batches) all.push(batch)
    return all.length <= 1 ? joinParts(answer.whole(all)) : inChunks(answer.whole(all))
  }
  const first = await batches.next()
  if (first.done) return joinParts(answer.whole([]))
  const second = await batches.next()
  if (second.done) return joinParts(answer.whole([first.value]))
  return inChunks(answer.stream([first.value, second.value], batches))
}

/** Reads the rows in batches, and takes the memory for them. */
async function* readBatches(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  answer: AnswerEncoder,
): AsyncGenerator<ColumnBatches> {
  const { prefix, schema } = snapshot
  const { signal, onProgress, memory } = options
  let skip = bound('offset', options.offset) ?? 0
  let left = bound('limit', options.limit) ?? Number.POSITIVE_INFINITY
  const timeSlice = new TimeSlice(signal)
  if (options.filter === undefined) await answer.checkSize(fragmentsOf(storage, snapshot), skip, left)
  const predicate =
    options.filter === undefined ? undefined : await compile(options.filter, schema, storage.now(), timeSlice)
  const budget = predicate?.budget()
  // With a limit, the first fragments may have enough rows, so fragments are not scanned as a whole.
  const scan =
    predicate && left === Infinity ? await startScan(storage, snapshot, predicate, timeSlice) : undefined
  const find = async (entry: FragmentEntry, predicate: Predicate): Promise<PendingResult<Bitmap>> => {
    if (scan) return scan.begin(entry, 'rows')
    const fragment = await readFragment(storage, prefix, schema, predicate, entry)
    return () => {
      let wanted = skip + left
      return selectMatches(predicate, fragment, timeSlice, budget!, (slice) => {
        wanted -= countRows(slice)
        return wanted <= 0
      })
    }
  }
  const begin = async (entry: FragmentEntry) => {
    const verdict = predicate ? prune(predicate, schema, entry) : 'all'
    return {
      entry,
      verdict,
      matches: verdict === 'some' && predicate ? await find(entry, predicate) : undefined,
    }
  }
  let rowsDone = 0
  /** Bytes that are held for the fragment of which the answer is made at the moment. */
  let held = 0
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  // Without a filter the manifest has the number of rows, so a fragment is only read when one of its rows is needed.
  const plan = scan ?? { depth: predicate ? 2 : 0 }
  try {
    for await (const { entry, verdict, matches } of prefetch(fragmentsOf(storage, snapshot), begin, plan)) {
      if (left <= 0) break
      rowsDone += entry.rows
      const known = verdict === 'all' ? entry.rows - (entry.deletions?.count ?? 0) : undefined
      if (verdict === 'none' || (known !== undefined && known <= skip)) {
        skip -= known ?? 0
      } else {
        const found = matches ? await matches() : await readLive(storage, prefix, entry)
        const runs = found ? selectRows(found, entry.rows, skip, left) : selectAllRows(entry.rows, skip, left)
        skip -= runs.skipped
        left -= runs.rows
        if (runs.rows > 0) {
          if (memory) {
            if (!answer.isWhole) memory.give(held)
            held = answer.bytesToHold(entry, runs.rows)
            const taken = memory.take(held)
            if (taken) await taken
          }
          const { columns } = await readColumns(storage, prefix, schema, entry, answer.indices)
          for (const batch of answer.add(columns, runs, entry)) {
            yield batch
            if (timeSlice.due) await timeSlice.rest()
          }
        }
      }
      onProgress?.({ rowsDone, rowsTotal })
      if (timeSlice.due) await timeSlice.rest()
    }
  } finally {
    scan?.end()
  }
  signal?.throwIfAborted()
  yield* answer.rest()
}

function bound(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`The ${name} is ${value}. Give a whole number of rows, 0 or more.`)
  }
  return value
}

/** Counts the rows that match a predicate. Without a predicate it counts all rows and reads none. */
export async function countMatching(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: CountOptions,
): Promise<number> {
  const { predicate: text, signal, onProgress } = options
  const timeSlice = new TimeSlice(signal)
  if (text === undefined) return snapshot.rows
  const { schema } = snapshot
  const predicate = await compile(text, schema, storage.now(), timeSlice)
  const scan = await startScan(storage, snapshot, predicate, timeSlice)
  const begin = async (entry: FragmentEntry) => {
    const verdict = prune(predicate, schema, entry)
    return { entry, verdict, count: verdict === 'some' ? await scan.begin(entry, 'count') : undefined }
  }
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let rowsDone = 0
  let sum = 0
  try {
    for await (const { entry, verdict, count } of prefetch(fragmentsOf(storage, snapshot), begin, scan)) {
      if (count) sum += await count()
      else if (verdict === 'all') sum += entry.rows - (entry.deletions?.count ?? 0)
      rowsDone += entry.rows
      onProgress?.({ rowsDone, rowsTotal })
      if (timeSlice.due) await timeSlice.rest()
    }
  } finally {
    scan.end()
  }
  return sum
}

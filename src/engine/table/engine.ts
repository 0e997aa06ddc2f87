import type { Content, PutGroup } from '../../base/content/content.ts'
import { isInline } from '../../base/content/path.ts'
import { pathIn } from '../../base/model/relative-path.ts'
import { wallClock } from '../../base/time.ts'
import { ownPair, queryChanges, streamChanges } from './changes/changes.ts'
import { addColumns } from './columns/add.ts'
import { alterColumns } from './columns/alter.ts'
import { ColumnChange } from './columns/column-change.ts'
import { dropColumns, updateMetadata } from './columns/edits.ts'
import { typing, withTypesOf } from './columns/typed-nulls.ts'
import type { ManifestRef } from './format/manifest.ts'
import { pathsOf } from './format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot, normalPrefix, openSnapshot } from './format/snapshot.ts'
import type { TableFiles } from './format/table-schema.ts'
import { brokenIndexes } from './indexes/broken-indexes.ts'
import { coverageOf, createIndicesChange, dropIndexChange, indicesOf, requireIndex } from './indices.ts'
import { Job } from './job.ts'
import { mergeRows } from './merge/merge-rows.ts'
import { isOptimized, optimizeRows } from './optimize/optimize.ts'
import { checkObjects } from './read/check.ts'
import { explainQuery } from './read/explain.ts'
import { countMatching, queryRows, streamRows } from './read/query.ts'
import { ScanPool } from './scan/pool.ts'
import { ByteCache } from './storage/cache.ts'
import { uncached } from './storage/coalesced-read.ts'
import { type InlineObjects, type NewName, type ObjectWriter, uniqueName } from './storage/objects.ts'
import type { Storage } from './storage/storage.ts'
import type { ArrowRows, QueryOptions, TableEngine, WritingEngine } from './table-engine.ts'
import {
  appendChange,
  metadataChange,
  overwriteChange,
  restoreChange,
  unreadableAfter,
} from './write/change.ts'
import { copyRows, shareRows } from './write/clone.ts'
import { Deletion } from './write/delete.ts'
import { joinMatched, type MatchedColumns, matchRows } from './write/matched-rows.ts'
import { matchSchema } from './write/schema-match.ts'
import { updateRows } from './write/update.ts'
import { writeRows } from './write/write-rows.ts'
import { writeStream } from './write/write-stream.ts'

const defaultCacheBytes = 256 * 1024 * 1024
const defaultFragmentRows = 1_048_576
const defaultLevels = [16 * 1024, 256 * 1024]
const defaultThreadedRows = 4_000_000
const defaultThreadedAfter = 250

export interface EngineOptions {
  readonly content: Content
  /** Bytes of decoded columns, manifests and segments to cache. Default 256 MiB; 0 caches nothing. */
  readonly cacheBytes?: number | undefined
  /** Creates object names that are unique to an attempt at a change. Default: from the time and random bits. */
  readonly newName?: NewName | undefined
  /** The time in milliseconds since the epoch, for `now()` in predicates. Default: the system's. */
  readonly now?: (() => number) | undefined
  /**
   * Worker threads that scan large tables whose content has a URL, and compute new columns of them. They share
   * `cacheBytes`. Default 0: this thread does all the work, in slices.
   */
  readonly threads?: number | undefined
  /**
   * Rows from which on worker threads scan a table. Default 4,000,000: one thread scans fewer rows in a few tens of
   * milliseconds, and starting workers takes as long. From half as many on they compute new columns.
   */
  readonly threadedRows?: number | undefined
  /**
   * Milliseconds that scans of such tables take on this thread before the workers are started. Default 250, about the
   * cost of starting them. With 0 the first scan waits for the workers.
   */
  readonly threadedAfter?: number | undefined
  /**
   * Most bytes that an update, a merge or a change of columns may write beyond the size of the table; more are refused
   * before anything is written. Default: no limit.
   */
  readonly growthBytes?: number | undefined
  /**
   * Most bytes of the fragments of each level: an insert that leaves eight fragments of a level at the end of the table
   * merges them. Default 16 KiB and 256 KiB; with an empty list, inserts merge none.
   */
  readonly levels?: readonly number[] | undefined
  /** Most rows of a fragment. Default 1,048,576; rounded down to a multiple of 64. */
  readonly fragmentRows?: number | undefined
}

/** An engine over a content. Several engines may work on one content at once, in one process or in several. */
export function tableEngine(options: EngineOptions): TableEngine {
  const cache = new ByteCache(options.cacheBytes ?? defaultCacheBytes)
  const {
    threads = 0,
    threadedRows: minRows = defaultThreadedRows,
    threadedAfter: startAfter = defaultThreadedAfter,
  } = options
  const pool = threads > 0 ? new ScanPool({ threads, minRows, startAfter }, cache) : undefined
  const { content, newName = uniqueName, now = wallClock, growthBytes } = options
  const fragmentRows = Math.max(64, (options.fragmentRows ?? defaultFragmentRows) & ~63)
  const { levels = defaultLevels } = options
  return engineOn({ content, writer: content, cache, newName, now, pool, growthBytes, fragmentRows, levels })
}

/** Most objects that a writer puts at the same time without waiting. Their bytes are in memory. */
const maxBegun = 16

/** Puts small objects into `inline`, and others into a content or group. */
function writerOver(
  below: Pick<Content, 'put'>,
  inline: InlineObjects,
): Pick<ObjectWriter, 'put' | 'isInline'> {
  return {
    isInline: (bytes) => inline.fits(bytes),
    async put(path, bytes) {
      if (isInline(path)) return inline.put(path, bytes)
      await inline.beforeFile?.()
      return below.put(path, bytes)
    },
  }
}

/** Puts the objects of one writer, which become durable together. */
class GroupWriter implements ObjectWriter {
  readonly put: ObjectWriter['put']
  readonly remove: ObjectWriter['remove']
  readonly isInline: ObjectWriter['isInline']
  /** Puts under way. A failed one remains, so that no later sync succeeds. */
  readonly begun = new Set<Promise<void>>()

  constructor(group: PutGroup, remove: ObjectWriter['remove'], inline: InlineObjects | undefined) {
    this.remove = remove
    const { put, isInline } = inline
      ? writerOver(group, inline)
      : { put: group.put.bind(group), isInline: undefined }
    this.put = put
    this.isInline = isInline
  }

  async begin(path: string, bytes: Uint8Array): Promise<void> {
    if (isInline(path)) return this.put(path, bytes)
    if (this.begun.size >= maxBegun) await Promise.race(this.begun)
    const put = this.put(path, bytes)
    this.begun.add(put)
    put.then(
      () => this.begun.delete(put),
      () => {},
    )
  }
}

function writingEngine(storage: Storage, name: string, inline: InlineObjects | undefined): WritingEngine {
  const newName = () => storage.newName(name)
  const group = storage.writer.group?.()
  const remove = (path: string) => storage.writer.remove(path)
  if (group === undefined) {
    const writer = inline ? { ...writerOver(storage.writer, inline), remove } : storage.writer
    const nothing = async () => {}
    return { ...engineOn({ ...storage, newName, writer }), written: nothing, sync: nothing }
  }
  const writer = new GroupWriter(group, remove, inline)
  return {
    ...engineOn({ ...storage, newName, writer }),
    async written() {
      await Promise.all(writer.begun)
    },
    async sync() {
      await Promise.all(writer.begun)
      await group.sync()
    },
  }
}

function engineOn(storage: Storage): TableEngine {
  const write = async (job: Job, files: TableFiles, rows: ArrowRows) =>
    'tables' in rows
      ? writeStream(job, files, rows.tables)
      : writeRows(job, files, await matchSchema(rows, files.schema, job))
  const overwrite = async (job: Job, prefix: string, rows: ArrowRows) => {
    const { schema } = rows
    return overwriteChange(storage, prefix, schema, await write(job, { prefix, schema }, rows))
  }
  return {
    writtenBy: (writer, inline) => writingEngine(storage, writer, inline),
    async create(prefix, rows, work) {
      const change = await overwrite(new Job(storage, work), normalPrefix(prefix), rows)
      return change.create(work)
    },
    open: (prefix, ref) => openSnapshot(storage, normalPrefix(prefix), ref),
    async insertRows(base, rows, work) {
      const typed = withTypesOf(base as LoadedSnapshot, rows.schema)
      const written = await write(new Job(storage, work), typed, rows)
      return typing(appendChange(storage, typed, written), rows.schema)
    },
    matchRows: (base, table, work) => matchRows(new Job(storage, work), base.schema, table),
    async insertMatched(base, rows, work) {
      const job = new Job(storage, work)
      const columns = await joinMatched(job, base.schema, rows as readonly MatchedColumns[])
      return appendChange(storage, base as LoadedSnapshot, await writeRows(job, base, columns))
    },
    overwriteRows: async (prefix, rows, work) =>
      overwrite(new Job(storage, work), normalPrefix(prefix), rows),
    updateRows: async (base, update, work) =>
      updateRows(new Job(storage, work), base as LoadedSnapshot, update),
    async mergeRows(base, table, merge, work) {
      const typed = withTypesOf(base as LoadedSnapshot, table.schema)
      return typing(await mergeRows(new Job(storage, work), typed, table, merge), table.schema)
    },
    deleteRows: (predicate) => new Deletion(storage, predicate),
    replaceSchemaMetadata: (metadata) => metadataChange(storage, metadata),
    createIndices: (indices) => createIndicesChange(storage, indices),
    dropIndex: (name) => dropIndexChange(storage, name),
    indicesOf: (snapshot) => indicesOf(snapshot as LoadedSnapshot),
    indexOf: (snapshot, name) => requireIndex(indicesOf(snapshot as LoadedSnapshot), name),
    coverageOf: (snapshot, indices) => coverageOf(storage, snapshot as LoadedSnapshot, indices),
    addColumns: (columns) => new ColumnChange(storage, addColumns(columns, storage.now())),
    alterColumns: (alterations) =>
      new ColumnChange(storage, async (schema) => alterColumns(schema, alterations)),
    dropColumns: (paths) => new ColumnChange(storage, async (schema) => dropColumns(schema, paths)),
    updateFieldMetadata: (updates) =>
      new ColumnChange(storage, async (schema) => updateMetadata(schema, updates)),
    restoreTo: (old) => restoreChange(storage, old as LoadedSnapshot),
    unreadableAfter: (old) => unreadableAfter(old as LoadedSnapshot),
    brokenIndexes: async (snapshot, work = {}) =>
      brokenIndexes(new Job(storage, work), snapshot as LoadedSnapshot),
    isOptimized: (snapshot, options = {}) => isOptimized(storage, snapshot as LoadedSnapshot, options),
    optimizeRows: async (base, options = {}, work = {}) =>
      optimizeRows(new Job(storage, work), base as LoadedSnapshot, options),
    countRows: async (snapshot, work = {}) =>
      countMatching(new Job(storage, work), snapshot as LoadedSnapshot, work.predicate),
    queryRows: async (snapshot, query = {}) =>
      queryRows(new Job(storage, query), snapshot as LoadedSnapshot, query),
    streamRows: async (snapshot, query = {}) =>
      streamRows(new Job(storageFor(storage, query), query), snapshot as LoadedSnapshot, query),
    async queryChanges(from, to, options = {}) {
      const job = new Job(storage, options)
      return queryChanges(job, ownPair(job, from as LoadedSnapshot, to as LoadedSnapshot), options)
    },
    async streamChanges(from, to, options = {}) {
      const job = new Job(storage, options)
      return streamChanges(job, ownPair(job, from as LoadedSnapshot, to as LoadedSnapshot), options)
    },
    explainQuery: async (snapshot, query = {}) =>
      explainQuery(new Job(storage, query), snapshot as LoadedSnapshot, query),
    shareRows: async (prefix, source, work) =>
      shareRows(new Job(storage, work), normalPrefix(prefix), source as LoadedSnapshot),
    copyRows: async (prefix, source, from, work) =>
      copyRows(new Job(storage, work), normalPrefix(prefix), source as LoadedSnapshot, from),
    fragmentRows: async (snapshot) => {
      const rows: number[] = []
      for await (const entry of fragmentsOf(storage, snapshot as LoadedSnapshot))
        rows.push(entry.rows - (entry.deletions?.count ?? 0))
      return rows
    },
    reachable: (prefix, refs) => reachable(storage, normalPrefix(prefix), refs),
    check: (prefix, refs, work = {}) => checkObjects(storage.content, normalPrefix(prefix), refs, work),
    cacheUse: storage.cache,
    close: async () => storage.pool?.close(),
  }
}

/** Bytes that rows which are read once keep among themselves: a filter and the answer may need one column. */
const onceBytes = 32 << 20

/** The storage that the rows of a query are read from. */
function storageFor(storage: Storage, { isOnce, orderBy = [], search }: QueryOptions): Storage {
  if (!isOnce || orderBy.length > 0 || search) return storage
  const cache = new ByteCache(Math.min(onceBytes, storage.cache.limit))
  return { ...storage, content: uncached(storage.content), cache }
}

async function* reachable(
  storage: Storage,
  prefix: string,
  refs: Iterable<ManifestRef> | AsyncIterable<ManifestRef>,
): AsyncGenerator<string> {
  const seen = new Set<string>()
  for await (const ref of refs) {
    yield prefix + ref.path
    const snapshot = await openSnapshot(storage, prefix, ref)
    for (const { path } of snapshot.body.segments) yield prefix + path
    for await (const entry of fragmentsOf(storage, snapshot)) {
      for (const name of pathsOf(entry)) {
        if (!seen.has(name)) yield pathIn(prefix, name)
        seen.add(name)
      }
    }
  }
}

import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { sourcePath } from '../format/column-source.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import { storedColumn } from '../read/few-rows.ts'
import type { SearchTask } from '../scan/message.ts'
import type { ReadStorage } from '../storage/objects.ts'
import type { Storage } from '../storage/storage.ts'
import type { Snapshot } from '../table-engine.ts'
import { QuantizedVectors } from './quantized-vectors.ts'
import { rowsInBlock } from './simd.ts'

/** Components of the smallest column that is copied. Comparing one takes some ten microseconds. */
const minComponents = 1 << 14

/** The part of a fragment's rows that may be ranked. Of more, too few are excluded. */
const mostRanked = 1 / 8

/** The part of a fragment's rows that may have to be read. */
const mostRead = 1 / 64

/**
 * The part of a copy's bytes that a search without it counts for. Once searches count for the whole, the copy is made.
 * Making one takes as long as comparing the vectors three times, or reading, checking and comparing them once.
 */
const costInCache = 1 / 4
const costOfRead = 3 / 4

/** What a search remembers of a column that has no copy. */
const none = 'none'

/** The part of the cache that the copies for one search may take. */
const mostOfCache = 3 / 4

/** Whether the copies of all fragments of a table have room in the cache, so that a search need not make them again. */
export function copiesHaveRoom(
  { cache, pool }: Pick<Storage, 'cache' | 'pool'>,
  { rows, deletedRows }: Pick<Snapshot, 'rows' | 'deletedRows'>,
  { dimension }: SearchTask['column'],
): boolean {
  const room = pool?.cacheBytes ?? cache.limit
  return QuantizedVectors.bytes(rows + deletedRows, dimension) <= room * mostOfCache
}

/** Where the quantized copy of a fragment's column of vectors is kept: in the cache, like columns that were read. */
export class FragmentCopy {
  readonly #storage: ReadStorage
  readonly #key: string
  readonly #columnKey: string
  readonly #bytes: number
  /** Most candidates if the column has to be read for them. */
  readonly #mostRead: number
  readonly #mostCached: number

  private constructor(
    storage: ReadStorage,
    [columnKey, key]: readonly [string, string],
    { bytes, mostRead, mostCached }: { bytes: number; mostRead: number; mostCached: number },
  ) {
    this.#storage = storage
    this.#columnKey = columnKey
    this.#key = key
    this.#bytes = bytes
    this.#mostRead = mostRead
    this.#mostCached = mostCached
  }

  /** Undefined if the search of the fragment gains nothing from a copy. */
  static of(
    storage: ReadStorage,
    table: TableFiles,
    entry: FragmentLayout,
    { column, measure, limit, mayCopy }: SearchTask,
  ): FragmentCopy | undefined {
    const { dimension, path } = column
    if (!mayCopy) return undefined
    if (!QuantizedVectors.supports(column) || measure === 'hamming' || rowsInBlock(dimension) === 0)
      return undefined
    if (entry.rows * dimension < minComponents || limit > entry.rows * mostRanked) return undefined
    const stored = storedColumn(table, entry, path[0]!)
    const within = stored && sourcePath(stored.source, path)
    if (within === undefined) return undefined
    const { key } = stored!
    return new FragmentCopy(storage, [key, `${key}.${within.slice(1).join('.')}#codes`], {
      bytes: QuantizedVectors.bytes(entry.rows, dimension),
      mostRead: Math.max(2 * limit + 32, Math.floor(entry.rows * mostRead)),
      mostCached: Math.floor(entry.rows * mostRanked) + limit,
    })
  }

  /** Whether the column itself is in the cache. */
  get hasColumn(): boolean {
    return this.#storage.cache.has(this.#columnKey)
  }

  /** Most candidates for which a search by the copy takes less time than one without. */
  get most(): number {
    return this.hasColumn ? this.#mostCached : this.#mostRead
  }

  /** The copy, if there is one to be used. */
  async cached(): Promise<QuantizedVectors | undefined> {
    if (!this.#storage.cache.has(this.#key)) return undefined
    const found = await this.#get(async () => none)
    return found !== none && found.shouldTry() ? found : undefined
  }

  /**
   * Whether to make a copy of the column, which is about to be searched without one: if that happens often.
   */
  shouldMake(): boolean {
    const { cache } = this.#storage
    const cost = this.hasColumn ? costInCache : costOfRead
    return !cache.has(this.#key) && cache.shouldMake(this.#key, this.#bytes, this.#bytes * cost)
  }

  /** The column, which has been read or is being read, takes no room in the cache from copies. */
  giveWay(): void {
    this.#storage.cache.giveWay(this.#columnKey)
  }

  /** Makes the copy of the column. */
  async make(batch: AnyBatch, column: SearchTask['column']): Promise<void> {
    // Others may wait for it, so it does not end with this search.
    const timeSlice = new TimeSlice(undefined)
    await this.#get(async () => (await QuantizedVectors.of(batch, column, timeSlice)) ?? none)
  }

  #get(make: () => Promise<QuantizedVectors | typeof none>): Promise<QuantizedVectors | typeof none> {
    return this.#storage.cache.get(this.#key, (made) => (made === none ? 256 : this.#bytes), make)
  }
}

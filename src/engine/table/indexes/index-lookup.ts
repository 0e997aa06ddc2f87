import type { DataType } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import type { Equality, Predicate } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { ReadStorage } from '../storage/objects.ts'
import { rowsWithHashes } from './index-reader.ts'
import { indexedFields, indexIn } from './indexed-fields.ts'
import { hashOfValue } from './value-hashes.ts'

/** Most values that are looked up. For more of them, a scan takes less time. */
const maxValues = 4_096

/** A field with an index, and the hashes of the values that it may have. */
interface Lookup {
  readonly field: number
  readonly hashes: Uint32Array
}

/** Finds rows that may match a predicate by the indexes of fragments. */
export class IndexLookup {
  readonly #storage: ReadStorage
  readonly #prefix: string
  readonly #lookups: readonly Lookup[]

  private constructor(storage: ReadStorage, prefix: string, lookups: readonly Lookup[]) {
    this.#storage = storage
    this.#prefix = prefix
    this.#lookups = lookups
  }

  /** Undefined if the predicate asks for no values of a field with an index. */
  static of(
    storage: ReadStorage,
    snapshot: LoadedSnapshot,
    { equalities }: Pick<Predicate, 'equalities'>,
  ): IndexLookup | undefined {
    if (equalities.length === 0) return undefined
    const lookups: Lookup[] = []
    for (const { id, path, field } of indexedFields(snapshot)) {
      for (const equality of equalities) {
        if (equality.path.join() === path.join() && equality.values.length <= maxValues)
          lookups.push({ field: id, hashes: hashesOf(equality, field.type) })
      }
    }
    return lookups.length === 0 ? undefined : new IndexLookup(storage, snapshot.prefix, lookups)
  }

  /** Whether a fragment has an index that is looked at. */
  serves(entry: FragmentEntry): boolean {
    return this.#lookups.some(({ field }) => indexIn(entry, field) !== undefined)
  }

  /**
   * The rows of a fragment that may match, in order, deleted ones included. Undefined if no index of the fragment helps,
   * or if it is missing or damaged: then the fragment must be scanned.
   */
  async rowsIn(entry: FragmentEntry): Promise<readonly number[] | undefined> {
    for (const { field, hashes } of this.#lookups) {
      const index = indexIn(entry, field)
      if (index === undefined) continue
      const of = { storage: this.#storage, prefix: this.#prefix, entry, index }
      const found = await rowsWithHashes(of, hashes).catch(ignoreBroken)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function hashesOf({ values }: Equality, type: DataType): Uint32Array {
  const hashes = new Set<number>()
  for (const value of values) hashes.add(hashOfValue(value, type))
  return Uint32Array.from(hashes)
}

function ignoreBroken(error: unknown): undefined {
  if (error instanceof CatalogError && error.code === 'InvalidTableState') return undefined
  throw error
}

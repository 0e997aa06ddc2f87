import { Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { ValueExpression } from '../../predicate/index.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { bytesOfColumn } from '../format/table-schema.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * The limit of one change: as many bytes of new values as the table has, and some more. Without it, a request of a few
 * bytes could ask for any number of them. Exceeding it is refused before anything is written.
 */
export class Growth {
  readonly max: number
  readonly #storage: Storage
  readonly #snapshot: LoadedSnapshot

  constructor(storage: Storage, snapshot: LoadedSnapshot) {
    this.max = snapshot.bytes + (storage.growthBytes ?? Number.POSITIVE_INFINITY)
    this.#storage = storage
    this.#snapshot = snapshot
  }

  /** Whether values of these expressions certainly fit, as far as that is known without computing them. */
  async fits(expressions: readonly ValueExpression[], rows: number): Promise<boolean> {
    if (this.max === Number.POSITIVE_INFINITY) return true
    const sizes = await this.#columns(expressions.flatMap(({ columns }) => columns))
    const sum = expressions.reduce(
      (sum, one) => sum + one.mostBytes(rows, (index) => sizes.get(index) ?? Number.POSITIVE_INFINITY),
      0,
    )
    return sum <= this.max
  }

  /** Throws if values take too many bytes. */
  check(bytes: number): void {
    if (bytes <= this.max) return
    throw invalid(
      `The change would write more than ${this.max.toLocaleString('en')} bytes of new values: what the table holds, and ${this.storedBytes}. Nothing was written. Compute shorter values, change fewer rows at a time, or open the catalog with a larger growthBytes.`,
    )
  }

  private get storedBytes(): string {
    return `${(this.max - this.#snapshot.bytes).toLocaleString('en')} more`
  }

  /** The bytes of columns in all fragments; unknown for encoded columns, as values are written plain. */
  async #columns(indices: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const { schema } = this.#snapshot
    const sizes = new Map<number, number>()
    const wanted = [...new Set(indices)].filter((index) => {
      const typeId = schema.fields[index]?.type.typeId
      const isPlain = typeId === Type.Utf8 || typeId === Type.LargeUtf8 || typeId === Type.Binary
      return isPlain
    })
    if (wanted.length === 0) return sizes
    for (const index of wanted) sizes.set(index, 0)
    for await (const entry of fragmentsOf(this.#storage, this.#snapshot)) {
      for (const index of wanted) sizes.set(index, sizes.get(index)! + bytesOfColumn(schema, entry, index))
    }
    return sizes
  }
}

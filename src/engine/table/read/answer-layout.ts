import type { Field, Schema } from '@uwdata/flechette'
import { FileLayout } from '../../arrow/ipc/encode.ts'
import { hasDictionary } from '../../arrow/layout.ts'
import type { QueryOptions } from '../table-engine.ts'
import { columnsRead } from './answer-reader.ts'
import type { Pick } from './projection.ts'

/** The columns of an answer, as far as they follow from the schema and the texts of a query. It does not change. */
export class AnswerLayout {
  readonly picks: readonly Pick[]
  /** The picks with different paths. Aliases of one path share their batches. */
  readonly distinct: readonly Pick[]
  /** Their fields. */
  readonly fields: readonly Field[]
  /** For each pick, the index of its distinct pick. */
  readonly distinctOf: readonly number[]
  /** For each distinct pick, how many columns of the answer use it. */
  readonly uses: readonly number[]
  /** The columns of the table to read, and the row columns after them. */
  readonly indices: ReadonlySet<number>
  /** Whether the answer must be written as a whole: an Arrow file has each dictionary once, before the first batch. */
  readonly isWhole: boolean
  readonly isComputed: boolean
  /** The schema of the answer. */
  readonly schema: Schema
  #file: FileLayout | undefined

  constructor({ metadata }: Schema, picks: readonly Pick[], plain?: QueryOptions['plain']) {
    const indices = new Map<string, number>()
    const uses: number[] = []
    const distinct: Pick[] = []
    this.picks = picks
    this.distinctOf = picks.map((pick) => {
      const key = pick.path?.join() ?? `=${pick.expression!.text}`
      const index = indices.get(key) ?? distinct.push(pick) - 1
      indices.set(key, index)
      uses[index] = (uses[index] ?? 0) + 1
      return index
    })
    this.distinct = distinct
    this.fields = distinct.map(({ field }) => field)
    this.uses = uses
    this.indices = columnsRead(distinct)
    this.isWhole = distinct.some(({ field }) => hasDictionary(field.type))
    this.isComputed = distinct.some(({ expression }) => expression !== undefined)
    const fields = picks.map(({ field }) => (plain ? plain(field) : field))
    this.schema = { fields, metadata: metadata ?? null }
  }

  /** How its files begin and end. Not for an answer that must be written as a whole. */
  get file(): FileLayout {
    this.#file ??= new FileLayout(this.schema)
    return this.#file
  }
}

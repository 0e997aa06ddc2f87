import { type Field, type Schema, struct } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { forEachRow } from '../../arrow/bitmap.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import { assemble } from '../../arrow/take/take.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import { noMetadata } from '../columns/field-tree.ts'
import { type Compiling, compile } from '../scan/compile.ts'
import { walk } from '../scan/evaluate.ts'
import type { MergeSource } from './source.ts'

/** Pairs of a table row and a source row with the same key, at equal positions of both lists. */
export interface Pairs {
  readonly target: readonly number[]
  readonly source: readonly number[]
}

/** A condition on pairs of rows. Its columns `source.x` and `target.x` are fields of two structs to the language. */
export class PairCondition {
  /** The columns of the table that it reads. */
  readonly columns: readonly number[]
  readonly #source: MergeSource
  readonly #schema: Schema
  readonly #sides: readonly [source: readonly number[], target: readonly number[]]
  readonly #predicate: Predicate
  readonly #budget: WorkBudget

  private constructor(
    source: MergeSource,
    schema: Schema,
    sides: readonly [readonly number[], readonly number[]],
    predicate: Predicate,
  ) {
    this.#source = source
    this.#schema = schema
    this.#sides = sides
    this.columns = sides[1]
    this.#predicate = predicate
    this.#budget = predicate.budget()
  }

  static async of(
    text: string,
    source: MergeSource,
    schema: Schema,
    now: number,
    job: Compiling,
  ): Promise<PairCondition> {
    const all = [...schema.fields.keys()]
    const given = all.filter((i) => source.has(i))
    // Errors list all existing columns. Only those in the text are read.
    await compile(text, pairSchema(schema, given, all), now, job)
    const isNamed = (i: number) => {
      const { name } = schema.fields[i]!
      return i === source.keys[0]!.path[0] || text.includes(name) || name.includes('`')
    }
    const sides = [given.filter(isNamed), all.filter(isNamed)] as const
    const predicate = await compile(text, pairSchema(schema, ...sides), now, job)
    return new PairCondition(source, schema, sides, predicate)
  }

  /** The positions of the pairs for which it is true. `columns` are those of a fragment. */
  async select(
    { target, source }: Pairs,
    columns: readonly (AnyBatch | undefined)[],
    timeSlice: TimeSlice,
  ): Promise<number[]> {
    const { fields } = this.#schema
    const length = target.length
    const runs = new RunBuilder()
    for (const row of target) runs.add(row, row + 1)
    const [given, read] = this.#sides
    const selected = this.#source.select(source)
    const left = given.map((i) => assemble(fields[i]!.type, this.#source.pieces(i, selected)))
    const right = read.map((i) => assemble(fields[i]!.type, [{ batch: columns[i]!, runs: runs.done() }]))
    const rows = {
      length,
      columns: [left, right].map((children, side) =>
        makeBatch(structOf(fields, this.#sides[side]!), { length, children }),
      ),
    }
    const found = await walk(this.#predicate.steps(rows, 0, length, undefined, this.#budget), timeSlice)
    const indices: number[] = []
    forEachRow(found, (index) => indices.push(index))
    return indices
  }
}

function pairSchema(schema: Schema, source: readonly number[], target: readonly number[]): Schema {
  const side = (name: string, indices: readonly number[]): Field => ({
    name,
    type: structOf(schema.fields, indices),
    nullable: false,
    metadata: noMetadata,
  })
  return { ...schema, fields: [side('source', source), side('target', target)], metadata: null }
}

function structOf(fields: readonly Field[], indices: readonly number[]) {
  return struct(indices.map((i) => fields[i]!))
}

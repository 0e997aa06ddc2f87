import { type Table, Type } from '@uwdata/flechette'
import type { AnyBatch } from '../../../../src/engine/arrow/batch.ts'
import { scalarAt } from '../../../../src/engine/predicate/evaluate/scalar.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import type { Cell } from '../evaluate/interpret.ts'

/** What gives the values of a table's rows, as plans hold them. */
export function cellsOf(table: Table): (row: number) => Cell {
  const batches = table.children.map((column) => column.data[0] as unknown as AnyBatch)
  return (row) => (path) => cellAt(batches[path[0]!]!, row, path.slice(1))
}

function cellAt(batch: AnyBatch, row: number, path: readonly number[]): Scalar {
  if (path.length === 0) return scalarAt(batch, row)
  const isNull = batch.type.typeId !== Type.Struct || batch.at(row) === null
  return isNull ? null : cellAt(batch.children[path[0]!]!, row, path.slice(1))
}

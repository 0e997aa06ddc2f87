import type { Schema } from '@uwdata/flechette'
import { unsupported } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { decodeArrow } from '../../arrow/ipc/decode.ts'
import type { ComparedPair } from '../../table/changes/changes.ts'
import type { ComparedColumns } from '../../table/changes/compared-columns.ts'
import type { WorkOptions } from '../../table/table-engine.ts'
import type { DatasetToRead, RowsToScan } from '../datasets.ts'
import { changedLanceFragments, type DatasetLayout } from './fragments.ts'
import { addressColumn, addressesOf, LanceSide, type ReadSpan } from './lance-side.ts'

/** Reads versions of datasets. */
interface DatasetReader {
  schema(dataset: DatasetToRead): Promise<Schema>
  count(dataset: DatasetToRead, predicate: undefined, work: WorkOptions): Promise<number>
  scan(dataset: DatasetToRead, rows: RowsToScan, work: WorkOptions): AsyncIterable<Uint8Array>
}

/** A version of a dataset that is to be compared. */
export interface DatasetToCompare extends DatasetToRead {
  /** What its manifest says of its fragments. */
  layout(): Promise<DatasetLayout>
}

/** Two versions that Lance wrote. */
export async function lancePair(
  lance: DatasetReader,
  from: DatasetToCompare,
  to: DatasetToCompare,
  work: WorkOptions,
): Promise<ComparedPair> {
  const [before, after] = await Promise.all([lance.schema(from), lance.schema(to)])
  return {
    from: before,
    to: after,
    async open(columns) {
      refuseBlobs(columns)
      const [then, now] = await Promise.all([opened(lance, from, work), opened(lance, to, work)])
      const fragments = await changedLanceFragments(then, now, columns)
      const sideOf = (dataset: DatasetToCompare, schema: Schema, own: typeof fragments.from) =>
        new LanceSide({ schema, shown: dataset.shown }, own, spanReader(lance, dataset, work))
      return { from: sideOf(from, before, fragments.from), to: sideOf(to, after, fragments.to) }
    },
  }
}

async function opened(lance: DatasetReader, dataset: DatasetToCompare, work: WorkOptions) {
  const [layout, rows] = await Promise.all([dataset.layout(), lance.count(dataset, undefined, work)])
  const read = spanReader(lance, dataset, work)
  return {
    layout,
    rows,
    shown: dataset.shown,
    async *addresses(from: number, count: number) {
      for await (const { table } of read([addressColumn], { start: from, end: from + count }))
        yield addressesOf(table)
    },
  }
}

function spanReader(lance: DatasetReader, dataset: DatasetToRead, work: WorkOptions): ReadSpan {
  return async function* (columns, { start, end }) {
    for await (const bytes of lance.scan(dataset, { columns, offset: start, limit: end - start }, work))
      yield { table: await decodeArrow(bytes), bytes: bytes.length }
  }
}

/** Refuses columns of blobs: Lance answers with the places of their bytes, which are others where rows were rewritten. */
function refuseBlobs({ all }: ComparedColumns): void {
  for (const { field } of all) {
    const metadata = field.metadata ?? new Map()
    const isBlob =
      metadata.get('lance-encoding:blob') === 'true' ||
      metadata.get('ARROW:extension:name') === 'lance.blob.v2'
    if (!isBlob) continue
    throw unsupported(
      `The column ${quote(field.name)} has blobs of Lance, whose bytes are not compared.`,
      'Name the other columns in columns.',
    )
  }
}

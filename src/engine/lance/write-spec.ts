import { unsupported } from '../../base/errors.ts'
import type { NativeTable } from './native.ts'

/** How writers that gather rows in memory share them out: all to one, by a hash of a column, or by its values. */
export interface WriteSpec {
  readonly mode: 'unsharded' | 'bucket' | 'identity'
  readonly column: string | undefined
  readonly buckets: number | undefined
  /** The indexes that such writers keep up to date. */
  readonly indexes: readonly string[]
  readonly settings: Readonly<Record<string, string>>
}

/** What the table says of such writers. Undefined where there are none. */
export async function writeSpecOf(table: NativeTable): Promise<WriteSpec | undefined> {
  const found = await table.getLsmWriteSpec()
  if (found == null) return undefined
  const { specType: mode, column, numBuckets: buckets, maintainedIndexes, writerConfigDefaults } = found
  if (mode !== 'unsharded' && mode !== 'bucket' && mode !== 'identity')
    throw unsupported(
      `The rows of this table are shared out in a way that this release does not know: ${mode}.`,
      'Read it with Lance.',
    )
  return { mode, column, buckets, indexes: maintainedIndexes ?? [], settings: writerConfigDefaults ?? {} }
}

import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { Range } from '../storage/objects.ts'
import type { FileParts } from './file-parts.ts'

/*
 * A file has a checksum for each of its blocks, so that some rows can be read and checked without the rest of their
 * columns. The checksums are between the Arrow file's last message and its footer, where no Arrow reader looks.
 */

/** Bytes of a block: the least that a disk and the system's cache read. */
export const blockBytes = 4_096

/** Bytes from which on a file has checksums of its blocks. Smaller files are read as quickly by whole columns. */
const fewestBytes = 256 * 1024

/** Adds checksums of its blocks to a file, and returns their position. A small file is unchanged. */
export async function withBlockSums(
  file: FileParts,
  timeSlice: TimeSlice,
): Promise<{ readonly file: FileParts; readonly blocks?: Range }> {
  if (file.size < fewestBytes) return { file }
  const at = file.footerStart
  const sums = await file.sumsOfBlocks(at, blockBytes, timeSlice)
  const bytes = new Uint8Array((sums.byteLength + 7) & ~7)
  const view = new DataView(bytes.buffer)
  for (const [i, sum] of sums.entries()) view.setUint32(i * 4, sum, true)
  const grown = file.withBeforeFooter(bytes)
  return { file: grown, blocks: grown.range(at, bytes.length) }
}

/** The checksum of a block by its number; undefined if there is no such block. */
export type SumOfBlock = (block: number) => number | undefined

/** Decodes what `withBlockSums` wrote. */
export function readBlockSums(bytes: Uint8Array): SumOfBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return (block) => (block * 4 + 4 <= bytes.length ? view.getUint32(block * 4, true) : undefined)
}

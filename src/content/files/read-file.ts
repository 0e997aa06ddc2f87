import { closeSync, constants, fstatSync, open, read } from 'node:fs'
import { promisify } from 'node:util'
import { clampRange } from '../path.ts'
import { systemCode } from './file-errors.ts'

// A FileHandle takes 25 µs more than the calls themselves, of 70 for a small file.
const openFile = promisify(open)
const readAt = promisify(read)

/** Whether the system can be told not to follow a link. */
export const canRefuseLinks = constants.O_NOFOLLOW !== undefined

/** The bytes of a file, or of a part of it; undefined when it is no file. */
export async function readFile(
  file: string,
  range: { readonly start: number; readonly end: number } | undefined,
  links: 'follow' | 'refuse',
): Promise<Uint8Array | undefined> {
  const noLinks = links === 'refuse' ? constants.O_NOFOLLOW : 0
  const handle = await openFile(file, constants.O_RDONLY | noLinks)
  try {
    // Of an open file these two are a few microseconds of calls; in the pool they would wait for large reads of others.
    const stats = fstatSync(handle)
    if (!stats.isFile()) return undefined
    const { start, end } = clampRange(stats.size, range)
    // Of its own, so that it begins at an aligned address.
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(end - start).buffer)
    // What lies behind the first page goes first, see below.
    const split = start < pageBytes && bytes.length > largeBytes ? pageBytes - start : 0
    const last = split + (await readFully(handle, bytes.subarray(split), start + split))
    const first = await readFully(handle, bytes.subarray(0, split), start)
    return first < split ? bytes.subarray(0, first) : bytes.subarray(0, last)
  } finally {
    closeSync(handle)
  }
}

/**
 * A read that begins in a file's first page is taken by Linux for the first of many: it reads ahead, up to what is set
 * for the disk. Of a column of 4 MB at the beginning of ten files, 80 MB are read instead of 38, in 120 ms instead
 * of 55, where the disk is set to 8 MB. One that begins in the second page is not.
 */
const pageBytes = 4096
const largeBytes = 128 * 1024

/** Fills `bytes` from a position on; says how many there were. */
async function readFully(handle: number, bytes: Uint8Array, position: number): Promise<number> {
  let at = 0
  while (at < bytes.length) {
    const { bytesRead } = await readAt(handle, bytes, at, Math.min(bytes.length - at, 1 << 30), position + at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return at
}

/** Whether an error says that the file would not be opened as it is a link. */
export function isLink(error: unknown): boolean {
  const code = systemCode(error)
  // BSDs say so in other words.
  return code === 'ELOOP' || code === 'EMLINK' || code === 'EFTYPE'
}

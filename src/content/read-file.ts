import { close, constants, fstat, open, read } from 'node:fs'
import { promisify } from 'node:util'
import { systemCode } from './file-errors.ts'
import { clampRange } from './path.ts'

// A FileHandle takes 25 µs more than the calls themselves, of 70 for a small file.
const openFile = promisify(open)
const readAt = promisify<number, Uint8Array, number, number, number, number>(read)
const statFile = promisify(fstat) as (file: number) => Promise<{ readonly size: number; isFile(): boolean }>
const closeFile = promisify(close)

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
    const stats = await statFile(handle)
    if (!stats.isFile()) return undefined
    const { start, end } = clampRange(stats.size, range)
    // Of its own, so that it begins at an aligned address.
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(end - start).buffer)
    for (let at = 0; at < bytes.length; ) {
      const length = await readAt(handle, bytes, at, Math.min(bytes.length - at, 1 << 30), start + at)
      if (length === 0) return bytes.subarray(0, at)
      at += length
    }
    return bytes
  } finally {
    await closeFile(handle)
  }
}

/** Whether an error says that the file would not be opened as it is a link. */
export function isLink(error: unknown): boolean {
  const code = systemCode(error)
  // BSDs say so in other words.
  return code === 'ELOOP' || code === 'EMLINK' || code === 'EFTYPE'
}

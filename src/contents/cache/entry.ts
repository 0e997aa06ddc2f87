import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checksumOfRead } from '../../base/scheduling/checksum.ts'
import { readFile } from '../files/read-file.ts'

/*
 * A file of the cache has a magic number, a checksum, the length, and the bytes. The checksum includes the key. So a
 * file that was truncated, damaged or renamed is rejected.
 */

const mark = 'tabcach2'
const headBytes = 24

/** The bytes in a file; undefined when it is missing, and `damaged` when it is invalid. */
export async function readEntry(file: string, key: string): Promise<Uint8Array | 'damaged' | undefined> {
  let found: Uint8Array | undefined
  try {
    found = await readFile(file, undefined, 'refuse')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'damaged'
  }
  if (found === undefined || found.length < headBytes) return 'damaged'
  const head = Buffer.from(found.buffer, found.byteOffset, headBytes)
  const bytes = found.subarray(headBytes)
  const isWhole = head.toString('latin1', 0, 8) === mark && head.readDoubleLE(16) === bytes.length
  return isWhole && head.readUInt32LE(8) === (await sumOf(key, bytes)) ? bytes : 'damaged'
}

/** Writes a file. It gets its name when it is whole; after a crash of the machine, the checksum shows damage. */
export async function writeEntry(file: string, key: string, bytes: Uint8Array): Promise<void> {
  const head = Buffer.alloc(headBytes)
  head.write(mark, 0, 'latin1')
  head.writeUInt32LE(await sumOf(key, bytes), 8)
  head.writeDoubleLE(bytes.length, 16)
  const folder = dirname(file)
  const partial = join(folder, `.${randomUUID()}.partial`)
  const handle = await open(partial, 'wx', 0o600).catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(partial, 'wx', 0o600)
  })
  try {
    try {
      await handle.writeFile(head)
      await handle.writeFile(bytes)
    } finally {
      await handle.close()
    }
    await rename(partial, file)
  } catch (error) {
    await unlink(partial).catch(() => {})
    throw error
  }
}

/** Readers also compare the checksum of the bytes alone, which is therefore calculated without the key. */
async function sumOf(key: string, bytes: Uint8Array): Promise<number> {
  return ((await checksumOfRead(bytes)) ^ Number.parseInt(key.slice(0, 8), 16)) >>> 0
}

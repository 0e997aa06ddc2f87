import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../usage.ts'

/** Bytes that can be read at any place, in a file without a name: it is gone once it is closed, or the process is. */
export interface Spool {
  readonly byteLength: number
  slice(start: number, end: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** Keeps all bytes of a source that can be read once, in the folder for temporary files. */
export async function spool(bytes: AsyncIterable<Uint8Array>, source: string): Promise<Spool> {
  const [file, byteLength] = await filled(bytes, source)
  return {
    byteLength,
    async slice(start, end) {
      const part = new Uint8Array(end - start)
      const { bytesRead } = await file.read(part, 0, part.length, start)
      return part.subarray(0, bytesRead)
    },
    close: () => file.close(),
  }
}

async function filled(bytes: AsyncIterable<Uint8Array>, source: string): Promise<[FileHandle, number]> {
  const path = join(tmpdir(), `tabularium-${randomUUID()}`)
  const kept = <T>(work: Promise<T>) =>
    work.catch((cause: Error) => {
      throw new UsageError(
        `--data ${source} is Parquet, which is read from its end, and cannot be kept in ${tmpdir()} until then: ${cause.message}. Set TMPDIR to a folder with room, or give the path of a plain file`,
      )
    })
  const file = await kept(open(path, 'wx+', 0o600))
  let length = 0
  try {
    // At once, so that no signal leaves it there.
    await kept(rm(path))
    for await (const chunk of bytes) {
      await kept(file.writeFile(chunk))
      length += chunk.length
    }
  } catch (error) {
    await file.close()
    throw error
  }
  return [file, length]
}

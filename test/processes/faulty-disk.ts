import { promises, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/*
 * Makes the disk under a catalog's content a bad one, once this is imported: `FAULTS` is the share of writes,
 * syncs and links that fail, or write less than they were given. Each one is told as a line. The records do
 * not pass here; LMDB writes them itself.
 */

const share = Number(process.env.FAULTS ?? 0)

function fails(what: string, code: string): NodeJS.ErrnoException | undefined {
  if (Math.random() >= share) return undefined
  writeSync(1, `fault ${what} ${code}\n`)
  return Object.assign(new Error(`${code}: a fault of the disk, ${what}`), { code })
}

function eitherOf(...codes: string[]): string {
  return codes[Math.floor(Math.random() * codes.length)]!
}

type Write = (parts: readonly Uint8Array[]) => ReturnType<FileHandle['writev']>

function makeFaulty(handle: FileHandle): FileHandle {
  const write = handle.writev.bind(handle) as unknown as Write
  const sync = handle.sync.bind(handle)
  const faultyWrite: Write = async (parts) => {
    const error = fails('write', eitherOf('short', 'ENOSPC', 'EIO'))
    if (error === undefined) return write(parts)
    // Part of what was to be written is on disk, whether that is told or not.
    const bytes = Buffer.concat(parts)
    const written = await write([bytes.subarray(0, Math.ceil(bytes.length / 2))])
    if (error.code === 'short') return written
    throw error
  }
  const faultySync = async () => {
    const error = fails('sync', 'EIO')
    if (error !== undefined) throw error
    await sync()
  }
  return Object.assign(handle, { writev: faultyWrite, sync: faultySync })
}

if (share > 0) {
  const { open, link } = promises
  Object.assign(promises, {
    open: async (...given: Parameters<typeof open>) => {
      const error = fails('open', eitherOf('ENOSPC', 'EMFILE', 'EIO'))
      if (error !== undefined) throw error
      return makeFaulty(await open(...given))
    },
    link: async (...given: Parameters<typeof link>) => {
      const error = fails('link', eitherOf('ENOSPC', 'EIO'))
      if (error !== undefined) throw error
      return link(...given)
    },
  })
  syncBuiltinESMExports()
}

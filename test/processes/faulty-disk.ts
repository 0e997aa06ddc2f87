import fs, { promises, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/*
 * On import, injects disk faults into a catalog's content: `FAULTS` is the share of writes, syncs and links that fail,
 * or write only a part. Prints a line for each. Records are not affected, since LMDB writes them itself.
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
    // A part of the data is on disk, whether the call reports an error or not.
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

/** Like {@link makeFaulty}, for files that are opened as descriptors. Files for reading only are opened otherwise. */
function makeFaultyByNumber(): void {
  const { open, writev, fsync } = fs
  type Done = (error: NodeJS.ErrnoException | null, result?: number) => void
  Object.assign(fs, {
    open: (path: string, flags: string | number, ...given: [mode: number, done: Done] | [done: Done]) => {
      const done = given.at(-1) as Done
      const error = typeof flags === 'string' ? fails('open', eitherOf('ENOSPC', 'EMFILE', 'EIO')) : undefined
      if (error) setImmediate(done, error)
      else if (given.length === 1) open(path, flags, done)
      else open(path, flags, given[0] as number, done)
    },
    writev: (descriptor: number, parts: readonly Uint8Array[], done: Done) => {
      const error = fails('write', eitherOf('short', 'ENOSPC', 'EIO'))
      if (error === undefined) return writev(descriptor, parts, done)
      const bytes = Buffer.concat(parts)
      writev(descriptor, [bytes.subarray(0, Math.ceil(bytes.length / 2))], (failure, written) =>
        done(failure ?? (error.code === 'short' ? null : error), written),
      )
    },
    fsync: (descriptor: number, done: Done) => {
      const error = fails('sync', 'EIO')
      if (error) setImmediate(done, error)
      else fsync(descriptor, done)
    },
  })
}

if (share > 0) {
  makeFaultyByNumber()
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

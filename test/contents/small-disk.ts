import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  unmount(): void
}

/** A file system of so many bytes in memory, or the reason why there is none. It ends with this process at the latest. */
export function smallDisk(bytes: number): SmallDisk | { readonly reason: string } {
  const path = mkdtempSync(join(tmpdir(), 'tabularium-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(path)
    const { stderr } = error as { stderr?: Buffer }
    return { reason: `a small file system cannot be mounted here: ${String(stderr ?? error).trim()}` }
  }
  const unmount = () => {
    process.off('exit', unmount)
    // A child process may take a moment to let go.
    execFileSync('umount', ['-l', path])
    rmdirSync(path)
  }
  process.once('exit', unmount)
  return { path, unmount }
}

/** Writes a file until the disk is full, and then cuts it so that so many bytes are free. */
export async function fillDisk(path: string, free = 0): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (const size of [2 ** 20, 4096]) {
      const block = Buffer.alloc(size)
      // A full disk takes a part of a block, or none of it.
      while ((await file.write(block).catch(() => ({ bytesWritten: 0 }))).bytesWritten === size);
    }
    await file.truncate(Math.max(0, (await file.stat()).size - free))
  } finally {
    await file.close()
  }
}

import { mkdtemp, readdir, realpath, rm, stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder, in memory if the system offers enough of it, since no test simulates a power failure. Without waits for
 * a disk, tests with many commits take three quarters of the time. The path has no symbolic link.
 */
export async function temporaryDirectory(): Promise<string> {
  return realpath(await mkdtemp(join(await roomy, `tabularium-${process.pid}-`)))
}

/**
 * Removes the folders that killed runs left more than an hour ago: in memory, they would slow down all that follows.
 * Until then, somebody may look into them.
 */
export async function removeLeftFolders(): Promise<void> {
  for (const parent of ['/dev/shm', tmpdir()])
    for (const name of await readdir(parent).catch(() => [])) {
      const pid = /^tabularium-(\d+)-\w{6}$/.exec(name)?.[1]
      if (pid === undefined || isRunning(Number(pid))) continue
      const path = join(parent, name)
      const left = await stat(path).catch(() => undefined)
      if (left !== undefined && left.mtimeMs < Date.now() - 3_600_000)
        await rm(path, { recursive: true, force: true })
    }
}

/** Whether a process runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It runs for another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

// A container may have as little as 64 MB of it. It is memory: what killed tests left there may have filled that.
const enough = 2 ** 30
const roomy = statfs('/dev/shm').then(
  ({ bavail, bsize }) =>
    bavail * bsize >= enough && process.availableMemory() >= 4 * enough ? '/dev/shm' : tmpdir(),
  () => tmpdir(),
)

import { mkdtemp, realpath, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder, in memory if the system offers enough of it, since no test simulates a power failure. Without waits for
 * a disk, tests with many commits take three quarters of the time. The path has no symbolic link.
 */
export async function temporaryDirectory(): Promise<string> {
  return realpath(await mkdtemp(join(await roomy, 'tabularium-')))
}

// A container may have as little as 64 MB of it. It is memory: what killed tests left there may have filled that.
const enough = 2 ** 30
const roomy = statfs('/dev/shm').then(
  ({ bavail, bsize }) =>
    bavail * bsize >= enough && process.availableMemory() >= 4 * enough ? '/dev/shm' : tmpdir(),
  () => tmpdir(),
)

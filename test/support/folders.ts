import { existsSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A new folder, in memory where the system offers that: no test can look at what a power cut leaves, and without
 * waiting for a disk those that commit much take three quarters of the time. Its path holds no symbolic link.
 */
export async function temporaryDirectory(): Promise<string> {
  const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  return realpath(await mkdtemp(join(folder, 'tabularium-')))
}

import { FullDiskRun } from '../processes/full-disk-run.ts'
import type { Scenario } from './scenario.ts'

/** The most free bytes when the writers begin. */
const mostFree = 200 * 1024

/** Many concurrent writers on a disk that repeatedly runs full. */
export async function fullDisk(): Promise<Scenario> {
  const run = await FullDiskRun.begin()
  if (run === undefined) throw new Error('A small disk cannot be mounted here: run this as root, on Linux.')
  return {
    counts: run.counts,
    round: () => run.round(Math.floor(Math.random() * mostFree)),
    end: () => run.end(),
  }
}

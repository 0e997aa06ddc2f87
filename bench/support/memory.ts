import { readFileSync, writeFileSync } from 'node:fs'

/*
 * The memory of processes, as Linux tells it. Elsewhere nothing is known, and reports leave it out.
 */

/** How much contenders grew at most, by what they measured. */
const grown = new WeakMap<readonly number[], number>()
/** What processes that worked for the contender under way told of themselves. */
let elsewhere: number | undefined

/** The most memory that a process has had, in bytes, since {@link forgetPeak} or since it began. */
export function peakOf(pid: number | 'self'): number | undefined {
  return statusOf(pid, 'VmHWM')
}

/** Lets the system count the most memory of a process anew. */
function forgetPeak(pid: number | 'self'): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Then the peak is that of all turns so far, which hides smaller ones.
  }
}

/** Does some work, and tells by how many bytes a process grew at most meanwhile, where the system tells. */
export async function watched<T>(
  work: () => T | Promise<T>,
  pid: number | 'self' = 'self',
): Promise<{ value: T; grew: number | undefined }> {
  forgetPeak(pid)
  const before = statusOf(pid, 'VmRSS')
  elsewhere = undefined
  const value = await work()
  const peak = peakOf(pid)
  const own = before === undefined || peak === undefined ? undefined : Math.max(0, peak - before)
  return { value, grew: elsewhere ?? own }
}

/** Adds what another process grew by while it worked for the contender under way. */
export function grewElsewhere(bytes: number | undefined): void {
  if (bytes !== undefined) elsewhere = (elsewhere ?? 0) + bytes
}

/** Remembers how much a contender grew at most while it measured these samples. */
export function rememberGrowth(samples: readonly number[], bytes: number | undefined): void {
  if (bytes !== undefined) grown.set(samples, Math.max(bytes, grown.get(samples) ?? 0))
}

/** How many bytes a contender grew by at most while it measured these samples. */
export function growthOf(samples: readonly number[]): number | undefined {
  return grown.get(samples)
}

function statusOf(pid: number | 'self', field: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024
  } catch {
    return undefined
  }
}

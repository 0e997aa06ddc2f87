import { rememberGrowth, watched } from './memory.ts'
import { rounds as fewRounds, isShort } from './scale.ts'

export { report } from './figures.ts'

/** The middle half of some measurements: the median, and the quartiles on either side. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export function spread(samples: readonly number[]): Spread {
  return { median: median(samples), low: quantile(samples, 0.25), high: quantile(samples, 0.75) }
}

/** The middle one of some numbers. */
function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

/** The value below which such a part of the numbers lies, between two of them in proportion. */
function quantile(numbers: readonly number[], part: number): number {
  if (numbers.length === 0) throw new Error('Nothing was measured.')
  const sorted = numbers.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const [below, above] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return below + (above - below) * (at - Math.floor(at))
}

/** Microseconds one of `times` repetitions takes, by the clock. */
export async function microseconds(times: number, body: () => unknown): Promise<number> {
  return ((await milliseconds(body)) * 1000) / times
}

/** Milliseconds something takes, by the clock. */
export async function milliseconds(body: () => unknown): Promise<number> {
  const start = performance.now()
  await body()
  return performance.now() - start
}

/** How long contenders of a short run take turns, in milliseconds. */
const shortPatience = 8_000

/** Milliseconds by the clock, and of processor time on all threads of the process. */
export async function cpuTime(
  body: () => unknown,
): Promise<{ readonly took: number; readonly used: number }> {
  const before = process.cpuUsage()
  const took = await milliseconds(body)
  const { user, system } = process.cpuUsage(before)
  return { took, used: (user + system) / 1_000 }
}

/**
 * Lets contenders take turns, in another order each round, so that all meet the same machine; answers with
 * what each measured, round by round. The first round warms up and does not count. After so many
 * milliseconds of patience the race ends early, but not before two rounds. A short run has few rounds and little
 * patience, but for a race that was given endless patience. {@link growthOf} tells what memory each took.
 */
export async function race(
  rounds: number,
  contenders: Readonly<Record<string, (round: number) => number | Promise<number>>>,
  patience = 20_000,
): Promise<Record<string, number[]>> {
  const names = Object.keys(contenders)
  const measured: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]))
  const isCut = isShort && patience !== Number.POSITIVE_INFINITY
  const most = isCut ? Math.min(rounds, fewRounds) : rounds
  const enough = performance.now() + (isCut ? Math.min(patience, shortPatience) : patience)
  for (let round = 0; round <= most && (round < 3 || performance.now() < enough); round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + round) % names.length]!
      const { value, grew } = await watched(() => contenders[name]!(round))
      rememberGrowth(measured[name]!, grew)
      if (round > 0) measured[name]!.push(value)
    }
  }
  return measured
}

/** Runs `work` one after the other so many times. */
export async function inTurn(total: number, work: (i: number) => unknown): Promise<void> {
  for (let i = 0; i < total; i++) await work(i)
}

/** Runs `work` so many times, with so many under way at once. */
export async function inFlight(
  total: number,
  atOnce: number,
  work: (i: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < total) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

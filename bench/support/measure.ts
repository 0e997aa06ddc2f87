/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >>> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Microseconds one of `times` repetitions takes, by the clock. */
export async function microseconds(times: number, body: () => void | Promise<void>): Promise<number> {
  const start = performance.now()
  await body()
  return ((performance.now() - start) * 1000) / times
}

/** The median of several rounds of {@link microseconds}, after one that does not count. */
export async function medianMicroseconds(
  rounds: number,
  times: number,
  body: (round: number) => void | Promise<void>,
): Promise<number> {
  const measured: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const each = await microseconds(times, () => body(round))
    if (round > 0) measured.push(each)
  }
  return median(measured)
}

/** Runs `work` so many times, with so many under way at once. */
export async function inFlight(total: number, atOnce: number, work: () => Promise<unknown>): Promise<void> {
  let left = total
  const worker = async () => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** Prints a figure beside its target: met when it is below, or above for a target such as `>= 0.5`. */
export function report(
  name: string,
  figure: number,
  unit: string,
  target?: { below?: number; atLeast?: number },
): void {
  const met =
    (target?.below === undefined || figure < target.below) &&
    (target?.atLeast === undefined || figure >= target.atLeast)
  const aim =
    target?.below !== undefined
      ? `< ${target.below}`
      : target?.atLeast !== undefined
        ? `>= ${target.atLeast}`
        : ''
  const shown = figure >= 100 ? figure.toFixed(0) : figure >= 10 ? figure.toFixed(1) : figure.toFixed(2)
  console.log(
    `${name.padEnd(56)} ${shown.padStart(8)} ${unit.padEnd(5)} ${aim.padEnd(10)} ${aim ? (met ? 'met' : 'MISSED') : ''}`,
  )
}

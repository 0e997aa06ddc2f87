import { performance } from '../../base/time.ts'

/**
 * The system mostly has in memory what it tells of a file, and tells it in some microseconds. By way of a thread that
 * takes 50, and more on a busy machine. After two slow answers in a row, threads ask for a while: a single one may only
 * have waited for other programs.
 */
const slowMillis = 0.2
const slowFor = 1_000
let slow = 0
let slowUntil = 0

/** What the system answers at once, or by way of a thread while it is slow. */
export async function quickly<T>(here: () => T, inThread: () => Promise<T>): Promise<T> {
  const began = performance.now()
  if (began < slowUntil) return inThread()
  try {
    return here()
  } finally {
    const now = performance.now()
    slow = now - began > slowMillis ? slow + 1 : 0
    if (slow === 2) {
      slow = 0
      slowUntil = now + slowFor
    }
  }
}

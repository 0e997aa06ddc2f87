import { Draw } from '../support/draw.ts'

/*
 * Replaces `node:crypto` and the global random numbers in the package's bundle for the simulation. So a seed determines
 * ids and delays, without effect on other code in the process.
 */
export * from 'node:crypto'

let draw = new Draw(0)
let fillings = 0

/** Seeds all random numbers of the package. */
export function seedRandom(seed: number): void {
  draw = new Draw(seed)
}

/** How often random bytes were requested. */
export function countFillings(): number {
  return fillings
}

export function simulatedRandom(): number {
  return draw.next()
}

export function simulatedBytes<T extends Uint8Array>(bytes: T): T {
  fillings++
  for (let i = 0; i < bytes.length; i++) bytes[i] = draw.below(256)
  return bytes
}

export function randomInt(end: number): number {
  return draw.below(end)
}

export function randomUUID(): string {
  const bytes = Array.from({ length: 16 }, () => draw.below(256))
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

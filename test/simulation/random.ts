import { Draw } from '../support/draw.ts'

/*
 * What the package is given in the place of `node:crypto`, and of the random numbers that are global, when it is bundled
 * for the simulation. So a seed decides ids and pauses, and nobody else in the process notices.
 */
export * from 'node:crypto'

let draw = new Draw(0)
let fillings = 0

/** All random numbers of the package follow from `seed` from now on. */
export function seedRandom(seed: number): void {
  draw = new Draw(seed)
}

/** How often random bytes were asked for. */
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

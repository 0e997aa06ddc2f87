import type { Key, Reader, Value, Writer } from './store.ts'

/** The digits of a number in a key. All have the same length, so that they sort as numbers do. */
export const numberDigits = 16

/** A number as the last part of a key. */
export function numbered(number: number): string {
  return String(number).padStart(numberDigits, '0')
}

/**
 * Puts a value after the last one under `prefix`, as {@link Writer.append} does. Where a store has no `append`, the
 * body reads the last number. `likely` is a guess of it, which saves a range read when it is right. Returns the
 * number, where it is known already.
 */
export function append(writer: Writer, prefix: Key, value: Value, likely = 0): number | undefined {
  if (writer.append) {
    writer.append(prefix, value)
    return undefined
  }
  const number = lastNumber(writer, prefix, likely) + 1
  writer.put([...prefix, numbered(number)], value)
  return number
}

/** How many numbers from `likely` on are tried. */
const steps = 4

/** The last number under `prefix`, or 0. */
export function lastNumber(writer: Reader, prefix: Key, likely: number): number {
  if (likely > 0 && writer.get([...prefix, numbered(likely)]) !== undefined) {
    for (let number = likely; number < likely + steps; number++)
      if (writer.get([...prefix, numbered(number + 1)]) === undefined) return number
  }
  for (const { key } of writer.range({ prefix, reverse: true, limit: 1, keysOnly: true }))
    return Number(key[prefix.length])
  return 0
}

import { type Field, readFields } from './protobuf.ts'

/*
 * A manifest is a file with sections, each after its length. Its last bytes name the section with the message of the
 * manifest. https://lance.org/format/table has the messages.
 */

/** The fields of a manifest. Throws a `RangeError` for another file. */
export function manifestFields(file: Buffer): Field[] {
  if (file.length < 16 || file.toString('latin1', file.length - 4) !== 'LANC')
    throw new RangeError('Its end is not that of a manifest.')
  return readFields(sectionAt(file, file.readBigUInt64LE(file.length - 16)))
}

/** A section of a manifest file: its length, and then its bytes. */
export function sectionAt(file: Buffer, position: bigint): Uint8Array {
  const start = Number(position) + 4
  const end = start <= file.length ? start + file.readUInt32LE(start - 4) : Number.POSITIVE_INFINITY
  if (end > file.length) throw new RangeError('A section is cut off.')
  return file.subarray(start, end)
}

/** The last number of a message with that field. */
export function numberIn(fields: readonly Field[], number: number): bigint | undefined {
  const found = fields.findLast((field) => field.number === number)?.value
  return typeof found === 'bigint' ? found : undefined
}

export function message({ value }: Field): Uint8Array {
  if (typeof value === 'bigint') throw new RangeError('A message is a number.')
  return value
}

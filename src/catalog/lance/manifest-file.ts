import { type Field, readFields } from './protobuf.ts'

/*
 * A manifest is a file with sections, each after its length. Its last bytes name the section with the message of the
 * manifest. https://lance.org/format/table has the messages.
 */

/** The fields of a manifest. */
export const manifestField = {
  columns: 1,
  fragments: 2,
  version: 3,
  auxiliary: 4,
  metadata: 5,
  indexes: 6,
  timestamp: 7,
  tag: 8,
  readerFlags: 9,
  writerFlags: 10,
  lastFragment: 11,
  transactionFile: 12,
  nextRow: 14,
  format: 15,
  bases: 18,
  branch: 20,
  transactionSections: [21, 23],
}

/** Deletions, stable row ids, the second format, a config, base paths, no transaction files. */
export const knownFlags = 0b11_1111n

/** The fields of a manifest. Throws a `RangeError` for another file. */
export function manifestFields(file: Buffer): Field[] {
  return readFields(sectionAt(file, BigInt(manifestStart(file))))
}

/** Where the manifest begins, which is the last section of its file. Throws a `RangeError` for another file. */
export function manifestStart(file: Buffer): number {
  if (file.length < 16 || file.toString('latin1', file.length - 4) !== 'LANC')
    throw new RangeError('Its end is not that of a manifest.')
  const start = viewOf(file).getBigUint64(file.length - 16, true)
  if (Number(start) + 4 + sectionAt(file, start).length + 16 !== file.length)
    throw new RangeError('Its last section is not the manifest.')
  return Number(start)
}

/** The features that readers or writers must know. */
export function manifestFlags(fields: readonly Field[]): bigint {
  const { readerFlags, writerFlags } = manifestField
  return (numberIn(fields, readerFlags) ?? 0n) | (numberIn(fields, writerFlags) ?? 0n)
}

/** Throws a `RangeError` for the manifest of another version. */
export function requireVersion(fields: readonly Field[], version: number): void {
  const found = numberIn(fields, manifestField.version) ?? 0n
  if (found !== BigInt(version)) throw new RangeError(`It is that of version ${found}.`)
}

/** A section of a manifest file: its length, and then its bytes. */
export function sectionAt(file: Buffer, position: bigint): Uint8Array {
  const start = Number(position) + 4
  const end =
    start <= file.length ? start + viewOf(file).getUint32(start - 4, true) : Number.POSITIVE_INFINITY
  if (end > file.length) throw new RangeError('A section is cut off.')
  return file.subarray(start, end)
}

/** The same bytes, without a copy. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength)

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength)

/** The last number of a message with that field. */
export function numberIn(fields: readonly Field[], number: number): bigint | undefined {
  const found = fields.findLast((field) => field.number === number)?.value
  return typeof found === 'bigint' ? found : undefined
}

export function message({ value }: Field): Uint8Array {
  if (typeof value === 'bigint') throw new RangeError('A message is a number.')
  return value
}

/** A file with a manifest behind other sections, of the same version of the format as another file. */
export function manifestFile(before: readonly Uint8Array[], manifest: Uint8Array, like: Buffer): Uint8Array {
  const position = new Uint8Array(8)
  const length = before.reduce((sum, { length }) => sum + length, 0)
  viewOf(position).setBigUint64(0, BigInt(length), true)
  return Buffer.concat([...before, ...section(manifest), position, like.subarray(like.length - 8)])
}

/** A message as a section of a file. */
export function section(message: Uint8Array): readonly [length: Uint8Array, message: Uint8Array] {
  const length = new Uint8Array(4)
  viewOf(length).setUint32(0, message.length, true)
  return [length, message]
}

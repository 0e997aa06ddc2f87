import {
  bufferOf,
  manifestField,
  manifestFields,
  manifestFile,
  manifestFlags,
  manifestStart,
  section,
  sectionAt,
} from './manifest-file.ts'
import { type Field, writeFields } from './protobuf.ts'

/*
 * Versions that the catalog makes itself: the manifest of another version with some fields replaced. What lies before
 * the manifest in its file stays where it is, as fields say where. https://lance.org/format/table has the messages.
 */

/** Those that a version has for itself. */
const own = [
  manifestField.version,
  manifestField.auxiliary,
  manifestField.timestamp,
  manifestField.tag,
  manifestField.transactionFile,
  ...manifestField.transactionSections,
]
/** Says that the transactions of versions lie in their manifests alone. */
const noTransactionFilesFlag = 0b10_0000n
export const transactionField = { readVersion: 1, uuid: 2 }

/** The version that another one follows on. */
export interface VersionBefore {
  readonly version: number
  readonly manifest: Uint8Array
}

/** What the catalog says of the next version. */
export interface NextVersion {
  /** The id of its transaction, a UUID. */
  readonly uuid: string
  /** When it is made, in milliseconds since the epoch. */
  readonly millis: number
}

/** The next version of a dataset. */
export interface MadeVersion {
  readonly manifest: Uint8Array
  /** The file of its transaction. Undefined where the dataset keeps them in manifests alone. */
  readonly transactionFile: { readonly name: string; readonly bytes: Uint8Array } | undefined
}

/** Makes the version after another one. Undefined where the dataset has features that are not known here. */
export type MakeManifest = (before: VersionBefore, next: NextVersion) => MadeVersion | undefined

/** How a version differs from the one whose manifest it takes. */
export interface OwnVersion {
  readonly version: number
  /** Fields of its manifest that are left out. */
  readonly without: readonly number[]
  readonly fields: readonly Field[]
  /** What its transaction says that was done. */
  readonly operation: Field
}

/** Makes a version from the manifest of another one. */
export function ownVersion(
  manifest: Uint8Array,
  { version, without, fields: added, operation }: OwnVersion,
  { uuid, millis }: NextVersion,
): MadeVersion {
  const file = bufferOf(manifest)
  const fields = manifestFields(file)
  const left = new Set([...own, ...without])
  const transaction = writeFields([
    { number: transactionField.readVersion, value: BigInt(version - 1) },
    { number: transactionField.uuid, value: Buffer.from(uuid) },
    operation,
  ])
  const sectionField = transactionSectionOf(fields)
  const before = withoutTransaction(file.subarray(0, manifestStart(file)), sectionField)
  const name = `${version - 1}-${uuid}.txn`
  const hasFile = sectionField === undefined || (manifestFlags(fields) & noTransactionFilesFlag) === 0n
  const next = writeFields([
    ...fields.filter(({ number }) => !left.has(number)),
    ...added,
    { number: manifestField.version, value: BigInt(version) },
    { number: manifestField.timestamp, value: timestamp(millis) },
    ...(hasFile ? [{ number: manifestField.transactionFile, value: Buffer.from(name) }] : []),
    ...(sectionField ? [{ number: sectionField.number, value: BigInt(before.length) }] : []),
  ])
  return {
    manifest: manifestFile(sectionField ? [before, ...section(transaction)] : [before], next, file),
    transactionFile: hasFile ? { name, bytes: transaction } : undefined,
  }
}

/** The field that says where this dataset's writer put the transaction: releases differ. */
export function transactionSectionOf(fields: readonly Field[]): Field | undefined {
  return fields.findLast(({ number }) => manifestField.transactionSections.includes(number))
}

/** The sections before a manifest. The transaction of the other version is left out where it is the last one. */
function withoutTransaction(sections: Buffer, field: Field | undefined): Buffer {
  if (typeof field?.value !== 'bigint') return sections
  const at = Number(field.value)
  return at + 4 + sectionAt(sections, field.value).length === sections.length
    ? sections.subarray(0, at)
    : sections
}

function timestamp(millis: number): Uint8Array {
  const seconds = Math.floor(millis / 1000)
  return writeFields([
    { number: 1, value: BigInt(seconds) },
    { number: 2, value: BigInt(Math.floor((millis - seconds * 1000) * 1_000_000)) },
  ])
}

import {
  bufferOf,
  knownFlags,
  manifestFields,
  manifestFile,
  manifestFlags,
  manifestStart,
  numberIn,
  section,
  sectionAt,
} from './manifest-file.ts'
import { type Field, writeFields } from './protobuf.ts'

/*
 * A version that changes schema metadata alone has the manifest of the version before, but for a few fields. What lies
 * before the manifest in its file stays where it is, as fields say where: so positions stay right, and what is not
 * known here stays as it is. https://lance.org/format/table has the messages.
 */

export const manifestField = {
  version: 3,
  auxiliary: 4,
  metadata: 5,
  timestamp: 7,
  tag: 8,
  transactionFile: 12,
  transactionSections: [21, 23],
}
/** Those that a version has for itself. */
const replacedFields = new Set([
  manifestField.version,
  manifestField.auxiliary,
  manifestField.metadata,
  manifestField.timestamp,
  manifestField.tag,
  manifestField.transactionFile,
  ...manifestField.transactionSections,
])
/** Says that the transactions of versions lie in their manifests alone. */
const noTransactionFilesFlag = 0b10_0000n
export const transactionField = { readVersion: 1, uuid: 2, updateConfig: 110 }
const schemaMetadataUpdates = 8

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

/**
 * The version after another one, which has other schema metadata. Its transaction tells other writers what it changed, so
 * that they can go on from it. Undefined when the dataset has unknown features. Throws a `RangeError` for another file
 * than the manifest of that version.
 */
export function withSchemaMetadata(
  { version, manifest }: VersionBefore,
  metadata: Readonly<Record<string, string>>,
  { uuid, millis }: NextVersion,
): MadeVersion | undefined {
  const file = bufferOf(manifest)
  const fields = manifestFields(file)
  if ((numberIn(fields, manifestField.version) ?? 0n) !== BigInt(version))
    throw new RangeError('It is the manifest of another version.')
  const flags = manifestFlags(fields)
  if (flags & ~knownFlags) return undefined

  const pairs = Object.entries(metadata).map(([key, value]) => pair(key, value))
  const transaction = transactionOf(version, uuid, pairs)
  const sectionField = sectionFieldOf(fields)
  const before = withoutTransaction(file.subarray(0, manifestStart(file)), fields)
  const name = `${version}-${uuid}.txn`
  const hasFile = sectionField === undefined || (flags & noTransactionFilesFlag) === 0n

  const next = writeFields([
    ...fields.filter(({ number }) => !replacedFields.has(number)),
    { number: manifestField.version, value: BigInt(version) + 1n },
    ...pairs.map((value) => ({ number: manifestField.metadata, value })),
    { number: manifestField.timestamp, value: timestamp(millis) },
    ...(hasFile ? [{ number: manifestField.transactionFile, value: Buffer.from(name) }] : []),
    ...(sectionField === undefined ? [] : [{ number: sectionField, value: BigInt(before.length) }]),
  ])
  return {
    manifest: manifestFile(
      sectionField === undefined ? [before] : [before, ...section(transaction)],
      next,
      file,
    ),
    transactionFile: hasFile ? { name, bytes: transaction } : undefined,
  }
}

/** An entry of a map from texts to texts, or to bytes: both have the same form. */
function pair(key: string, value: string): Uint8Array {
  return writeFields([
    { number: 1, value: Buffer.from(key) },
    { number: 2, value: Buffer.from(value) },
  ])
}

/** The transaction that replaces all pairs. */
function transactionOf(version: number, uuid: string, pairs: readonly Uint8Array[]): Uint8Array {
  const updates = writeFields([
    ...pairs.map((value) => ({ number: 1, value })),
    // It replaces what was there.
    { number: 2, value: 1n },
  ])
  return writeFields([
    { number: transactionField.readVersion, value: BigInt(version) },
    { number: transactionField.uuid, value: Buffer.from(uuid) },
    {
      number: transactionField.updateConfig,
      value: writeFields([{ number: schemaMetadataUpdates, value: updates }]),
    },
  ])
}

/** The field in which this dataset's writer names the section of the transaction: releases differ. */
export function sectionFieldOf(fields: readonly Field[]): number | undefined {
  return fields.findLast(({ number }) => manifestField.transactionSections.includes(number))?.number
}

/** The sections before a manifest. The transaction of the version before is left out where it is the last one. */
function withoutTransaction(sections: Buffer, fields: readonly Field[]): Buffer {
  const number = sectionFieldOf(fields)
  const position = number === undefined ? undefined : numberIn(fields, number)
  if (position === undefined) return sections
  const { length } = sectionAt(sections, position)
  const at = Number(position)
  return at + 4 + length === sections.length ? sections.subarray(0, at) : sections
}

function timestamp(millis: number): Uint8Array {
  const seconds = Math.floor(millis / 1000)
  return writeFields([
    { number: 1, value: BigInt(seconds) },
    { number: 2, value: BigInt(Math.floor((millis - seconds * 1000) * 1_000_000)) },
  ])
}

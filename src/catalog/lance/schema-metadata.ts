import {
  bufferOf,
  knownFlags,
  manifestField,
  manifestFields,
  manifestFlags,
  requireVersion,
} from './manifest-file.ts'
import { type MadeVersion, type NextVersion, ownVersion, type VersionBefore } from './own-version.ts'
import { writeFields } from './protobuf.ts'

const updateConfig = 110
const schemaMetadataUpdates = 8

/**
 * The version after another one, which has other schema metadata. Its transaction tells other writers what it changed, so
 * that they can go on from it. Undefined when the dataset has unknown features. Throws a `RangeError` for another file
 * than the manifest of that version.
 */
export function withSchemaMetadata(
  { version, manifest }: VersionBefore,
  metadata: Readonly<Record<string, string>>,
  next: NextVersion,
): MadeVersion | undefined {
  const fields = manifestFields(bufferOf(manifest))
  requireVersion(fields, version)
  if (manifestFlags(fields) & ~knownFlags) return undefined
  const pairs = Object.entries(metadata).map(([key, value]) => pair(key, value))
  const updates = writeFields([
    ...pairs.map((value) => ({ number: 1, value })),
    // It replaces what was there.
    { number: 2, value: 1n },
  ])
  const changes = {
    version: version + 1,
    without: [manifestField.metadata],
    fields: pairs.map((value) => ({ number: manifestField.metadata, value })),
    operation: {
      number: updateConfig,
      value: writeFields([{ number: schemaMetadataUpdates, value: updates }]),
    },
  }
  return ownVersion(manifest, changes, next)
}

/** An entry of a map from texts to texts, or to bytes: both have the same form. */
function pair(key: string, value: string): Uint8Array {
  return writeFields([
    { number: 1, value: Buffer.from(key) },
    { number: 2, value: Buffer.from(value) },
  ])
}

import { inSlices } from '../../base/scheduling/time-slice.ts'
import type { PointedVersion, TableFormat } from '../../catalog/formats/index.ts'
import { IcebergError } from '../errors.ts'
import { expanded } from './compressed.ts'
import { type Format, kindOf } from './formats.ts'
import { parseMetadata } from './metadata-files.ts'
import { tableFormat } from './table-format.ts'
import { viewFormat } from './view-format.ts'

/**
 * Tables and views of Iceberg, for `verify` of a catalog: the metadata file of each version is there, can be read, and is
 * that of the version.
 *
 * ```ts
 * const { ok, findings } = await catalog.verify({ formats: icebergFormats })
 * ```
 */
export const icebergFormats: readonly TableFormat[] = [checked(tableFormat), checked(viewFormat)]

/** Most bytes that a compressed file may expand to. */
const largest = 1 << 30

function checked<Metadata extends object>(format: Format<Metadata>): TableFormat {
  return {
    isOf: (properties) => kindOf(properties) === format.kind,
    faultIn: async (bytes, version, signal) => {
      try {
        const plain = await expanded(bytes, version.url, { largest })
        const json = await parseMetadata(plain, version.url)
        return difference(format, await inSlices(format.check(json), signal), version)
      } catch (error) {
        const { cause } = error as Error
        const fault = cause instanceof IcebergError ? cause : error
        if (!(fault instanceof IcebergError)) throw error
        return `cannot be used: ${fault.message}`
      }
    },
  }
}

/** How metadata differs from what the records of the catalog say. */
function difference<Metadata extends object>(
  format: Format<Metadata>,
  metadata: Metadata,
  { location, metadata: recorded }: PointedVersion,
): string | undefined {
  for (const [name, value] of Object.entries(format.summaryOf(metadata))) {
    const known = recorded[name]
    // Other programs may have recorded the version, and said less of it.
    if (known !== undefined && known.toLowerCase() !== value.toLowerCase())
      return `has the ${name} ${value}, and its version has ${known}`
  }
  const given = format.locationOf(metadata)
  if (location === undefined || plain(given) === plain(location)) return undefined
  return `is of a table at ${given}, and the table lies at ${location}`
}

/** A location in one spelling: Java writes file: URLs with one slash. */
function plain(location: string): string {
  return location.replace(/^file:\/*/i, '/').replace(/\/+$/, '')
}

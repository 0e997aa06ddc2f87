import { atOnce } from '../../../src/base/scheduling/time-slice.ts'
import { referencedSnapshots, tableMetadata, updatedMetadata } from '../../../src/iceberg/metadata/index.ts'
import { viewMetadata } from '../../../src/iceberg/metadata/view-metadata.ts'

/* The functions that work in steps, without rests between them. */

export const applyUpdates = (...given: Parameters<typeof updatedMetadata>) =>
  atOnce(updatedMetadata(...given))
export const checkTableMetadata = (json: unknown) => atOnce(tableMetadata(json))
export const checkViewMetadata = (json: unknown) => atOnce(viewMetadata(json))
export const withReferencedSnapshots = (...given: Parameters<typeof referencedSnapshots>) =>
  atOnce(referencedSnapshots(...given))

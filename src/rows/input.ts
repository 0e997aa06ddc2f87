import type { Table as Rows } from '@uwdata/flechette'
import * as v from 'valibot'
import type { Core } from '../catalog/core.ts'
import { invalid } from '../errors.ts'
import type { ArrowInput } from '../table/index.ts'

/** Rows as callers give them: Arrow IPC bytes, an Arrow table, or an array of row objects. */
export const rowsInput = v.custom<ArrowInput>(
  (given) => typeof given === 'object' && given !== null,
  'must be Arrow IPC bytes, an Arrow table or an array of row objects',
)

export type { Rows }

type ArrowOptions = NonNullable<Parameters<typeof import('../table/index.ts').toArrowTable>[1]>

/** The columns that row objects have: an Arrow schema, or the protocol's JSON form of one. */
export const schemaInput = v.nullish(
  v.custom<NonNullable<ArrowOptions['schema']>>(
    (given) => typeof given === 'object' && given !== null && 'fields' in given,
    'must be an Arrow schema, or its JSON form with "fields"',
  ),
)

/** Checks and decodes rows; with the columns they are to have, when those are known. */
export async function toRows(
  core: Core,
  data: ArrowInput,
  schema: ArrowOptions['schema'] | null,
): Promise<Rows> {
  const bytes = data instanceof Uint8Array || data instanceof ArrayBuffer ? data.byteLength : 0
  if (bytes > core.settings.arrowBytes) {
    throw invalid(
      `data is ${bytes.toLocaleString('en')} bytes long; ${core.settings.arrowBytes.toLocaleString('en')} are the most in one request. Insert it in parts.`,
    )
  }
  const { toArrowTable } = await import('../table/index.ts')
  return toArrowTable(data, schema == null ? {} : { schema })
}

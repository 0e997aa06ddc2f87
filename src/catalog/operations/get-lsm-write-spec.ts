import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  wantedFields,
} from '../../base/model/fields.ts'
import { readTable } from '../rows/read.ts'
import { versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post, versionQuery } from './framework/route.ts'

const sharding = v.object({
  mode: v.picklist(['unsharded', 'bucket', 'identity']),
  column: v.optional(text),
  num_buckets: v.optional(v.number()),
})

/**
 * Tells how Lance's writers that gather rows in memory first share out the rows of a table. `lsm_write_spec` is null where
 * they do not: in all of our own tables, and in those of Lance until such a writer is set up. LanceDB asks before it reads.
 */
export const getLsmWriteSpec = operation({
  name: 'getLsmWriteSpec',
  summary: 'Tell how writers that gather rows in memory share them out.',
  request: v.object({ ...requestFields, id: tableIdentifier, ...wantedFields }),
  response: v.object({
    ...responseFields,
    lsm_write_spec: v.nullable(
      v.object({
        sharding,
        maintained_indexes: v.array(text),
        writer_config_defaults: v.record(text, text),
      }),
    ),
  }),
  errors: versionErrors,
  changes: false,
  route: post('/v1/table/{id}/get_lsm_write_spec', { queryToo: versionQuery, rows: true }),
  command: { group: 'Rows', examples: ['./catalog prod.notes'] },
  run: async (core, { id, ...wanted }) => {
    const spec = await readTable(core, id, wanted, (rows) => rows.writeSpec())
    if (spec === undefined) return { lsm_write_spec: null }
    const { mode, column, buckets, indexes, settings } = spec
    return {
      lsm_write_spec: {
        sharding: {
          mode,
          ...(column !== undefined && { column }),
          ...(buckets !== undefined && { num_buckets: buckets }),
        },
        maintained_indexes: [...indexes],
        writer_config_defaults: { ...settings },
      },
    }
  },
})

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

/**
 * Reads an index of a table of Lance into memory, so that the first search need not. Lance keeps it there as long as it has
 * room. Our own tables keep no index in memory, and answer `Unsupported`.
 */
export const prewarmTableIndex = operation({
  name: 'prewarmTableIndex',
  summary: 'Read an index of a table into memory.',
  request: v.object({ ...requestFields, id: tableIdentifier, index_name: text, ...wantedFields }),
  response: v.object(responseFields),
  errors: [...versionErrors, 'TableIndexNotFound', 'Unsupported'],
  changes: false,
  route: post('/v1/table/{id}/index/{index_name}/prewarm', { queryToo: versionQuery, rows: true }),
  command: {
    group: 'Rows',
    aliases: ['prewarm-index'],
    positional: ['index_name'],
    examples: ['./catalog prod.notes text_idx'],
  },
  run: async (core, { id, index_name, ...wanted }) => {
    await readTable(core, id, wanted, (rows) => rows.prewarm(index_name))
    return {}
  },
})

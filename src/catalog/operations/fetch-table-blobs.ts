import * as v from 'valibot'
import {
  filledText,
  limits,
  requestFields,
  responseFields,
  tableIdentifier,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { takeBlob } from '../rows/client-rules.ts'
import { readTable } from '../rows/read.ts'
import { versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { subject } from './framework/subjects.ts'

// Made when it is needed: the first number written in a language's way takes 10 ms.
const tooMany = () => `must have at most ${limits.page.toLocaleString('en')} ids: ask for fewer at a time`

/**
 * Reads blobs of a table of Lance, by the ids of their rows: `data` holds the bytes of an Arrow IPC file with one column of
 * bytes, which has the name of `column` and the order of `row_ids`. A query answers with the places of blobs alone, and
 * with the ids of rows where `with_row_id` asks for them. Our own tables have columns of bytes in place of blobs, and
 * answer `Unsupported`.
 *
 * ```ts
 * const { data } = await catalog.fetchTableBlobs({ id: ['films'], column: 'video', row_ids: [0, 7] })
 * const [first, second] = tableFromIPC(data).getChild('video')   // with any Arrow library
 * ```
 */
export const fetchTableBlobs = operation({
  name: 'fetchTableBlobs',
  summary: 'Read blobs of a table of Lance as Arrow.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
    column: filledText,
    row_ids: v.pipe(
      v.array(version, 'must be a list of numbers, such as [0, 7]'),
      v.maxLength(limits.page, tooMany),
    ),
  }),
  response: v.object({
    ...responseFields,
    data: v.custom<Uint8Array>((given) => given instanceof Uint8Array),
  }),
  errors: [...versionErrors, 'TableColumnNotFound', 'Unsupported'],
  changes: false,
  // Who may not read the rows may not read their blobs.
  subjects: ({ id }) => subject('queryTable', id),
  route: post('/v1/table/{id}/fetch_blobs', { answer: 'arrow', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['fetch-blobs'],
    examples: ["./catalog films --column video --row-ids '[0,7]' --output videos.arrow"],
  },
  run: async (core, { id, column, row_ids: rowIds, ...wanted }, options) => {
    const { signal, [requestMemory]: memory, [takeBlob]: take } = options
    const work = { signal, maxBytes: core.settings.resultBytes, memory: memory?.hold }
    if (take !== undefined) {
      take(await readTable(core, id, wanted, (rows) => rows.blob({ column, rowId: rowIds[0]! }, work)))
      return { data: new Uint8Array() }
    }
    return { data: await readTable(core, id, wanted, (rows) => rows.blobs({ column, rowIds }, work)) }
  },
})

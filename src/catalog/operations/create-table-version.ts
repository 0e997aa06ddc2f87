import * as v from 'valibot'
import {
  branch,
  changeFields,
  requestFields,
  stringMap,
  tableIdentifier,
  tableVersion,
  text,
  version,
} from '../../base/model/fields.ts'
import { publishing } from '../lance/publish.ts'
import { createVersion } from '../lance/record-version.ts'
import { inVersionRow } from '../rows/version-row.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** A version to create, as single requests, batches and mixed batches give it. */
export const versionEntry = {
  id: tableIdentifier,
  version,
  branch,
  manifest_path: v.pipe(
    text,
    v.nonEmpty('is empty; give the path of the manifest'),
    v.maxLength(4_096, 'must be at most 4,096 characters long'),
  ),
  manifest_size: v.nullish(version),
  e_tag: v.nullish(v.pipe(text, v.maxLength(1_024, 'must be at most 1,024 characters long'))),
  metadata: v.nullish(stringMap),
  naming_scheme: v.nullish(v.pipe(text, v.maxLength(64, 'must be at most 64 characters long'))),
}

const createTableVersionRequest = v.object({ ...requestFields, ...versionEntry })
const createTableVersionResponse = v.object({ ...changeFields, version: tableVersion })

/**
 * Records a version that a client wrote at the table's location. The first one may have any number. Each later one must
 * be exactly the latest plus one, so one of two concurrent writers fails with `ConcurrentModification`. The error's
 * `next_version` is the version to create instead. Where servers race for the versions of a table, a server waits for its
 * turn, and gives those whom it refuses a moment to return in it.
 *
 * A retry is safe where the catalog can distinguish it from another writer: the same record again succeeds and changes
 * nothing when `manifest_path` ends in a name with a UUID, as staged manifests of Lance do, or when both requests had
 * the same header `idempotency-key` or `x-request-id` (in process: the entry `header.idempotency-key` of `context`).
 * Otherwise the same record again is `ConcurrentModification`, since two writers may have chosen the same name.
 *
 * Where the catalog can reach the location, a manifest named `_versions/NAME.manifest-UUID`, as Lance's writers name
 * theirs, gets its final name before the answer. The answer has that name. The first version of a branch of Lance makes
 * the branch.
 */
export const createTableVersion = operation({
  name: 'createTableVersion',
  summary: 'Create a version entry for a table.',
  request: createTableVersionRequest,
  response: createTableVersionResponse,
  errors: ['TableNotFound', 'TableBranchNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/version/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['create-version'],
    positional: ['version'],
    examples: ['./catalog prod.orders 8 --manifest-path _versions/8.manifest'],
  },
  run: (core, request, { signal }) =>
    publishing(core, [request], (staged) =>
      inVersionRow(core, request, signal, () =>
        commit(core, 'CreateTableVersion', request.id, (change) => {
          const key = requestKey(request.context)
          const { created, version } = createVersion(core, change, request, key, staged)
          return created ? { version } : unchanged({ version })
        }),
      ),
    ),
})

/** The headers that identify a retry. The first one that is present counts. */
const keyHeaders = ['header.idempotency-key', 'header.x-request-id']

/** Longer keys are not kept: a retry with one is a conflict. */
const maxKeyCharacters = 256

/** The key that a retry of a request shares with the first attempt, and with no other request. */
export function requestKey(context: Readonly<Record<string, string>> | null | undefined): string | undefined {
  const key = keyHeaders.map((name) => context?.[name]).find((value) => value)
  return key !== undefined && key.length <= maxKeyCharacters ? key : undefined
}

import * as v from 'valibot'
import { changeFields, limits, requestFields, tableVersion } from '../../base/model/fields.ts'
import { publishing } from '../lance/publish.ts'
import { createVersion } from '../lance/record-version.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { requestKey, versionEntry } from './create-table-version.ts'
import { doEach } from './framework/batch.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { objectsIn, subject } from './framework/subjects.ts'

/**
 * Creates versions of one or many tables in one atomic step: all of them, or none. Manifests of Lance get their final
 * names after that step, in the order of their versions.
 */
export const batchCreateTableVersions = operation({
  name: 'batchCreateTableVersions',
  summary: 'Create versions of many tables atomically.',
  request: v.object({
    ...requestFields,
    entries: v.pipe(
      v.array(v.object(versionEntry), 'must be a list of versions to create'),
      v.nonEmpty('is empty; give at least one version to create'),
      v.maxLength(limits.batch, `must hold at most ${limits.batch} entries`),
    ),
  }),
  response: v.object({ ...changeFields, versions: v.array(tableVersion) }),
  errors: ['TableNotFound', 'TableBranchNotFound', 'ConcurrentModification'],
  changes: true,
  subjects: ({ entries }) => objectsIn(entries).flatMap(({ id }) => subject('createTableVersion', id)),
  route: post('/v1/table/version/batch-create'),
  command: {
    group: 'Transactions and batches',
    examples: [
      `./catalog --entries '[{"id":["prod","orders"],"version":8,"manifest_path":"_versions/8.manifest"}]'`,
    ],
  },
  run: (core, { entries, context }) =>
    publishing(core, entries, (staged) =>
      commit(core, 'BatchCreateTableVersions', [], (change) => {
        const key = requestKey(context)
        const results = doEach('entries', entries, (entry) => createVersion(core, change, entry, key, staged))
        const versions = results.map((result) => result.version)
        return results.some((result) => result.created) ? { versions } : unchanged({ versions })
      }),
    ),
})

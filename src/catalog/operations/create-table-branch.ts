import * as v from 'valibot'
import {
  branch,
  changeFields,
  newBranch,
  requestFields,
  tableIdentifier,
  version,
} from '../../base/model/fields.ts'
import { type BranchRecord, keys, recordFormat } from '../../base/store/records.ts'
import { createBranch } from '../lance/branches.ts'
import { findDataset } from '../lance/dataset.ts'
import { branchExists, findVersion } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Creates a branch from a version of another (by default the latest of the main branch). The branch starts
 * with that version under the same number, and later versions count on from there. Later changes of the other branch
 * do not affect the new one. Of a table of Lance, the branch is Lance's own.
 */
export const createTableBranch = operation({
  name: 'createTableBranch',
  summary: 'Create a branch of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    name: newBranch,
    from_branch: branch,
    from_version: v.nullish(version),
  }),
  response: v.object(changeFields),
  errors: [
    'TableNotFound',
    'TableBranchAlreadyExists',
    'TableBranchNotFound',
    'TableVersionNotFound',
    'InvalidTableState',
  ],
  changes: true,
  route: post('/v1/table/{id}/branches/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['branch'],
    positional: ['name'],
    examples: ['./catalog prod.flights experiment --from-version 3'],
  },
  run: async (core, { id, name, from_branch, from_version }) => {
    const dataset = await findDataset(core, id)
    if (dataset)
      await createBranch(core, dataset, { id, name, from_branch, from_version: from_version ?? undefined })
    return commit(core, 'CreateTableBranch', id, (change) => {
      const { writer, now } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      if (writer.get(keys.branch(table.id, name))) {
        throw branchExists(id, name)
      }
      const from = findVersion(writer, id, table, from_branch, from_version ?? undefined)
      const record: BranchRecord = {
        v: recordFormat,
        head: { latest: from.version, last: from.version },
        parent_branch: from_branch,
        parent_version: from.version,
        created_at: now,
      }
      writer.put(keys.branch(table.id, name), record)
      writer.put(keys.version(table.id, name, from.version), from.record)
      return {}
    })
  },
})

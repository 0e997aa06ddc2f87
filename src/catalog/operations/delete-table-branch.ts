import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { branch, changeFields, requestFields, tableIdentifier } from '../../base/model/fields.ts'
import { formatIdentifier, quote } from '../../base/model/identifier.ts'
import { keys, type TagRecord } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { findBranch } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Deletes a branch with its versions. A branch that a tag points to refuses. */
export const deleteTableBranch = operation({
  name: 'deleteTableBranch',
  summary: 'Delete a branch of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    name: v.pipe(
      branch,
      v.check(
        (given) => given !== '',
        'names the main branch, which cannot be deleted; drop the table instead',
      ),
    ),
  }),
  response: v.object(changeFields),
  errors: ['TableNotFound', 'TableBranchNotFound', 'InvalidTableState'],
  changes: true,
  route: post('/v1/table/{id}/branches/delete'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['delete-branch'],
    positional: ['name'],
    examples: ['./catalog prod.flights experiment'],
  },
  run: async (core, { id, name }) => {
    const dataset = await findDataset(core, id)
    if (dataset) await (await import('../lance/branches.ts')).deleteBranch(core, dataset, id, name)
    return commit(core, 'DeleteTableBranch', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      findBranch(writer, id, table.id, name)
      for (const { key, value } of writer.range<TagRecord>({ prefix: keys.tags(table.id) })) {
        if (value.branch !== name) continue
        throw new CatalogError(
          'InvalidTableState',
          `The tag ${String(key[2])} of the table ${formatIdentifier(id)} points to branch ${quote(name)}. Move or delete the tag first.`,
        )
      }
      const versions = Array.from(writer.range({ prefix: keys.versions(table.id, name) }), ({ key }) => key)
      for (const key of versions) writer.remove(key)
      writer.remove(keys.branch(table.id, name))
      return {}
    })
  },
})

import type { Command } from 'commander'
import type { CatalogOptions } from '../tabularium/index.ts'
import { toCount, toLongMillis } from './options.ts'

/** The rule of retention of a catalog, as typed. */
export interface RetentionTyped {
  readonly retainVersions?: number
  readonly retainAge?: number
}

/** Adds the options of a rule of retention. */
export function addRetentionOptions(command: Command): Command {
  return command
    .option(
      '--retain-versions <number>',
      'keep the newest versions of each branch; older ones may go',
      toCount,
    )
    .option(
      '--retain-age <time>',
      'keep versions for so long after they were replaced, as 12h or 30d; older ones may go',
      toLongMillis,
    )
}

/** The rule of retention as an option of the catalog, if one was typed. */
export function retentionOptions({
  retainVersions: versions,
  retainAge: age,
}: RetentionTyped): Pick<CatalogOptions, 'retention'> {
  if (versions === undefined && age === undefined) return {}
  return { retention: { ...(versions !== undefined && { versions }), ...(age !== undefined && { age }) } }
}

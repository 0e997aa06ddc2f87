import { isDeepStrictEqual } from 'node:util'
import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import type { WorkOptions } from '../../engine/table/index.ts'
import { type ChangeContext, recordChange } from '../transactions/commit.ts'
import { NotingWriter } from '../transactions/noting-writer.ts'
import { commitDraft, readHead, writeDraft } from './attempt.ts'
import type { RowsChanged, RowsStep } from './change-types.ts'
import type { RowsContext } from './context.ts'

const maxAttempts = 100

/**
 * Rebases changes of rows onto what others committed meanwhile, in their order. `core` is that of the transaction,
 * which has forgotten these changes. Fails with `ConcurrentModification` when a change would have another result than
 * its caller received.
 */
export async function rebase(
  core: RowsContext,
  steps: readonly RowsStep[],
  work: WorkOptions,
): Promise<void> {
  for (const step of steps) {
    const { change, found, prepared, transactionId, affected, counts, reported } = step
    const commit = <T>(body: (change: ChangeContext) => T) => {
      const now = core.now()
      const at = core.staging?.nextOrdinal()
      const { operation, id: subject } = change
      return core.store.write((writer) => {
        const noted = new NotingWriter(writer)
        const result = body({ writer: noted, noted, transactionId, now })
        const subjectId = found.table.id
        recordChange(core, writer, { transactionId, now, operation, subject, subjectId, at }, noted)
        return result
      })
    }
    // The transaction around it takes no slot.
    const releaseSlot = () => {}
    const transaction = { id: transactionId, recorded: Promise.resolve(), releaseSlot, commit }
    const attempt = { change, found, prepared, inline: undefined, transaction, work }
    let made: RowsChanged | undefined
    // Other processes may commit again meanwhile.
    for (let n = 0; made === undefined && n < maxAttempts; n++) {
      work.signal?.throwIfAborted()
      const draft = await writeDraft(core, attempt, await readHead(core, attempt))
      work.signal?.throwIfAborted()
      made = (await commitDraft(attempt, draft)).made
    }
    if (
      made?.affected !== affected ||
      !isDeepStrictEqual(made.counts, counts) ||
      !isDeepStrictEqual(change.reported?.(made.snapshot), reported)
    ) {
      throw new CatalogError(
        'ConcurrentModification',
        `Other writers changed what this transaction was told of ${formatIdentifier(change.id)}.`,
      )
    }
    step.version = made.version
    step.manifest = made.snapshot.manifest.path
  }
}

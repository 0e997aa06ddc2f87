import { setTimeout as sleep } from 'node:timers/promises'
import { CatalogError } from '../errors.ts'
import { abandonedRemovals, removeContent } from '../operations/support/content.ts'
import type { Core } from '../operations/support/core.ts'
import { leaseMillis } from '../operations/support/transactions.ts'
import { type HoldRecord, keys, recordFormat } from '../store/records.ts'

/**
 * Does work while no content is removed, from any process. Should this process be silent for so long that the
 * hold counts as given up, the signal is aborted. What was dropped meanwhile is removed at the end.
 */
export async function holding<T>(
  core: Core,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  const key = keys.hold(core.newId())
  const lost = new AbortController()
  const record = (): HoldRecord => ({ v: recordFormat, until: core.now() + leaseMillis })
  await core.store.write((writer) => writer.put(key, record()))
  const renewing = new AbortController()
  const renewal = (async () => {
    for (;;) {
      await sleep(leaseMillis / 3, undefined, { signal: renewing.signal, ref: false })
      const isKept = await core.store.write((writer) => {
        const held = writer.get<HoldRecord>(key)
        if (held === undefined || held.until < core.now()) return false
        writer.put(key, record())
        return true
      })
      if (!isKept) return lost.abort(lostError())
    }
  })().catch(() => {})
  try {
    return await work(signal ? AbortSignal.any([signal, lost.signal]) : lost.signal)
  } finally {
    renewing.abort()
    await renewal
    await core.store.write((writer) => writer.remove(key)).catch(() => {})
    const now = core.now()
    await removeContent(core, await core.store.read((reader) => abandonedRemovals(reader, now))).catch(
      () => {},
    )
  }
}

function lostError(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The copy took a pause of more than a minute, in which what it needs may have been removed. Try again.',
  )
}

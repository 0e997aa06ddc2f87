import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../catalog/core.ts'
import { CatalogError } from '../errors.ts'
import { abandonedRemovals, removeContent } from '../locations/removal.ts'
import { type HoldRecord, keys, recordFormat } from '../store/records.ts'
import type { Key, Reader, Writer } from '../store/store.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'

/**
 * Does work while no content is removed, from any process. Should this process be silent for so long that the
 * hold counts as given up, the signal is aborted, and the work has failed. What was dropped meanwhile is removed
 * at the end.
 */
export async function holding<T>(
  core: Core,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  const key = keys.hold(core.newId())
  const lost = new AbortController()
  await core.store.write((writer) => {
    removeLapsed(writer, core.now())
    writer.put(key, recordUntil(core.now() + leaseMillis))
  })
  const renewing = new AbortController()
  const renewal = (async () => {
    for (;;) {
      await sleep(leaseMillis / 3, undefined, { signal: renewing.signal, ref: false })
      // A write that fails, as on a full disk, is tried again for as long as the hold lasts.
      const isKept = await renew(core, key).catch(() => isHolding(core, key))
      if (!isKept) throw lostError()
    }
  })().catch((error) => lost.abort(error))
  try {
    const result = await work(signal ? AbortSignal.any([signal, lost.signal]) : lost.signal)
    if (!(await isHolding(core, key))) throw lostError()
    return result
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

function recordUntil(until: number): HoldRecord {
  return { v: recordFormat, until }
}

/** Removes the holds of processes that died. */
function removeLapsed(writer: Writer, now: number): void {
  for (const { key, value } of Array.from(writer.range<HoldRecord>({ prefix: keys.holds }))) {
    if (value.until < now) writer.remove(key)
  }
}

/** Makes a hold last longer; answers whether it had lasted until now. */
function renew(core: Core, key: Key): Promise<boolean> {
  return core.store.write((writer) => {
    const now = core.now()
    if (!lasts(writer, key, now)) return false
    writer.put(key, recordUntil(now + leaseMillis))
    return true
  })
}

function isHolding(core: Core, key: Key): Promise<boolean> {
  return core.store.read((reader) => lasts(reader, key, core.now()))
}

function lasts(reader: Reader, key: Key, now: number): boolean {
  const held = reader.get<HoldRecord>(key)
  return held !== undefined && held.until >= now
}

function lostError(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The copy took a pause of more than a minute, in which what it needs may have been removed. Try again.',
  )
}

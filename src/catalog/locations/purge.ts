import { droppedId, keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { UpkeepTask } from '../transactions/upkeep.ts'
import type { LocationContext } from './context.ts'
import { purgeTable } from './drop.ts'
import { type HeldTable, heldTable } from './held.ts'
import { removeContent } from './removal.ts'

type PurgeContext = Pick<LocationContext, 'store' | 'now' | 'heartbeat' | 'contentRoots'>

/** The most tables that one store transaction purges. */
const purgedAtOnce = 50

/** Removes the held tables whose period is over, some at a time. Returns whether others are left. */
async function purgeSome(core: PurgeContext): Promise<boolean> {
  const now = core.now()
  // Most catalogs hold nothing, and need no write to find that out.
  if ((await core.store.read((reader) => overdue(reader, now))).length === 0) return false
  const locations = await core.store.write((writer) =>
    overdue(writer, now).map((held) => purgeTable(core, writer, held, now)),
  )
  await removeContent(core, locations)
  return locations.length === purgedAtOnce
}

function overdue(reader: Reader, now: number): HeldTable[] {
  const names = reader.range({ prefix: keys.tables(droppedId), limit: purgedAtOnce, keysOnly: true })
  return Array.from(names, ({ key }) => String(key[3]))
    .map((name) => heldTable(reader, name))
    .filter((held) => held !== undefined)
    .filter(({ dropped }) => dropped.until <= now)
}

/** Removes all held tables whose period is over. */
export async function purgeOverdue(core: PurgeContext): Promise<void> {
  while (await purgeSome(core));
}

/** Removes held tables whose period is over, as part of the upkeep. */
export function purgeDropped(core: PurgeContext): UpkeepTask {
  return { run: ({ throttled }) => throttled(() => purgeSome(core)) }
}

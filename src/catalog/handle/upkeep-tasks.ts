import { purgeDropped } from '../locations/purge.ts'
import { finishRemovals } from '../locations/removal.ts'
import { clearRetired, retainVersions } from '../maintenance/retain-versions.ts'
import { clearPins } from '../transactions/pins.ts'
import { clearAnswers, clearFeed, clearTransactions } from '../transactions/retention.ts'
import type { UpkeepTask } from '../transactions/upkeep.ts'
import type { Core } from './core.ts'

/** The parts of the upkeep, in their order. Apart, so that a catalog loads them when it first needs upkeep. */
export function upkeepTasks(core: Core): readonly UpkeepTask[] {
  return [
    clearFeed(core),
    clearTransactions(core),
    clearAnswers(core),
    purgeDropped(core),
    retainVersions(core),
    clearRetired(core),
    clearPins(core),
    finishRemovals(core),
  ]
}

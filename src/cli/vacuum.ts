import type { Command } from 'commander'
import type { Io } from './io.ts'
import { printerOf, upkeepCommand } from './maintenance.ts'
import { openLocal } from './open.ts'
import { toNumber } from './options.ts'

interface VacuumOptions {
  readonly dryRun?: boolean
  readonly graceMillis?: number
  readonly json?: boolean
}

/** The command that removes what nothing reaches from a catalog's directory. */
export function vacuumCommand(io: Io, signal: AbortSignal): Command {
  return upkeepCommand(
    'vacuum',
    'Remove content that nothing reaches any more.',
    'Safe while others read and write.',
    '  $ tabularium vacuum ./catalog --dry-run\n',
  )
    .argument('<location>', 'directory of a catalog')
    .option('--dry-run', 'only tell what would go')
    .option('--grace-millis <number>', 'leave alone what is younger (default: 3600000, an hour)', toNumber)
    .action(async (location: string, { json, dryRun, graceMillis }: VacuumOptions) => {
      await using catalog = await openLocal(location, false)
      const report = await catalog.vacuum({
        signal,
        ...(dryRun === undefined ? {} : { dryRun }),
        ...(graceMillis === undefined ? {} : { graceMillis }),
      })
      const printer = printerOf(io, json)
      printer.one({ ...report })
      printer.end()
    })
}

import { Command } from 'commander'
import type { Io } from './io.ts'
import { openLocal } from './open.ts'
import { toNumber } from './options.ts'
import { jsonPrinter, tablePrinter } from './print.ts'

interface VacuumOptions {
  readonly dryRun?: boolean
  readonly graceMillis?: number
  readonly json?: boolean
}

/** The command that removes what nothing reaches from a catalog's directory. */
export function vacuumCommand(io: Io, signal: AbortSignal): Command {
  const summary = 'Remove content that nothing reaches any more.'
  const command = new Command('vacuum')
    .summary(summary)
    .description(`${summary} Safe while others read and write.`)
    .helpGroup('The catalog itself:')
    .argument('<location>', 'directory of a catalog')
    .option('--dry-run', 'only tell what would go')
    .option('--grace-millis <number>', 'leave alone what is younger (default: 3600000, an hour)', toNumber)
    .option('--json', 'print lines of JSON (default when the output is no terminal)')
    .option('--no-json', 'print tables')
    .addHelpText('after', '\nExamples:\n  $ tabularium vacuum ./catalog --dry-run\n')
  command.setOptionValueWithSource('json', undefined, 'default')
  return command.action(async (location: string, { json, dryRun, graceMillis }: VacuumOptions) => {
    await using catalog = await openLocal(location, false)
    const report = await catalog.vacuum({
      signal,
      ...(dryRun === undefined ? {} : { dryRun }),
      ...(graceMillis === undefined ? {} : { graceMillis }),
    })
    const printer = (json ?? !io.stdout.isTTY) ? jsonPrinter(io.stdout) : tablePrinter(io.stdout)
    printer.one({ ...report })
    printer.end()
  })
}

import { Command } from 'commander'
import { shownLocation } from '../base/model/location.ts'
import { CatalogError, type Finding, verifyCatalog } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { openLocal, requireDirectory } from './open.ts'
import { addPrintOptions, addRootOption, type RootOptions, toLongMillis } from './options.ts'
import { printerOf } from './print.ts'
import { copiedText, counted, withProgress } from './progress.ts'
import { addRetentionOptions, type RetentionTyped } from './retention-options.ts'
import { UsageError } from './usage.ts'

/** A command about the catalog itself, with the common options of these commands. */
export function maintenanceCommand(
  name: string,
  summary: string,
  description: string,
  examples: string,
): Command {
  const command = new Command(name)
    .summary(summary)
    .description(`${summary} ${description}`)
    .helpGroup('The catalog itself:')
    .addHelpText('after', `\nExamples:\n${examples}`)
  return addPrintOptions(command)
}

interface VerifyTyped extends RootOptions {
  readonly quick?: boolean
  readonly deep?: boolean
  readonly json?: boolean
}

const examples = `  $ tabularium verify ./catalog
  $ tabularium verify ./catalog --quick && echo sound
  $ tabularium verify ./catalog --json | jq -r 'select(.severity == "problem").message'
`

/** The command that looks for damage. */
export function verifyCommand(io: Io): Command {
  const command = maintenanceCommand(
    'verify',
    'Look for damage in a catalog.',
    'Reads everything, changes nothing, and may run while other processes write. Prints the findings and then a summary; the exit code is 1 when there are problems.',
    examples,
  )
  return addRootOption(command)
    .addArgument(locationArgument('<location>', 'directory of a catalog, or postgres://…'))
    .option('--deep', 'read all rows and compare their checksums (the default)')
    .option('--quick', 'verify only records, manifests and sizes of files')
    .action(async (location: string, { quick, deep, json, locationRoot }: VerifyTyped) => {
      requireDirectory(location)
      if (quick && deep) throw new UsageError('--quick and --deep cannot be combined')
      const found: Finding[] = []
      const { icebergFormats } = await import('../iceberg/index.ts')
      const { findings: _, ...report } = await withProgress(io, (show) =>
        verifyCatalog(location, {
          quick,
          signal: io.signal,
          locationRoots: locationRoot,
          formats: icebergFormats,
          onFinding: (finding) => found.push(finding),
          onProgress: ({ step, records, objects, bytes }) =>
            show(() => `${step}: ${counted(records, 'record')}, ${copiedText({ objects, bytes })}`),
        }),
      )
      const lines = printerOf(io, json)
      lines.rows(
        found.map(({ severity, kind, id, where, message }) => ({
          severity,
          kind,
          id: id?.join('.'),
          where,
          message,
        })),
      )
      if (found.length > 0) lines.end()
      const summary = printerOf(io, json)
      summary.one(report)
      summary.end()
      if (!report.ok) {
        throw new CatalogError(
          'InvalidTableState',
          `${report.problems} problems were found in ${shownLocation(location)}. Restore the damaged parts from a backup.`,
        )
      }
    })
}

interface VacuumTyped extends RootOptions, RetentionTyped {
  readonly dryRun?: boolean
  readonly grace?: number
  readonly json?: boolean
}

/** The command that removes unreachable content. */
export function vacuumCommand(io: Io): Command {
  const command = maintenanceCommand(
    'vacuum',
    'Remove content that nothing refers to any more.',
    'Safe while other processes read and write. With a rule of retention, also versions that it lets go.',
    '  $ tabularium vacuum ./catalog --dry-run\n  $ tabularium vacuum ./catalog --retain-versions 100 --retain-age 30d\n',
  )
  return addRetentionOptions(addRootOption(command))
    .addArgument(locationArgument('<location>', 'directory of a catalog, or postgres://…'))
    .option('--dry-run', 'only report what would be removed')
    .option(
      '--grace <time>',
      'keep objects younger than this, and versions that were the latest within it, as 30s or 2h (default: 1h)',
      toLongMillis,
    )
    .action(async (location: string, { json, dryRun, grace, ...typed }: VacuumTyped) => {
      await using catalog = await openLocal(location, false, typed)
      const report = await catalog.vacuum({
        signal: io.signal,
        ...(dryRun === undefined ? {} : { dryRun }),
        ...(grace === undefined ? {} : { graceMillis: grace }),
      })
      const printer = printerOf(io, json)
      printer.one({ ...report })
      printer.end()
    })
}

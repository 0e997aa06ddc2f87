import type { Command } from 'commander'
import { CatalogError, type Finding, verifyCatalog } from '../index.ts'
import type { Io } from './io.ts'
import { printerOf, upkeepCommand, withProgress } from './maintenance.ts'
import { isUrl } from './open.ts'
import { UsageError } from './usage.ts'

interface Typed {
  readonly quick?: boolean
  readonly deep?: boolean
  readonly json?: boolean
}

const examples = `  $ tabularium verify ./catalog
  $ tabularium verify ./catalog --quick && echo sound
  $ tabularium verify ./catalog --json | jq -r 'select(.severity == "problem").message'
`

/** The command that looks for damage. */
export function verifyCommand(io: Io, signal: AbortSignal): Command {
  return upkeepCommand(
    'verify',
    'Look for damage in a catalog.',
    'Reads everything, changes nothing, and may run while others write. Prints what it found and then a summary; the exit code is 1 when there are problems.',
    examples,
  )
    .argument('<location>', 'directory of a catalog')
    .option('--deep', 'read all rows and compare their checksums (the default)')
    .option('--quick', 'look at records, manifests and sizes of files only')
    .action(async (location: string, { quick, deep, json }: Typed) => {
      if (isUrl(location))
        throw new UsageError('this works on the directory of a catalog; run it where the catalog lies')
      if (quick && deep) throw new UsageError('--quick and --deep exclude each other')
      const found: Finding[] = []
      const { findings: _, ...report } = await withProgress(io, (show) =>
        verifyCatalog(location, {
          quick,
          signal,
          onFinding: (finding) => found.push(finding),
          onProgress: ({ step, records, objects, bytes }) =>
            show(() => `${step}: ${records} records, ${objects} files, ${(bytes / 1e6).toFixed(1)} MB`),
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
          `${report.problems} problems were found in ${location}. Restore what is damaged from a backup.`,
        )
      }
    })
}

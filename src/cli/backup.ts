import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type BackupReport, CatalogError, restoreCatalog } from '../tabularium/index.ts'
import { incomplete } from './export.ts'
import { fileFault } from './file-fault.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { isUrl, openLocal } from './open.ts'
import { printerOf } from './print.ts'
import { copiedText, withProgress } from './progress.ts'
import { UsageError } from './usage.ts'

interface Typed {
  readonly links?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

/** The command that copies a catalog. */
export function backupCommand(io: Io): Command {
  return maintenanceCommand(
    'backup',
    'Copy a catalog into another directory.',
    'Other processes may read and write meanwhile: the copy is the catalog at one moment, and appears when it is complete. Rows that lie outside of the directory are not in it: then the command says where they lie, and the exit code is 1.',
    '  $ tabularium backup ./catalog ./copy\n  $ tabularium verify ./copy\n',
  )
    .addArgument(locationArgument('<location>', 'directory of a catalog'))
    .argument('<target>', 'directory for the copy, which must not exist yet')
    .option('--links', 'make hard links to files that never change, instead of copies, where the disk allows')
    .action(async (location: string, target: string, { links, json }: Typed) => {
      await using catalog = await openLocal(location, false)
      const { outside, pinned, ...report } = await withProgress(io, (show) =>
        catalog.backup(target, {
          links,
          signal: io.signal,
          onProgress: (done) => show(() => copiedText(done)),
        }),
      )
      for (const { id, location: at } of outside) {
        io.stderr.write(`not copied: the content of ${id.join('.')} at ${at}\n`)
      }
      tellPlaces(pinned, io)
      const printer = printerOf(io, json)
      printer.one(report)
      printer.end()
      if (report.elsewhere > 0)
        throw incomplete(report.elsewhere, 'copied', 'which lie outside of the directory')
    })
}

/** The command that restores a backup. */
export function restoreCommand(io: Io): Command {
  return maintenanceCommand(
    'restore',
    'Restore a catalog from a backup.',
    'The backup is verified first. A replaced catalog is kept beside the new one under another name; close it first.',
    '  $ tabularium restore ./copy ./catalog\n  $ tabularium restore ./copy ./catalog --force\n',
  )
    .argument('<copy>', 'directory of a backup')
    .addArgument(locationArgument('<location>', 'directory for the catalog'))
    .option('--force', 'replace an existing catalog')
    .option('--links', 'make hard links to files that never change, instead of copies, where the disk allows')
    .action(async (copy: string, location: string, { force, links, json }: Typed) => {
      if (isUrl(copy) || isUrl(location))
        throw new UsageError('this works on directories; run it on the machine of the catalog')
      if (existsSync(join(copy, 'catalog.json')) && !existsSync(join(copy, 'catalog.mdb')))
        throw new UsageError(
          `${copy} is an export, and no backup: tabularium import ${copy} ${location} imports it`,
        )
      const {
        outside: _,
        pinned,
        ...report
      } = await withProgress(io, (show) =>
        restoreCatalog(copy, location, {
          replace: force,
          links,
          signal: io.signal,
          onProgress: (done) => show(() => copiedText(done)),
        }),
      )
      tellPlaces(pinned, io)
      const printer = printerOf(io, json)
      printer.one(report)
      printer.end()
    })
}

/** Says which tables can be used at another place only, since their files name each other by URLs. */
function tellPlaces(pinned: BackupReport['pinned'], io: Io): void {
  for (const { id, place } of pinned) {
    io.stderr.write(
      `bound to its place: ${id.join('.')}, whose files name each other below ${place}. It can be used once the catalog is restored there.\n`,
    )
  }
}

const examples = `  $ tabularium backup-lease postgres://app@db.example/tables -- ./copy.sh
  $ tabularium backup-lease postgres://app@db.example/tables -- sh -c 'pg_dump -Fc -f tables.dump tables && aws s3 sync s3://bucket/prefix ./rows'
`

/** The command that holds a lease against removal of content while another command copies a catalog. */
export function backupLeaseCommand(io: Io): Command {
  return maintenanceCommand(
    'backup-lease',
    'Run a command that copies a catalog, and keep its content meanwhile.',
    'Others may read and write; content that they drop stays until the command has ended. Let the command copy the records first, and the content afterwards. The exit code is 1 when the command fails, or when the lease was lost.',
    examples,
  )
    .addArgument(locationArgument('<location>', 'directory of a catalog, or postgres://…'))
    .argument('<command...>', 'the command and its arguments, behind --')
    .action(async (location: string, command: readonly string[]) => {
      await using catalog = await openLocal(location, false)
      await catalog.withBackupLease((kept) => run(command, { ...io, signal: kept }), { signal: io.signal })
    })
}

/** Runs a command until it ends. When the signal aborts, sends SIGTERM and waits for the exit. */
async function run([program, ...args]: readonly string[], io: Io): Promise<void> {
  const child = spawn(program!, args, { stdio: 'inherit', env: { ...io.env } })
  const stop = () => child.kill('SIGTERM')
  io.signal.addEventListener('abort', stop, { once: true })
  try {
    if (io.signal.aborted) stop()
    const [code, killedBy] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once('error', (cause) => {
        reject(
          new CatalogError(
            'InvalidInput',
            `${program} cannot be run: ${fileFault(cause, 'there is no such program; check its name, or give its path')}.`,
            { cause },
          ),
        )
      })
      child.once('close', (...ended) => resolve(ended))
    })
    io.signal.throwIfAborted()
    if (code === 0) return
    const how = code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`
    throw new CatalogError('InvalidInput', `${program} ${how}: what it copied is not complete.`)
  } finally {
    io.signal.removeEventListener('abort', stop)
  }
}

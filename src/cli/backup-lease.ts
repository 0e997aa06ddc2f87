import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { CatalogError } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './locations/location-argument.ts'
import { maintenanceCommand } from './maintenance.ts'
import { openLocal } from './open.ts'

const examples = `  $ tabularium backup-lease postgres://app@db.example/tables -- ./copy.sh
  $ tabularium backup-lease postgres://app@db.example/tables -- sh -c 'pg_dump -Fc -f tables.dump tables && aws s3 sync s3://bucket/prefix ./rows'
`

/** The command that holds a lease against removal of content while another command copies a catalog. */
export function backupLeaseCommand(io: Io, signal: AbortSignal): Command {
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
      await catalog.withBackupLease((kept) => run(command, io, kept), { signal })
    })
}

/** Runs a command until it ends. When the signal aborts, sends SIGTERM and waits for the exit. */
async function run([program, ...args]: readonly string[], io: Io, signal: AbortSignal): Promise<void> {
  const child = spawn(program!, args, { stdio: 'inherit', env: { ...io.env } })
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted) stop()
    const [code, killedBy] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      child.once('error', (cause) => {
        reject(new CatalogError('InvalidInput', `${program} cannot be run: ${cause.message}.`, { cause }))
      })
      child.once('close', (...ended) => resolve(ended))
    })
    signal.throwIfAborted()
    if (code === 0) return
    const how = code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`
    throw new CatalogError('InvalidInput', `${program} ${how}: what it copied is not complete.`)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

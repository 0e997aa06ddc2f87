import type { Command } from 'commander'
import { backupCommand, backupLeaseCommand, restoreCommand } from './backup.ts'
import { changesCommand } from './changes.ts'
import { completionCommand } from './completion/completion-command.ts'
import { copyCommand, exportCommand, importCommand } from './export.ts'
import { fakeCommand } from './fake.ts'
import { importIcebergCommand } from './import-iceberg.ts'
import type { Io } from './io.ts'
import { vacuumCommand, verifyCommand } from './maintenance.ts'
import { mcpCommand } from './mcp/mcp-command.ts'
import { migrateCommand } from './migrate.ts'
import { openCommand } from './open-page.ts'
import { profileCommand } from './profiles/profile-command.ts'
import { serveCommand } from './serve.ts'
import { describeCommand, headCommand, historyCommand, schemaCommand } from './table-commands.ts'
import { watchCommand } from './watch.ts'

/**
 * The commands that are no operations, in the order in which the help lists them: those before the operations, and those
 * behind. They are loaded only for a line that may need one.
 */
export function otherCommands(
  io: Io,
  signal: AbortSignal,
): { readonly itself: readonly Command[]; readonly more: readonly Command[] } {
  const itself = [
    serveCommand(io, signal),
    openCommand(io, signal),
    mcpCommand(io, signal),
    fakeCommand(io, signal),
    changesCommand(io, signal),
    migrateCommand(io, signal),
    verifyCommand(io, signal),
    vacuumCommand(io, signal),
    backupCommand(io, signal),
    backupLeaseCommand(io, signal),
    restoreCommand(io, signal),
    exportCommand(io, signal),
    importCommand(io, signal),
    importIcebergCommand(io, signal),
    copyCommand(io, signal),
  ]
  const more = [
    describeCommand(io, signal),
    schemaCommand(io, signal),
    headCommand(io, signal),
    historyCommand(io, signal),
    watchCommand(io, signal),
    profileCommand(io),
    completionCommand(io),
  ]
  return { itself, more }
}

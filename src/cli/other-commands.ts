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
export function otherCommands(io: Io): {
  readonly itself: readonly Command[]
  readonly more: readonly Command[]
} {
  const itself = [
    serveCommand(io),
    openCommand(io),
    mcpCommand(io),
    fakeCommand(io),
    changesCommand(io),
    migrateCommand(io),
    verifyCommand(io),
    vacuumCommand(io),
    backupCommand(io),
    backupLeaseCommand(io),
    restoreCommand(io),
    exportCommand(io),
    importCommand(io),
    importIcebergCommand(io),
    copyCommand(io),
  ]
  const more = [
    describeCommand(io),
    schemaCommand(io),
    headCommand(io),
    historyCommand(io),
    watchCommand(io),
    profileCommand(io),
    completionCommand(io),
  ]
  return { itself, more }
}

import { rm } from 'node:fs/promises'
import { runCommands } from '../processes/commands-run.ts'
import { temporaryDirectory } from '../support/folders.ts'
import type { Scenario } from './scenario.ts'

/** Commands of four shells, concurrent with a server that writes. */
export async function commands(): Promise<Scenario> {
  const counts = { commands: 0, served: 0 }
  return {
    counts,
    async round() {
      const directory = await temporaryDirectory()
      const ran = await runCommands(directory, { shells: 4, each: 10 })
      counts.commands += ran.commands
      counts.served += ran.served
      await rm(directory, { recursive: true })
    },
    end: async () => {},
  }
}

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { benchFolder } from './report.ts'

/** Installs what only benchmarks need, when it is not there. */
export function installPeers(): void {
  if (existsSync(join(benchFolder, 'node_modules/.package-lock.json'))) return
  const command = ['ci', '--prefix', benchFolder, '--no-audit', '--no-fund']
  console.error(`Installing the peers into bench/node_modules: npm ${command.join(' ')}`)
  const { status } = spawnSync('npm', command, { stdio: ['ignore', process.stderr, process.stderr] })
  if (status === 0) return
  console.error('The peers could not be installed. Run `npm ci --prefix bench` and see why.')
  process.exit(1)
}

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * `npm run bench` runs every benchmark here, `npm run bench -- NAME …` some of them. Peers that only
 * benchmarks need are installed first, into this folder.
 */

const folder = dirname(fileURLToPath(import.meta.url))
const all = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length))
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${all.join(', ')}.`)
  process.exit(2)
}
if (!existsSync(join(folder, 'node_modules')))
  run('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund'])
for (const name of asked.length > 0 ? asked : all) {
  console.log(`\n# ${name}\n`)
  run(process.execPath, ['--expose-gc', '--import', 'tsx', join(folder, `${name}.ts`)])
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

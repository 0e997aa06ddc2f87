/** How big is the package, with all it depends on? */
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { about, figure, report } from './support/figures.ts'

about(`Bytes on disk in this installation: the package as npm packs it, and every package that installing it
brings, native ones for this platform included. The peers likewise, with what they bring. Of ours, what only
some users need is loaded when it is first used.`)

const root = fileURLToPath(new URL('..', import.meta.url))
const bench = fileURLToPath(new URL('.', import.meta.url))
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as [{ size: number; unpackedSize: number; files: { path: string; size: number }[] }]
report('the package, packed', packed.size / 1e3, 'kB')
report('the package, unpacked', packed.unpackedSize / 1e3, 'kB')
const code = packed.files.filter(({ path }) => path.endsWith('.js')).reduce((sum, { size }) => sum + size, 0)
report('  of this, code', code / 1e3, 'kB')

const own = dependenciesOf(root, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies)
const peers = ['@lancedb/lancedb', '@duckdb/node-api', 'better-sqlite3', 'lmdb'].flatMap((peer) => {
  const found = dependenciesOf(bench, { [peer]: '' })
  const bytes = [...found].reduce((sum, folder) => sum + bytesIn(folder), 0)
  return found.size === 0 ? [] : [{ peer, samples: [bytes / 1e6], as: 'cost' as const }]
})
const ours = [...own].reduce((sum, folder) => sum + bytesIn(folder), packed.unpackedSize)
figure('the package with its dependencies', [ours / 1e6], { unit: 'MB', against: peers })
report('packages that come with it', own.size, '')
const biggest = [...own].map((folder) => [folder.split('node_modules/').at(-1)!, bytesIn(folder)] as const)
for (const [name, bytes] of biggest.sort((a, b) => b[1] - a[1]).slice(0, 5)) {
  report(`  of this, ${name}`, bytes / 1e6, 'MB')
}

/** The folders of some packages and of all they need, as Node finds them from a folder. */
function dependenciesOf(from: string, names: Readonly<Record<string, string>>, found = new Set<string>()) {
  for (const name of Object.keys(names)) {
    const folder = find(from, name)
    if (folder === undefined || found.has(folder)) continue
    found.add(folder)
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    dependenciesOf(folder, { ...dependencies, ...optionalDependencies }, found)
  }
  return found
}

function find(from: string, name: string): string | undefined {
  const folder = join(from, 'node_modules', name)
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = join(from, '..')
  return above === from ? undefined : find(above, name)
}

/** Without the packages that lie inside, which are counted by themselves. */
function bytesIn(path: string): number {
  const entry = lstatSync(path)
  if (!entry.isDirectory()) return entry.isFile() ? entry.size : 0
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}

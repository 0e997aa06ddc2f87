import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The folder of a project that has installed the package, as it would be published, and nothing else. */
export function packedProject(): string {
  const project = mkdtempSync(join(tmpdir(), 'tabularium-packed-'))
  const source = join(project, 'source')
  const { dependencies, files } = manifest()
  mkdirSync(source)
  execFileSync(process.execPath, ['build/build.js', join(source, 'dist')], { cwd: root, stdio: 'pipe' })
  const others = files.filter((file) => !/^!|^dist$/.test(file))
  for (const file of ['package.json', ...others]) {
    cpSync(join(root, file), join(source, file), {
      recursive: true,
      filter: (path) => !path.includes('node_modules', root.length),
    })
  }
  const npm = { cwd: source, encoding: 'utf8', stdio: 'pipe' } as const
  const archive = execFileSync('npm', ['pack', '--ignore-scripts', '--silent'], npm)
    .trim()
    .split('\n')
    .at(-1)!
  const modules = join(project, 'node_modules')
  mkdirSync(join(modules, 'tabularium'), { recursive: true })
  execFileSync('tar', [
    'xzf',
    join(source, archive),
    '--strip-components=1',
    '-C',
    join(modules, 'tabularium'),
  ])
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) install(project, name)
  return project
}

/** Installs a package that this repository has into a project. */
export function install(project: string, name: string): void {
  const target = join(project, 'node_modules', name)
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), target)
}

function manifest(): { dependencies: Record<string, string>; files: string[] } {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

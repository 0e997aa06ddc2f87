import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'
import { folderOfRun } from './scripts.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/**
 * The folder of a project that has installed the package, as it would be published, and nothing else. `source` in it has
 * the build and the archive.
 */
export async function packedProject(): Promise<string> {
  // A build takes 20 seconds, and many files of tests need it.
  const packed = await madeOnce('packed', pack, folderOfRun)
  const project = await mkdtemp(join(tmpdir(), 'tabularium-packed-'))
  const source = join(project, 'source')
  await cp(packed, source, { recursive: true })
  const target = join(project, 'node_modules/tabularium')
  await mkdir(target, { recursive: true })
  const archive = (await readdir(source)).find((name) => name.endsWith('.tgz'))!
  await run('tar', ['xzf', join(source, archive), '--strip-components=1', '-C', target])
  for (const name of [...Object.keys(manifest().dependencies), '@types/node', 'undici-types'])
    install(project, name)
  return project
}

/** Builds the package into a folder, and packs it there. */
async function pack(folder: string): Promise<void> {
  await run(process.execPath, ['build/build.js', join(folder, 'dist')], { cwd: root })
  // The package has tests, which a run of the same clone must not take for its own.
  const whole = await mkdtemp(join(tmpdir(), 'tabularium-pack-'))
  try {
    const filter = (path: string) => !path.includes('node_modules', root.length)
    for (const file of ['package.json', ...manifest().files.filter((file) => !/^!|^dist$/.test(file))])
      await cp(join(root, file), join(whole, file), { recursive: true, filter })
    await cp(join(folder, 'dist'), join(whole, 'dist'), { recursive: true })
    await cp(join(whole, 'package.json'), join(folder, 'package.json'))
    await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: whole })
  } finally {
    await rm(whole, { recursive: true, force: true })
  }
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

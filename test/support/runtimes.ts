import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

/*
 * Other runtimes than the one that runs the tests, from the registry. They are no dependencies of this package: the
 * first test that needs one installs it.
 */

const run = promisify(execFile)
/** Below the timeout for setting up a test. */
const timeout = 230_000

export interface Runtime {
  /** Its display name. */
  readonly name: string
  /** Its package in the registry. */
  readonly from: string
  readonly program: string
  /** The arguments before the file to run. */
  readonly args: readonly string[]
}

export const runtimes: readonly Runtime[] = [
  { name: 'Node 22', from: 'node@22.23.3', program: 'node', args: [] },
  { name: 'Node 24', from: 'node@24.21.0', program: 'node', args: [] },
  { name: 'Node 26', from: 'node@26.10.0', program: 'node', args: [] },
  { name: 'Bun 1.4', from: 'bun@1.4.5', program: 'bun', args: ['run'] },
  {
    name: 'Deno 2.9',
    from: 'deno@2.9.6',
    program: 'deno',
    args: ['run', '--allow-all', '--no-prompt', '--node-modules-dir=manual'],
  },
]

/** The path of a program from a registry package, such as `node`, installed once; or the reason why there is none. */
export async function installed(from: string): Promise<{ readonly folder: string } | string> {
  try {
    const folder = await madeOnce(from.replace('/', '+'), async (folder) => {
      await mkdir(folder, { recursive: true })
      const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund']
      await run('npm', [...args, ...from.split(' ')], { timeout, cwd: folder })
    })
    return { folder: `${folder}/node_modules` }
  } catch (error) {
    return `${from} cannot be installed: ${(error as Error).message.slice(0, 300)}`
  }
}

/** Runs a file by a runtime and returns its output. Undefined, with a warning, if the runtime is not available. */
export async function runBy(
  runtime: Runtime,
  cwd: string,
  args: readonly string[],
): Promise<string | undefined> {
  const found = await installed(runtime.from)
  if (typeof found === 'string') {
    console.warn(`A test by ${runtime.name} is skipped: ${found}`)
    return undefined
  }
  const program = `${found.folder}/.bin/${runtime.program}`
  const { stdout } = await run(program, [...runtime.args, ...args], { cwd, timeout })
  return stdout
}

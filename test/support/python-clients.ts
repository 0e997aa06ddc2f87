import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

const run = promisify(execFile)

const packages = [
  ...['lancedb==0.40.0', 'pylance==14.0.2'],
  ...['pytest==9.2.0', 'pytest-xdist==3.8.0', 'build==1.6.1', 'hatchling==1.33.0', 'mypy==2.4.1'],
]

/** Python packages: clients of LanceDB and Lance, and tools that build and test a Python package. */
export const pythonClients = {
  // Other releases are another folder.
  folder: `python-clients-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 12)}`,
  async make(folder: string) {
    await run('python3', ['-m', 'venv', '--clear', folder])
    await run(`${folder}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', ...packages], {
      // Below the timeout for setting up a test.
      timeout: 230_000,
    })
    await run(`${folder}/bin/python`, ['-c', 'import lance, lancedb, lance_namespace, pytest'])
  },
}

/** The folder of programs of that Python, or the reason why there is none. */
export function pythonPrograms(): Promise<{ readonly bin: string } | string> {
  return madeOnce(pythonClients.folder, pythonClients.make).then(
    (folder) => ({ bin: `${folder}/bin` }),
    (error: Error) => `${pythonClients.folder} cannot be set up: ${error.message.slice(0, 500)}`,
  )
}

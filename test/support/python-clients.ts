import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

const run = promisify(execFile)

/** Python with real clients of LanceDB and Lance, and what builds and tests a Python package. */
export const pythonClients = {
  folder: 'python-clients-1',
  async make(folder: string) {
    const packages = [
      ...['lancedb==0.40.0', 'pylance==14.0.2'],
      ...['pytest==9.2.0', 'pytest-xdist==3.8.0', 'build==1.6.1', 'hatchling==1.33.0', 'mypy>=1.18,<3'],
    ]
    await run('python3', ['-m', 'venv', '--clear', folder])
    await run(`${folder}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', ...packages], {
      // Less than what setting up a test may take.
      timeout: 230_000,
    })
    await run(`${folder}/bin/python`, ['-c', 'import lance, lancedb, lance_namespace, pytest'])
  },
}

/** The folder of programs of that Python. A text says why there is none. */
export function pythonPrograms(): Promise<{ readonly bin: string } | string> {
  return madeOnce(pythonClients.folder, pythonClients.make).then(
    (folder) => ({ bin: `${folder}/bin` }),
    (error: Error) => `${pythonClients.folder} cannot be set up: ${error.message.slice(0, 500)}`,
  )
}

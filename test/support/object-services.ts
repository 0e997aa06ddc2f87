import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startService } from './local-service.ts'
import { madeOnce } from './made-once.ts'
import { pythonClients } from './python-clients.ts'

/*
 * Object storage servers for tests, each started once per process. They are no dependencies of this package, since they
 * are large and few need them. The first test that needs one installs it, or
 * `node --import tsx test/support/object-services.ts` does.
 */

/** The URL of a server, or the reason why there is none. */
export type Service = { readonly url: string } | string

const run = promisify(execFile)
/** Below the timeout for setting up a test. */
const timeout = 230_000

/** moto is a server in Python that speaks the protocol of S3. */
const moto = {
  folder: 'moto-5.2.5',
  async make(folder: string) {
    const packages = ['moto[s3]==5.2.5', 'flask>=3,<4', 'flask-cors>=6,<7']
    await run('python3', ['-m', 'venv', '--clear', folder])
    await run(`${folder}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', ...packages], {
      timeout,
    })
    await run(`${folder}/bin/python`, ['-c', 'import moto.server'])
  },
  program: `
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from moto.moto_server.werkzeug_app import DomainDispatcherApplication as App
# moto looks whether an object is there before it puts one. Between the two, another thread may put one.
turn, call = threading.Lock(), App.__call__
def in_turn(*given):
    with turn: return call(*given)
App.__call__ = in_turn
from moto.server import main
main(['-H', '127.0.0.1', '-p', sys.argv[1]])
`,
}

/** Azurite is Microsoft's own emulator of Azure Storage. */
const azurite = {
  folder: 'azurite-3.35.0',
  async make(folder: string) {
    await mkdir(folder, { recursive: true })
    const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
    await run('npm', [...args, 'azurite@3.35.0'], { timeout, cwd: folder })
  },
  program: `
process.stdin.on('end', () => process.exit()).resume()
require(process.argv[1])
`,
}

function service(
  { folder, make }: { readonly folder: string; make(folder: string): Promise<void> },
  command: (folder: string, port: number) => readonly [program: string, ...args: string[]],
): () => Promise<Service> {
  let started: Promise<Service> | undefined
  return () => {
    started ??= madeOnce(folder, make).then(
      (made) => startService(folder, (port) => command(made, port)),
      (error: Error) => `${folder} cannot be set up: ${error.message.slice(0, 500)}`,
    )
    return started
  }
}

export const motoService = service(moto, (folder, port) => [
  `${folder}/bin/python`,
  '-c',
  moto.program,
  String(port),
])

export const azuriteService = service(azurite, (folder, port) => [
  process.execPath,
  '-e',
  azurite.program,
  `${folder}/node_modules/azurite/dist/src/blob/main.js`,
  ...['--blobHost', '127.0.0.1', '--blobPort', String(port), '--inMemoryPersistence', '--silent'],
  '--skipApiVersionCheck',
])

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const failed: string[] = []
  for (const { folder, make } of [moto, azurite, pythonClients]) {
    await madeOnce(folder, make).catch((error: Error) => failed.push(`${folder}: ${error.message}`))
  }
  for (const fact of failed) process.stderr.write(`Tests will be skipped: ${fact}\n`)
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { start } from '../../cli/run.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { freePort } from '../../support/free-port.ts'
import { startReference, untilReady } from './reference-server.ts'

/* The one place that knows which server the clients ask. */

export interface IcebergServer {
  /** Where `/v1/config` begins, without a slash at the end. */
  readonly url: string
  /** A folder whose tables the server and the clients both read and write. */
  readonly warehouse: string
  close(): Promise<void>
}

/** What `TABULARIUM_ICEBERG` chooses. */
export const chosenServer = process.env.TABULARIUM_ICEBERG ?? 'ours'

/**
 * Starts a server of Iceberg REST with an empty catalog, by default the command `serve` on a directory.
 * `TABULARIUM_ICEBERG` chooses another one than ours: `fake` is the command `fake`, `reference`
 * is the server in Java of the kit, a URL is one that runs, and a path is a program of Node that is given `memory:`, a
 * warehouse and a port. A server that runs shares the folder `TABULARIUM_ICEBERG_WAREHOUSE`.
 */
export async function startIceberg(chosen = chosenServer): Promise<IcebergServer> {
  if (/^https?:/.test(chosen)) return running(chosen)
  const folder = await temporaryDirectory()
  const warehouse = join(folder, 'warehouse')
  await mkdir(warehouse)
  const port = await freePort()
  const child = await childOf(chosen, { folder, warehouse, port })
  const url = `http://127.0.0.1:${port}${chosen === 'ours' || chosen === 'fake' ? '/iceberg' : ''}`
  const close = async () => {
    await ended(child)
    await rm(folder, { recursive: true, force: true })
  }
  await untilReady(url, child).catch(async (error) => {
    await close()
    throw error
  })
  return { url, warehouse, close }
}

function running(url: string): IcebergServer {
  const warehouse = process.env.TABULARIUM_ICEBERG_WAREHOUSE
  if (warehouse === undefined)
    throw new Error(`${url} needs TABULARIUM_ICEBERG_WAREHOUSE, a folder it can write`)
  return { url: url.replace(/\/$/, ''), warehouse, close: async () => {} }
}

async function childOf(
  chosen: string,
  { folder, warehouse, port }: { folder: string; warehouse: string; port: number },
): Promise<ChildProcess> {
  if (chosen === 'ours') return ours(folder, warehouse, port)
  if (chosen === 'fake') return start(['fake', '--port', String(port), '--iceberg-folder', warehouse])
  return chosen === 'reference' ? startReference(folder, warehouse, port) : program(chosen, warehouse, port)
}

/** Folders that the tests of the kit name in locations. */
const foldersOfKit = ['/tmp/ns', '/tmp/newdb']

async function ours(folder: string, warehouse: string, port: number): Promise<ChildProcess> {
  const roots = [warehouse, ...foldersOfKit]
  for (const root of roots) await mkdir(root, { recursive: true })
  const options = roots.flatMap((root) => ['--location-root', root])
  return start(['serve', join(folder, 'catalog'), '--no-auth', '--port', String(port), ...options])
}

function program(path: string, warehouse: string, port: number): ChildProcess {
  return spawn(process.execPath, [path, 'memory:', warehouse, String(port)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'close')
}

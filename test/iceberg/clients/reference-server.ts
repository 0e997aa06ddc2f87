import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { kitClasses } from './kit.ts'

/** Starts Iceberg's own server for tests, over SQLite in `folder`. Tables lie in the folder `warehouse`. */
export async function startReference(folder: string, warehouse: string, port: number): Promise<ChildProcess> {
  const classes = await kitClasses()
  if (typeof classes === 'string') throw new Error(classes)
  const env = {
    ...process.env,
    CATALOG_REST_PORT: String(port),
    CATALOG_URI: `jdbc:sqlite:${join(folder, 'catalog.db')}`,
    CATALOG_WAREHOUSE: `file://${warehouse}`,
  }
  // It unpacks SQLite there, and leaves it when it is killed.
  const temporary = `-Djava.io.tmpdir=${folder}`
  const args = ['-Xmx512m', temporary, '-cp', classes.classPath, 'org.apache.iceberg.rest.RESTCatalogServer']
  return spawn('java', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Resolves when a server of Iceberg REST answers. Fails when its process ended, and after two minutes. */
export async function untilReady(url: string, child: ChildProcess): Promise<void> {
  process.once('exit', () => child.kill('SIGKILL'))
  for (let waited = 0; waited < 1_200; waited += 1) {
    if (child.exitCode !== null) throw new Error(`The server of Iceberg REST ended with ${child.exitCode}`)
    const isReady = await fetch(`${url}/v1/config`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await sleep(100)
  }
  throw new Error(`The server of Iceberg REST did not answer at ${url} within two minutes`)
}

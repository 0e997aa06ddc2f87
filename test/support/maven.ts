import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

/**
 * The class path of the jars that a `pom.xml` names, which Maven fetches into a folder of a cache when they are first
 * needed; or the reason why there is none. The folder of another list of jars is another one.
 */
export async function mavenJars(
  pom: string,
  name: string,
  cache: string,
): Promise<{ readonly classPath: string } | string> {
  for (const [program, version] of [
    ['java', '-version'],
    ['mvn', '--version'],
  ] as const) {
    if (spawnSync(program, [version]).status !== 0) return `there is no program ${program}`
  }
  const hash = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex')
  const key = `${name}-${hash.slice(0, 12)}`
  try {
    return { classPath: join(await madeOnce(key, (folder) => fetchJars(pom, folder), cache), '*') }
  } catch (error) {
    return `${key} cannot be set up: ${(error as Error).message.slice(0, 500)}`
  }
}

async function fetchJars(pom: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const args = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`]
  await promisify(execFile)('mvn', args, { timeout: 900_000, maxBuffer: 2 ** 26 })
}

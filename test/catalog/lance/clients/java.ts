import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { mavenJars } from '../../../support/maven.ts'

const source = fileURLToPath(new URL('java/Client.java', import.meta.url))
const pom = fileURLToPath(new URL('java/pom.xml', import.meta.url))

/** Lance for Java. */
export interface LanceForJava {
  /** What `java` is told before the arguments of the client. */
  readonly args: readonly string[]
  /** The rows of the table `t`, as it reads them through the catalog at a URL. */
  rows(url: string): Promise<{ readonly id: number; readonly n: number }[]>
}

/** Fetches it when it is first needed. A text says why it cannot be had. */
export async function lanceForJava(): Promise<LanceForJava | string> {
  const found = await mavenJars(pom, 'java', join(homedir(), '.cache/tabularium-lance-kit'))
  if (typeof found === 'string') return found
  // Arrow reaches into the memory of buffers.
  const opened = '--add-opens=java.base/java.nio=ALL-UNNAMED'
  // It unpacks 170 MB of native code there, which a killed one leaves. A folder in memory may forbid to run code.
  const folder = await mkdtemp(join(tmpdir(), `tabularium-${process.pid}-`))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const args = [opened, `-Djava.io.tmpdir=${folder}`, '-cp', found.classPath, source]
  return {
    args,
    async rows(url) {
      const { stdout } = await promisify(execFile)('java', [...args, url], { maxBuffer: 2 ** 26 })
      const lines = stdout.split('\n').filter(Boolean)
      return lines.map((line) => JSON.parse(line) as { id: number; n: number })
    },
  }
}

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../../support/folders.ts'
import { mavenJars } from '../../support/maven.ts'
import { cache } from './cache.ts'
import { type KitResult, readReport } from './report.ts'

/* Iceberg's compatibility kit for REST catalogs: tests in Java that ask a server at a URL. */

const run = promisify(execFile)
const pom = fileURLToPath(new URL('kit/pom.xml', import.meta.url))

/** The release of Iceberg whose kit runs. */
export const icebergRelease = /<iceberg>([\d.]+)</.exec(readFileSync(pom, 'utf8'))![1]!

/** The class path of the kit, whose jars Maven fetches when they are first needed; or the reason why there is none. */
export const kitClasses = () => mavenJars(pom, icebergRelease, cache)

/** Those that the kit's tests make. */
const namespaces = [
  ...['ns', 'newdb', 'ns1', 'ns2', 'other_ns'],
  ...['a', 'ns_1', 'ns_2', 'non-existing', 'new.db'],
]

const suites = {
  tables: 'org.apache.iceberg.rest.RESTCompatibilityKitCatalogTests',
  views: 'org.apache.iceberg.rest.RESTCompatibilityKitViewCatalogTests',
}

export interface KitOptions {
  /** Runs only the methods with these names, such as `testLoadTable`. All runs of one with parameters are run. */
  readonly methods?: readonly string[]
  /** Properties of the kit or its client, without `rck.`, such as `{ 'supports-names-with-dot': 'true' }`. */
  readonly properties?: Readonly<Record<string, string>>
  /** A folder for its temporary files, where it also makes locations. Default: that of the machine. */
  readonly folder?: string
}

/**
 * Runs the kit's tests of tables or views against the server at a URL. What the server has in the kit's namespaces is
 * lost. Files of an earlier run in the same warehouse make one test fail, so a second run wants another server.
 */
export async function runKit(
  url: string,
  suite: keyof typeof suites,
  options: KitOptions = {},
): Promise<KitResult> {
  const classes = await kitClasses()
  if (typeof classes === 'string') throw new Error(classes)
  await dropLeftovers(url)
  const reports = await temporaryDirectory()
  const name = suites[suite]
  const { methods = [] } = options
  const named = methods.length === 0 ? [] : ['--include-methodname', `.*#(${methods.join('|')})`]
  const selected = ['--select-class', name, ...named]
  const given = { 'requires-namespace-create': 'true', uri: url, ...options.properties }
  const properties = Object.entries({ local: 'false', ...given }).map(
    ([key, value]) => `-Drck.${key}=${value}`,
  )
  const launcher = ['org.junit.platform.console.ConsoleLauncher', 'execute', '--disable-banner']
  const console = [...launcher, '--config', 'rck.local=false', '--details', 'none', ...selected]
  // Its tests make locations below the folder for temporary files, too.
  const temporary = options.folder === undefined ? [] : [`-Djava.io.tmpdir=${options.folder}`]
  const args = [
    '-Xmx1g',
    ...temporary,
    ...properties,
    '-cp',
    classes.classPath,
    ...console,
    '--reports-dir',
    reports,
  ]
  const env = { ...process.env, CATALOG_URI: url }
  try {
    // The launcher ends with 1 when a test fails. The report tells more.
    const ended = await run('java', args, { env, maxBuffer: 2 ** 26 }).catch((error) => error)
    const report = await readFile(join(reports, 'TEST-junit-jupiter.xml'), 'utf8').catch(() => '')
    if (report === '') throw new Error(`The kit wrote no report: ${ended.stdout}\n${ended.stderr}`)
    return readReport(report)
  } finally {
    await rm(reports, { recursive: true, force: true })
  }
}

/** The kit drops only some of its namespaces before each test, and does not begin where it finds one of these. */
async function dropLeftovers(url: string): Promise<void> {
  for (const namespace of namespaces) {
    const path = `${url}/v1/namespaces/${namespace}`
    for (const kind of ['tables', 'views']) {
      const { identifiers = [] } = await fetch(`${path}/${kind}`)
        .then((answer) => answer.json() as Promise<{ identifiers?: { name: string }[] }>)
        .catch(() => ({}) as { identifiers?: { name: string }[] })
      for (const { name } of identifiers) {
        await fetch(`${path}/${kind}/${encodeURIComponent(name)}`, { method: 'DELETE' })
      }
    }
    await fetch(path, { method: 'DELETE' })
  }
}

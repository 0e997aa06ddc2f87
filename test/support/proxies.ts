import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from './folders.ts'
import { freePort } from './free-port.ts'
import { madeOnce } from './made-once.ts'

/*
 * The proxies of examples/deploy, with the files there. Programs that are not installed come from Debian's packages, which
 * are unpacked into a folder: nothing of the system changes.
 */

export const proxyNames = ['caddy', 'haproxy', 'nginx'] as const
export type ProxyName = (typeof proxyNames)[number]

const run = promisify(execFile)
const files = fileURLToPath(new URL('../../examples/deploy/', import.meta.url))

/** A folder with all three programs, unpacked. */
async function unpack(folder: string): Promise<void> {
  const place = (name: string) => join(folder, 'apt', name)
  for (const name of ['lists/partial', 'archives/partial']) await mkdir(place(name), { recursive: true })
  const options = [
    `Dir::State::Lists=${place('lists')}`,
    `Dir::Cache=${place('')}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option])
  const limits = { timeout: 200_000 }
  await run('apt-get', [...options, '--quiet', 'update'], limits)
  const wanted = ['--yes', '--download-only', '--no-install-recommends', ...proxyNames]
  await run('apt-get', [...options, '--quiet', 'install', ...wanted], limits)
  for (const name of await readdir(place('archives')))
    if (name.endsWith('.deb')) await run('dpkg', ['-x', join(place('archives'), name), folder])
  await rm(join(folder, 'apt'), { recursive: true })
}

interface Program {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
}

const versionOf: Readonly<Record<ProxyName, string>> = { caddy: 'version', haproxy: '-v', nginx: '-v' }
const folderOf: Readonly<Record<ProxyName, string>> = {
  caddy: 'usr/bin',
  haproxy: 'usr/sbin',
  nginx: 'usr/sbin',
}

async function programsOf(): Promise<Readonly<Record<ProxyName, Program>> | string> {
  const runs = (name: ProxyName, { path, env }: Program) =>
    spawnSync(path, [versionOf[name]], { env: { ...process.env, ...env } }).status === 0
  const all = (programOf: (name: ProxyName) => Program) => {
    const programs = Object.fromEntries(proxyNames.map((name) => [name, programOf(name)]))
    return programs as Record<ProxyName, Program>
  }
  if (spawnSync('openssl', ['version']).status !== 0) return 'there is no program openssl'
  const installed = all((name) => ({ path: name, env: {} }))
  if (proxyNames.every((name) => runs(name, installed[name]))) return installed
  try {
    const folder = await madeOnce('proxies-of-debian', unpack)
    const libraries = (await readdir(join(folder, 'usr/lib'))).map((name) => join(folder, 'usr/lib', name))
    const env = { LD_LIBRARY_PATH: libraries.join(':') }
    const programs = all((name) => ({ path: join(folder, folderOf[name], name), env }))
    const broken = proxyNames.find((name) => !runs(name, programs[name]))
    return broken === undefined ? programs : `${programs[broken].path} does not run`
  } catch (error) {
    return `Caddy, HAProxy and nginx are not installed, and Debian's packages could not be fetched: ${(error as Error).message.slice(0, 500)}`
  }
}

const programs = await programsOf()

/** Why tests that need proxies are skipped; undefined when they run. */
export const missingProxies = typeof programs === 'string' ? programs : undefined
if (missingProxies !== undefined) console.warn(`Tests of proxies are skipped: ${missingProxies}.`)

/** A certificate of 127.0.0.1, in PEM: one for all proxies of a process. */
export interface Certificate {
  readonly folder: string
  readonly text: string
}

let made: Promise<Certificate> | undefined

export function certificate(): Promise<Certificate> {
  made ??= (async () => {
    const folder = await temporaryDirectory()
    const [crt, key] = [join(folder, 'tables.crt'), join(folder, 'tables.key')]
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    await run('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', crt])
    const text = await readFile(crt, 'utf8')
    await writeFile(join(folder, 'tables.pem'), text + (await readFile(key, 'utf8')))
    process.once('exit', () => spawnSync('rm', ['-rf', folder]))
    return { folder, text }
  })()
  return made
}

export interface ProxyOptions {
  /** The two servers, as `127.0.0.1:2333`. */
  readonly servers: readonly [string, string]
  /** Further texts of the file to replace, each of which must be there. */
  readonly replaced?: Readonly<Record<string, string>>
}

/** A running proxy of a file of examples/deploy. */
export class RunningProxy implements AsyncDisposable {
  readonly url: `https://${string}`
  readonly #name: ProxyName
  readonly #folder: string
  readonly #text: string
  readonly #process: ChildProcess
  #errors = ''

  private constructor(
    name: ProxyName,
    place: { readonly folder: string; readonly text: string; readonly port: number },
    servers: readonly string[],
  ) {
    this.#name = name
    this.#folder = place.folder
    this.#text = place.text
    this.url = `https://127.0.0.1:${place.port}`
    const { path, env } = (programs as Readonly<Record<ProxyName, Program>>)[name]
    this.#process = spawn(path, argumentsOf(name, place.folder), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env, SERVERS: servers.join(' '), HOME: place.folder },
    })
    this.#process.stderr!.setEncoding('utf8').on('data', (text) => {
      this.#errors = (this.#errors + text).slice(-10_000)
    })
  }

  static async start(name: ProxyName, { servers, replaced = {} }: ProxyOptions): Promise<RunningProxy> {
    const folder = await temporaryDirectory()
    // The workers of nginx have another user.
    await chmod(folder, 0o755)
    const port = await freePort()
    const { folder: keys } = await certificate()
    const original = await readFile(join(files, fileOf[name]), 'utf8')
    const all = { ...placesOf(name, port, keys, servers), ...replaced }
    const missing = Object.keys(all).find((from) => !original.includes(from))
    if (missing !== undefined) throw new Error(`${fileOf[name]} has no ${JSON.stringify(missing)}`)
    const text = withAllReplaced(original, all)
    await writeFile(join(folder, fileOf[name]), text)
    if (name === 'nginx') await writeFile(join(folder, 'main.conf'), nginxMain(folder))
    const proxy = new RunningProxy(name, { folder, text, port }, servers)
    await proxy.#listens(port)
    return proxy
  }

  async #listens(port: number): Promise<void> {
    for (;;) {
      if (this.#process.exitCode !== null) throw new Error(`${this.#name} has ended: ${this.#errors}`)
      const socket = connect(port, '127.0.0.1')
      const isOpen = await once(socket, 'connect').then(
        () => true,
        () => false,
      )
      socket.destroy()
      if (isOpen) return
      await sleep(20)
    }
  }

  /** Whether somebody must tell this proxy that a server leaves, as nginx does not ask for it. */
  get mustBeTold(): boolean {
    return this.#name === 'nginx'
  }

  /** Marks servers of nginx as down, and makes it read its file again. */
  async markDown(servers: readonly string[]): Promise<void> {
    let text = this.#text
    for (const server of servers) text = text.replace(`server ${server};`, `server ${server} down;`)
    await writeFile(join(this.#folder, fileOf.nginx), text)
    const before = await workersOf(this.#process.pid!)
    this.#process.kill('SIGHUP')
    // It has read the file once it has other workers.
    while ((await workersOf(this.#process.pid!)).every((worker) => before.includes(worker))) await sleep(20)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill(this.#name === 'nginx' ? 'SIGTERM' : 'SIGKILL')
      await once(this.#process, 'close')
    }
    await rm(this.#folder, { recursive: true, force: true })
  }
}

const fileOf: Readonly<Record<ProxyName, string>> = {
  caddy: 'Caddyfile',
  haproxy: 'haproxy.cfg',
  nginx: 'nginx.conf',
}

/** Replaces all at once: a text that is put in can hold another text to replace, as the port 44301 holds ":443". */
export function withAllReplaced(text: string, replaced: Readonly<Record<string, string>>): string {
  const patterns = Object.keys(replaced).map((from) => from.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return text.replace(new RegExp(patterns.join('|'), 'g'), (from) => replaced[from]!)
}

/** What of a file depends on the machine: ports, certificates and servers. */
function placesOf(
  name: ProxyName,
  port: number,
  keys: string,
  [one, two]: readonly [string, string],
): Readonly<Record<string, string>> {
  if (name === 'caddy') {
    const options = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'
    const tls = `tls ${join(keys, 'tables.crt')} ${join(keys, 'tables.key')}`
    return { ':8080 {': `${options}https://127.0.0.1:${port} {\n\t${tls}` }
  }
  const servers = { '10.0.0.1:2333': one, '10.0.0.2:2333': two }
  if (name === 'haproxy')
    return { ...servers, ':443': `127.0.0.1:${port}`, '/etc/haproxy/tables.pem': join(keys, 'tables.pem') }
  return { ...servers, 'listen 443': `listen 127.0.0.1:${port}`, '/etc/nginx/': `${keys}/` }
}

function argumentsOf(name: ProxyName, folder: string): readonly string[] {
  const file = join(folder, fileOf[name])
  if (name === 'caddy') return ['run', '--adapter', 'caddyfile', '--config', file]
  if (name === 'haproxy') return ['-db', '-f', file]
  return ['-e', 'stderr', '-c', join(folder, 'main.conf')]
}

/** What the system's own file of nginx says around the files of /etc/nginx/conf.d. */
function nginxMain(folder: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const http = `http { access_log off; ${paths.join(' ')} include ${join(folder, fileOf.nginx)}; }`
  return `daemon off; worker_processes 2; pid ${join(folder, 'pid')}; events {} ${http}\n`
}

async function workersOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter((id) => id !== '')
}

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { connect } from '../../src/client/index.ts'
import { s3Place } from '../contents/s3/server.ts'
import { Child } from '../processes/child-process.ts'
import { freshFolder } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { packedProject } from '../support/packed.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { numbered } from '../support/rows.ts'
import { limitEach } from '../support/time-limit.ts'

// It installs the package.
limitEach(240)

/* The files of examples/deploy: their commands run here, without Docker and systemd. */

const folder = fileURLToPath(new URL('../../examples/deploy/', import.meta.url))
const file = (name: string) => readFile(folder + name, 'utf8')
const token = 'a-token-of-the-team'
const run = promisify(execFile)

interface Service {
  readonly image: string
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly stop_grace_period?: string
}

async function servicesOf(name: string): Promise<Record<string, Service>> {
  return parse(await file(name), { merge: true }).services
}

/** The instructions of the image, with continued lines as one. */
async function instructions(name: string): Promise<string[]> {
  const lines = (await file('Dockerfile')).replace(/\\\n\s*/g, '').split('\n')
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
}

/** The command of the last instruction of this name. */
async function commandOf(name: string): Promise<string[]> {
  return JSON.parse(/\[.*\]$/.exec((await instructions(name)).at(-1)!)![0])
}

/** Runs a command of a file, for an address and a place of the test. Each of these must be in the command. */
function start(command: readonly string[], replaced: Readonly<Record<string, string>>, env = {}): Child {
  for (const from of Object.keys(replaced)) expect(command).toContain(from)
  const args = command.map((part) => replaced[part] ?? part)
  const child = new Child('src/cli/index.ts', args, { TABULARIUM_TOKEN: token, ...env })
  onTestFinished(() => child.stop())
  return child
}

const urlOf = async (child: Child) => /http:\S+/.exec(await child.answer())![0] as `http://${string}`

/** The health check of the image, for a server at a URL. Resolves to its exit code. */
async function health(url: string): Promise<number> {
  const [program, ...args] = await commandOf('HEALTHCHECK')
  expect(program).toBe('node')
  const local = args.map((part) => part.replace('http://127.0.0.1:2333', url))
  return run(process.execPath, local).then(
    () => 0,
    ({ code }) => code,
  )
}

async function expectServing(url: `http://${string}`): Promise<void> {
  const catalog = connect(url, { token })
  await catalog.createTable({ id: ['t'], mode: 'Overwrite', data: numbered(3) })
  expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(3)
  await expect(connect(url).listAllTables({})).rejects.toMatchObject({ code: 'Unauthenticated' })
}

describe('one server', () => {
  const here = { '0.0.0.0': '127.0.0.1' }

  it('compose.yml: serves its folder, is healthy, and ends cleanly', async () => {
    const { catalog } = await servicesOf('compose.yml')
    expect(Object.keys(catalog!.environment)).toEqual(['TABULARIUM_TOKEN'])
    const child = start([...catalog!.command, '--port', '0'], { ...here, '/data': await freshFolder() })
    const url = await urlOf(child)
    await expectServing(url)
    expect(await health(url)).toBe(0)
    child.interrupt()
    await child.ended()
    expect(await health(url)).toBe(1)
  })

  it('tabularium.service: serves its folder', async () => {
    const text = await file('tabularium.service')
    const [, command] = /^ExecStart=\/usr\/bin\/env tabularium (.*)$/m.exec(text)!
    // biome-ignore lint/suspicious/noTemplateCurlyInString: systemd replaces it.
    const state = '${STATE_DIRECTORY}'
    const child = start(command!.split(' '), { [state]: await freshFolder(), 2333: '0' })
    await expectServing(await urlOf(child))
  })

  const missingSystemd = spawnSync('systemd-analyze', ['--version']).status !== 0
  it.skipIf(missingSystemd)('tabularium.service: systemd-analyze finds no fault', async () => {
    const { stdout, stderr } = await run('systemd-analyze', ['verify', `${folder}tabularium.service`])
    expect(stdout + stderr).toBe('')
    const security = ['security', '--offline=yes', '--threshold=20', `${folder}tabularium.service`]
    await run('systemd-analyze', security)
  })

  it('Dockerfile: its steps make what a user without rights runs', async ({ skip }) => {
    const project = await packedProject()
    onTestFinished(() => rm(project, { recursive: true, force: true }))
    const app = join(project, 'app')
    await mkdir(app)
    const [archive] = (await readdir(join(project, 'source'))).filter((name) => name.endsWith('.tgz'))
    const step = (await instructions('RUN'))
      .find((text) => text.includes('npm install'))!
      .replace('/tmp/tabularium-*.tgz', join(project, 'source', archive!))
    const installed = await run('sh', ['-c', step], { cwd: app }).catch((error) => {
      if (!/E(TIMEDOUT|AI_AGAIN|NOTFOUND|CONNREFUSED|CONNRESET)|network/.test(String(error))) throw error
      return skip(String(error).slice(0, 500))
    })
    expect(installed.stderr).not.toMatch(/EBADENGINE|ERESOLVE|peer/i)
    const data = await freshFolder()
    const isRoot = process.getuid!() === 0
    const nobody = 65_534
    // All but the folder of data belongs to another user.
    for (const path of [project, app]) await chmod(path, 0o755)
    if (isRoot) await chown(data, nobody, nobody)
    const command = [...(await commandOf('ENTRYPOINT')), ...(await commandOf('CMD')), '--port', '0']
    const [program, ...args] = command.map((part) =>
      part
        .replace(/^\/app/, app)
        .replace(/^\/data$/, data)
        .replace('0.0.0.0', '127.0.0.1'),
    )
    expect(program).toBe('node')
    const child = spawn(process.execPath, args, {
      cwd: data,
      env: { PATH: process.env.PATH, NODE_ENV: 'production', TABULARIUM_TOKEN: token },
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(isRoot && { uid: nobody, gid: nobody }),
    })
    await served(child, async (line) => {
      const url = /http:\S+/.exec(line)![0] as `http://${string}`
      await expectServing(url)
      expect(await health(url)).toBe(0)
      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      expect(metrics.status).toBe(200)
    })
  })
})

/** Works with a server once it has told its URL, and ends it by the signal of Docker and systemd. */
async function served(child: ChildProcess, work: (line: string) => Promise<void>): Promise<void> {
  const closed = once(child, 'close')
  try {
    await work(String((await once(child.stdout!, 'data'))[0]))
  } finally {
    child.kill('SIGTERM')
    expect(await closed).toEqual([0, null])
  }
}

const place = missingPostgres ? 'there is no PostgreSQL' : await s3Place()
if (typeof place === 'string') console.warn(`The servers of a team are not tried: ${place}`)

describe.skipIf(typeof place === 'string')('two servers', () => {
  /** Both servers of a team, each at a port. */
  async function team(): Promise<readonly string[]> {
    if (typeof place === 'string') throw new Error(place)
    const { migrate, one, two } = await servicesOf('compose.team.yml')
    const database = 'postgres://postgres@postgres/postgres'
    expect(Object.keys(one!.environment)).toEqual(Object.keys(migrate!.environment))
    for (const name of Object.keys(one!.environment))
      expect(['TABULARIUM_TOKEN', 'PGPASSWORD', 'AWS_ENDPOINT_URL', ...keys]).toContain(name)
    const url = await (await sharedServer()).freshUrl()
    await start(migrate!.command, { [database]: url, 's3://tables/rows': place.freshUrl() }).ended()
    return Promise.all(
      Object.entries({ one, two }).map(async ([name, server]) => {
        const port = await freePort()
        const here = { [database]: url, '0.0.0.0': '127.0.0.1' }
        const advertised = { [`http://${name}:2333`]: `http://127.0.0.1:${port}` }
        await start([...server!.command, '--port', String(port)], { ...here, ...advertised }).answer()
        return `127.0.0.1:${port}`
      }),
    )
  }
  const keys = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']

  it('compose.team.yml: share a catalog, its rows and its transactions', async () => {
    const [one, two] = (await team()).map((address) => connect(`http://${address}`, { token }))
    await one!.createTable({ id: ['t'], data: numbered(3) })
    expect((await two!.countTableRows({ id: ['t'] })).count).toBe(3)
    await one!.transaction(async (tx) => {
      await tx.insertIntoTable({ id: ['t'], data: numbered(1, 3) })
      await two!.insertIntoTable({ id: ['t'], data: numbered(1, 4) })
    })
    expect((await two!.countTableRows({ id: ['t'] })).count).toBe(5)
  })
})

describe('all files', () => {
  it('containers have no rights that they do not need, and publish ports on this machine only', async () => {
    for (const name of ['compose.yml', 'compose.team.yml']) {
      for (const [service, given] of Object.entries(await servicesOf(name))) {
        for (const port of given.ports ?? []) expect(port, service).toMatch(/^127\.0\.0\.1:/)
        if (given.image !== 'tabularium') {
          expect(given.image, 'names a release').toMatch(/:\S+$/)
          continue
        }
        expect(given, service).toMatchObject({
          read_only: true,
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
        })
      }
    }
    expect((await instructions('USER')).at(-1)).toBe('node')
  })

  it('compose.team.yml: Caddy passes requests on to both servers', async () => {
    const { caddy, ...others } = await servicesOf('compose.team.yml')
    expect(caddy!.environment).toEqual({ SERVERS: 'one:2333 two:2333' })
    expect(Object.keys(others)).toEqual(expect.arrayContaining(['one', 'two']))
  })

  it('the page names each of them', async () => {
    const page = await file('README.md')
    for (const name of await readdir(folder)) if (name !== 'README.md') expect(page).toContain(`(${name})`)
  })
})

import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cached } from '../iceberg/clients/cache.ts'
import { chromiumPath } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { packedProject } from '../support/packed.ts'
import { pythonPrograms } from '../support/python-clients.ts'
import { installed, runBy, runtimes } from '../support/runtimes.ts'
import { limitEach } from '../support/time-limit.ts'

// Each example installs what it needs.
limitEach(240)

/* Each example is run by its two commands, with the package as it is published above it, as in a checkout. */

const folder = fileURLToPath(new URL('../../examples', import.meta.url))
const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
const npmFlags = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts']

let project: string
beforeAll(async () => {
  project = await packedProject()
  await rename(join(project, 'node_modules/tabularium'), join(project, 'package'))
  await symlink(join(project, 'node_modules'), join(project, 'package/node_modules'))
  // The package of the light client, which a checkout has, and the published package has not.
  await cp(join(project, 'source/dist/packages'), join(project, 'package/dist/packages'), { recursive: true })
})
afterAll(() => rm(project, { recursive: true, force: true }))

const place = (example: string) => join(project, 'package/examples', example)

const environment = { ...process.env, TABULARIUM_TOKEN: '', NODE_ENV: '' }

async function run(example: string, program: string, args: readonly string[], env = {}): Promise<string> {
  const given = { cwd: place(example), env: { ...environment, ...env }, timeout: 230_000, maxBuffer: 2 ** 26 }
  return promisify(execFile)(program, args, given).then(
    ({ stdout }) => stdout,
    (error) => {
      throw new Error(`${error.message}\n${error.stdout}`)
    },
  )
}

const npm = (example: string, ...args: string[]) => run(example, 'npm', args)

/** Starts an example that is a server, until the test ends. Resolves with the first line that it prints. */
async function started(example: string, env: object): Promise<{ line: string; stop(): Promise<unknown> }> {
  // A group of its own, since npm does not pass signals on.
  const child = spawn('npm', ['start', '--silent'], {
    cwd: place(example),
    env: { ...environment, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const closed = once(child, 'close')
  const stop = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM')
    return closed
  }
  onTestFinished(async () => void (await stop()))
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), closed])
  return { line: String(line), stop }
}

/** Installs an example. Skips the running test aloud where the registry cannot be reached. */
async function install(example: string, skip: (note: string) => never): Promise<void> {
  try {
    await npm(example, 'install', ...npmFlags)
  } catch (error) {
    const text = String(error)
    if (/ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTCACHED/.test(text)) skip(text.slice(0, 500))
    throw error
  }
}

/** What an example prints, without what npm says before it. */
async function printed(example: string): Promise<string[]> {
  return (await npm(example, 'start', '--silent')).trim().split('\n')
}

/** The blocks of a page that show what is printed: those without a language. */
async function shown(file: string): Promise<string[]> {
  const page = await readFile(join(folder, file), 'utf8')
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, language, text]) =>
    language === '' ? [text!.trimEnd()] : [],
  )
}

/** A folder of Python with what examples require. Says why there is none, where packages cannot be had. */
async function pythonWith(examples: readonly string[]): Promise<{ folder: string } | string> {
  const wanted = examples.map((example) => join(folder, example, 'requirements.txt'))
  const texts = await Promise.all(wanted.map((file) => readFile(file)))
  const version = createHash('sha256').update(Buffer.concat(texts)).digest('hex').slice(0, 12)
  return cached(`example-${version}`, async (into) => {
    await promisify(execFile)('python3', ['-m', 'venv', '--clear', into])
    const files = wanted.flatMap((file) => ['-r', file])
    const args = ['install', '--quiet', '--disable-pip-version-check', ...files]
    await promisify(execFile)(join(into, 'bin/pip'), args, { timeout: 600_000 })
  })
}

const withPython = ({ folder }: { folder: string }) => ({
  PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  AWS_REGION: 'us-east-1',
})

/** Runs both programs of an example of analysis twice, as its page does. Each prints what the page shows. */
async function expectAnalysis(name: string, skip: (note: string) => never): Promise<void> {
  const [local, remote] = await shown(`${name}/README.md`)
  const python = await pythonWith(['duckdb', 'polars', 'pandas'])
  const isMissing = typeof python === 'string'
  // The programs for Node need no Python.
  if (isMissing && name === 'pandas') skip(python)
  const env = isMissing ? {} : withPython(python)
  const output = async (program: string, ...args: string[]) => (await run(name, program, args, env)).trimEnd()
  for (let n = 0; n < 2; n++) expect(await output('npm', 'start', '--silent')).toBe(local)
  if (isMissing) skip(python)
  const page = await readFile(join(folder, name, 'README.md'), 'utf8')
  const [, command] = /^npx tabularium (serve .*)$/m.exec(page)!
  const cli = join(project, 'package/dist/cli/index.cjs')
  const server = spawn(process.execPath, [cli, ...command!.split(' '), '--port', '0'], {
    cwd: place(name),
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(server, 'close')
  try {
    const [line] = await once(createInterface(server.stdout), 'line')
    const url = /http:\S+/.exec(line)![0]
    for (let n = 0; n < 2; n++) expect(await output('python', 'analyse.py', url)).toBe(remote)
  } finally {
    server.kill('SIGTERM')
    await closed
  }
}

/** What the comments of an example say that it prints. */
async function told(file: string): Promise<string[]> {
  const code = await readFile(join(folder, file), 'utf8')
  return [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1]!)
}

it('every folder is run here, and the package has it', async () => {
  const tests = await readFile(fileURLToPath(import.meta.url), 'utf8')
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    // They have no program. deploy.test.ts and test/server/pages/monitoring.test.ts try their files.
    .filter((name) => name !== 'deploy' && name !== 'monitoring')
  expect(await readdir(place('monitoring'))).toContain('alerts.yml')
  expect(names.length).toBeGreaterThan(4)
  for (const name of names) {
    expect(tests).toContain(`install('${name}'`)
    expect(await readdir(place(name))).toContain('package.json')
  }
})

describe('examples', () => {
  it('service: its own routes and the catalog work on the same tables', async ({ skip }) => {
    await install('service', skip)
    const { line, stop } = await started('service', { TOKEN: 'a-token-of-the-example' })
    expect(line).toMatch(/listens on/)
    const url = /listens on (\S+),/.exec(line)![1]!
    const post = (path: string, body: unknown) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer a-token-of-the-example' },
        body: JSON.stringify(body),
      })
    const rows = [
      { station: 'tower', celsius: 31 },
      { station: 'harbour', celsius: null },
    ]
    expect((await post('/measurements', rows)).status).toBe(201)
    expect((await post('/measurements', [{ station: 'tower' }])).status).toBe(400)
    expect(await (await fetch(`${url}/hot?above=30`)).json()).toEqual({ count: 1 })
    expect((await fetch(`${url}/hot?above=30%20OR%20true`)).status).toBe(400)
    const counted = await post('/catalog/v1/table/measurements/count_rows', {})
    expect([counted.status, await counted.json()]).toEqual([200, 2])
    expect((await fetch(`${url}/catalog/v1/table`)).status).toBe(401)
    await stop()
  })

  it('ingest: a day is there whole and once, also after a fault in a file', async ({ skip }) => {
    await install('ingest', skip)
    const bad = join(place('ingest'), 'data/2026-06-03')
    await mkdir(bad)
    await writeFile(join(bad, 'orders.csv'), 'order,customer,placed\n4,Ada,2026-06-03\n')
    await writeFile(join(bad, 'lines.jsonl'), '{"order":4,"item":"rug","price":"dear"}\n')
    const days = ['2026-06-01: lines 3, orders 2', '2026-06-02: lines 1, orders 1']
    await expect(printed('ingest')).rejects.toThrow(`${days.join('\n')}\n`)
    await writeFile(join(bad, 'lines.jsonl'), '{"order":4,"item":"rug","price":90}\n')
    const again = ['2026-06-01: is there already', '2026-06-02: is there already']
    expect(await printed('ingest')).toEqual([...again, '2026-06-03: lines 1, orders 1'])
    const cli = [
      join(project, 'package/dist/cli/index.cjs'),
      'query',
      './catalog',
      'lines',
      '--where',
      'price > 50',
    ]
    const found = (await run('ingest', process.execPath, cli)).trim().split('\n')
    expect(found.map((row) => JSON.parse(row).item)).toEqual(['lamp', 'desk', 'rug'])
  })

  it('agent-store: prints what its comments say, in every run', async ({ skip }) => {
    await install('agent-store', skip)
    const lines = await told('agent-store/start.ts')
    expect(lines.length).toBeGreaterThan(4)
    expect(await printed('agent-store')).toEqual(lines)
    expect(await printed('agent-store')).toEqual(lines)
  })

  it('light-client: a page, its worker, an edge worker and programs write into one catalog', async ({
    skip,
  }) => {
    await install('light-client', skip)
    const { line } = await started('light-client', {})
    const catalog = line.replace(/page\.html$/, 'catalog')
    const guests = ['node']
    expect(await run('light-client', process.execPath, ['client.js', catalog, 'node'])).toBe('node\n')
    for (const runtime of runtimes) {
      const name = runtime.name.replace(' ', '-')
      const told = await runBy(runtime, place('light-client'), ['client.js', catalog, name])
      if (told === undefined) continue
      guests.push(name)
      expect(told).toBe(`${guests.join(' ')}\n`)
    }
    const edge = await byWorkerd(join(place('light-client'), 'edge.js'), catalog)
    if (edge !== undefined) {
      // More than once, since what one request began does not go on in another.
      for (const name of ['edge', 'edge-again']) {
        guests.push(name)
        expect(await (await fetch(`${edge}/${name}`)).json()).toEqual(guests)
      }
    }
    const executablePath = chromiumPath('The page of the light client')
    if (executablePath === undefined) return
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(line)
    const text = (id: string) => page.locator(`#${id}:not(:empty)`).textContent()
    expect(await text('page')).toBe([...guests, 'page'].join(' '))
    expect(await text('worker')).toBe([...guests, 'page', 'worker'].join(' '))
  })

  it('vitest-suite: its tests pass', async ({ skip }) => {
    await install('vitest-suite', skip)
    // Its tests have the limits that vitest has by itself, and a busy machine is slower than those.
    const limits = ['--testTimeout', '--hookTimeout', '--teardownTimeout'].map((limit) => `${limit}=200000`)
    const told = await npm('vitest-suite', 'test', '--', '--no-color', ...limits)
    expect(told).toMatch(/Tests {2}5 passed \(5\)/)
  })

  it('pytest-suite: its tests pass', async ({ skip }) => {
    const python = await pythonPrograms()
    if (typeof python === 'string') return skip(python)
    await install('pytest-suite', skip)
    // As `pip install -r requirements.txt` does it: the package of the file, and what it needs from elsewhere.
    const wanted = (await readFile(join(place('pytest-suite'), 'requirements.txt'), 'utf8'))
      .trim()
      .split('\n')
    expect(wanted).toEqual(['./node_modules/tabularium/python', 'lancedb'])
    const site = join(project, 'site')
    const args = ['install', '--quiet', '--no-deps', '--no-build-isolation', '--target', site, wanted[0]!]
    await run('pytest-suite', join(python.bin, 'pip'), args)
    const told = await run('pytest-suite', join(python.bin, 'pytest'), ['-q'], { PYTHONPATH: site })
    expect(told.trim().split('\n').at(-1)).toMatch(/^5 passed/)
  })

  it('iceberg: its tests pass, and its report is as the tables are', async ({ skip }) => {
    const python = await pythonWith(['iceberg'])
    if (typeof python === 'string') return skip(python)
    await install('iceberg', skip)
    const env = withPython(python)
    const told = await run('iceberg', 'npm', ['test', '--silent', '--', '-q'], env)
    expect(told.trim().split('\n').at(-1)).toMatch(/^6 passed/)
    const report = await run('iceberg', 'npm', ['start', '--silent'], env)
    expect(report.trim().split('\n')).toEqual([
      "[('LAX', 12.0), ('SFO', 40.0)]",
      '0 late',
      "[{'id': 1, 'delay': 75}]",
    ])
  })

  it('duckdb: prints what its page says, in Node, and in Python over a server', async ({ skip }) => {
    await install('duckdb', skip)
    await expectAnalysis('duckdb', skip)
  })

  it('polars: prints what its page says, in Node, and in Python over a server', async ({ skip }) => {
    await install('polars', skip)
    await expectAnalysis('polars', skip)
  })

  it('pandas: prints what its page says, by files, and over a server', async ({ skip }) => {
    await install('pandas', skip)
    await expectAnalysis('pandas', skip)
  })

  it('their types are checked', async () => {
    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions']
    const platform = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,esnext.disposable']
    const sources: string[] = []
    for (const name of ['service', 'ingest', 'agent-store', 'vitest-suite', 'duckdb', 'polars']) {
      const files = (await readdir(place(name))).filter((file) => file.endsWith('.ts'))
      expect(files).not.toEqual([])
      sources.push(...files.map((file) => join(place(name), file)))
    }
    await run('service', process.execPath, [compiler, ...flags, ...platform, '--types', 'node', ...sources])
  })
})

/**
 * Starts a worker by workerd, the runtime of Cloudflare's workers, until the test ends. It is bundled as their tools do
 * it. Returns its URL; undefined, with a warning, if workerd is not available.
 */
async function byWorkerd(file: string, catalog: string): Promise<string | undefined> {
  const found = await installed('workerd@1.20261117.1')
  if (typeof found === 'string') {
    console.warn(`The worker of the light client is not tried: ${found}`)
    return undefined
  }
  const outfile = join(project, 'edge/worker.js')
  const conditions = ['workerd', 'worker', 'browser']
  await build({ entryPoints: [file], outfile, bundle: true, format: 'esm', conditions, logLevel: 'silent' })
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local", "private", "public"])),
  ],
  sockets = [(name = "http", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  bindings = [(name = "CATALOG", text = "${catalog}")],
  compatibilityDate = "2026-11-01",
);`
  await writeFile(join(project, 'edge/config.capnp'), config)
  const port = await freePort()
  const args = ['serve', join(project, 'edge/config.capnp'), `--socket-addr=http=127.0.0.1:${port}`]
  const child = spawn(`${found.folder}/.bin/workerd`, args, { stdio: 'inherit' })
  onTestFinished(() => void child.kill())
  const isThere = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
    })
  await expect.poll(isThere, { timeout: 30_000 }).toBe(true)
  return `http://127.0.0.1:${port}`
}

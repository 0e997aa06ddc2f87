import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { type Child, lines, run, runProcess, start } from './run.ts'

// Commands are processes of their own.
limitEach(60)

/** Starts a server and waits for the line with its URL. Kills it when the test ends. */
async function serve(args: readonly string[], env: Record<string, string> = {}) {
  const child = start(['serve', ...args], env)
  onTestFinished(() => void child.kill('SIGKILL'))
  const printed: string[] = []
  const reader = createInterface(child.stdout)
  reader.on('line', (line) => printed.push(line))
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  await Promise.race([once(reader, 'line'), once(child, 'close')])
  expect(printed.length, errors).toBeGreaterThan(0)
  return { child, printed, url: printed[0]!.replace('tabularium listening on ', '') }
}

async function stopped(child: Child, signal: NodeJS.Signals) {
  const closed = once(child, 'close')
  child.kill(signal)
  const [code, by] = await closed
  return by ?? code
}

/** A stub of npx that starts a command like npm 11: through a shell, with a process title that names npm's command. */
const npx = `
  process.title = 'npm exec tabularium'
  const { spawn } = require('node:child_process')
  const env = { ...process.env, npm_command: 'exec' }
  const shell = spawn('sh', ['-c', process.argv[1] + '; exit $?'], { stdio: 'inherit', env })
  process.on('SIGTERM', () => shell.kill('SIGTERM'))
  shell.on('close', () => process.exit())
`

describe('the command as a process', () => {
  it.runIf(process.platform === 'linux').each(['SIGTERM', 'SIGKILL'] as const)(
    'ends its server when npx ends by %s, which no signal tells',
    async (signal) => {
      const words = [
        process.execPath,
        scriptPath('src/cli/index.ts'),
        'serve',
        'memory:',
        '--no-auth',
        '--port',
        '0',
      ]
      const child = spawn(process.execPath, ['-e', npx, words.map((word) => `'${word}'`).join(' ')])
      const [line] = await once(createInterface(child.stdout), 'line')
      const url = String(line).replace('tabularium listening on ', '')
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      child.kill(signal)
      const isServed = () =>
        fetch(`${url}/healthz`).then(
          () => true,
          () => false,
        )
      await expect.poll(isServed).toBe(false)
    },
  )

  it('works on a directory, from one process to the next', async () => {
    const location = join(await freshFolder(), 'catalog')
    const rows = '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'
    const created = await runProcess(['create', location, 't', '--data', '-'], { stdin: rows })
    expect({ code: created.code, err: created.err }).toEqual({ code: 0, err: '' })
    const counted = await runProcess(['count', location, 't', '--where', 'a > 1'])
    expect([counted.code, lines(counted)]).toEqual([0, [{ count: 1 }]])
    const missing = await runProcess(['count', location, 'u'])
    expect([missing.code, missing.out]).toEqual([1, ''])
    expect(missing.err).toMatch(/^tabularium: TableNotFound: .*\n$/)
    expect((await runProcess(['cuont', location, 't'])).code).toBe(2)
    expect(await runProcess(['help', 'count'])).toMatchObject({ code: 0, err: '' })
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(await runProcess(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  })

  it('ends quietly when nobody reads on', async () => {
    const location = join(await freshFolder(), 'catalog')
    const rows = Array.from({ length: 50_000 }, (_, i) => `{"text":"row ${i}"}`).join('\n')
    expect((await run(['create', location, 't', '--data', '-'], { stdin: rows })).code).toBe(0)
    const child = start(['query', location, 't'])
    let errors = ''
    child.stderr.on('data', (text) => {
      errors += text
    })
    child.stdout.once('data', () => child.stdout.destroy())
    const [code] = await once(child, 'close')
    expect([code, errors]).toEqual([0, ''])
  })

  it('serves, is used by its URL, and finishes what runs when it is told to end', async () => {
    const location = join(await freshFolder(), 'catalog')
    const { child, url, printed } = await serve([location, '--port', '0'], {
      TABULARIUM_TOKEN: 'a-good-long-token',
    })
    const listed = await runProcess(['declare', url, 't'], { env: { TABULARIUM_TOKEN: 'a-good-long-token' } })
    expect([listed.code, listed.err]).toEqual([0, ''])
    expect((await run(['list', url])).code).toBe(1)
    await using catalog = connect(url, { token: 'a-good-long-token' })
    const rows = Array.from({ length: 100_000 }, (_, i) => ({ i }))
    await catalog.createTable({ id: ['rows'], data: rows.slice(0, 10) })
    const inserting = catalog.insertIntoTable({ id: ['rows'], data: rows })
    // In the middle of the insert, or before it, or after it.
    const ending = new Promise((resolve) => setTimeout(resolve, 150)).then(() => stopped(child, 'SIGTERM'))
    const outcome = await inserting.then(
      () => 'done',
      (error) => error.code,
    )
    expect(await ending).toBe(0)
    expect(printed).toEqual([`tabularium listening on ${url}`])
    await access(join(location, 'catalog.mdb'))
    const { out } = await run(['count', location, 'rows'])
    expect(JSON.parse(out)).toEqual({ count: outcome === 'done' ? 100_010 : 10 })
  })

  it('goes on serving after a signal when it is told to drain, and ends at once by a second one', async () => {
    const { child, url } = await serve(['memory:', '--no-auth', '--port', '0', '--drain', '1h'])
    const status = (path: string) => fetch(url + path).then((answer) => answer.status)
    expect(await status('/readyz')).toBe(200)
    child.kill('SIGTERM')
    await expect.poll(() => status('/readyz')).toBe(503)
    expect(await status('/v1/table')).toBe(200)
    expect(await stopped(child, 'SIGTERM')).toBe('SIGTERM')
  })

  it('ends by itself once it has drained', async () => {
    const { child } = await serve(['memory:', '--no-auth', '--port', '0', '--drain', '1ms'])
    expect(await stopped(child, 'SIGTERM')).toBe(0)
  })

  it('killed and started again, it has all that was acknowledged', async () => {
    const location = join(await freshFolder(), 'catalog')
    const port = String(await freePort())
    const first = await serve([location, '--no-auth', '--port', port])
    const catalog = connect(first.url, { retries: 0 })
    const acknowledged: string[] = []
    let next = 0
    const writers = Array.from({ length: 8 }, async () => {
      for (;;) {
        const name = `t${next++}`
        await catalog.declareTable({ id: [name] })
        acknowledged.push(name)
      }
    })
    const ended = Promise.allSettled(writers)
    await expect.poll(() => acknowledged.length, { interval: 5 }).toBeGreaterThanOrEqual(100)
    expect(await stopped(first.child, 'SIGKILL')).toBe('SIGKILL')
    for (const outcome of await ended)
      expect(outcome).toMatchObject({ reason: { code: 'ServiceUnavailable' } })
    const second = await serve([location, '--no-auth', '--port', port])
    expect(second.url).toBe(first.url)
    const { tables } = await catalog.listTables({ id: [], limit: 10_000 })
    expect(acknowledged.filter((name) => !tables.includes(name))).toEqual([])
    expect(await stopped(second.child, 'SIGINT')).toBe(0)
  })
})

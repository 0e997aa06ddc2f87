import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, readdir, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

/* Commands as a person uses them: at a real terminal, which `script` of util-linux makes. */

// Commands are processes of their own.
limitEach(120)

const tables = 150
const hasTerminal = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') ?? false

let folder: string

beforeAll(async () => {
  folder = await temporaryDirectory()
  const catalog = await openCatalog(join(folder, 'catalog'))
  await catalog.transaction(async (tx) => {
    for (let i = 0; i < tables; i++) await tx.createTable({ id: [`t${i}`], data: [{ n: i }] })
  })
  await catalog.close()
  for (const command of ['export', 'backup'])
    expect((await run([command, join(folder, 'catalog'), join(folder, command)])).code).toBe(0)
}, 120_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Types Ctrl-C at the terminal of a command when `ready` says so. Resolves to its exit code and what the screen shows. */
async function interrupted(words: readonly string[], ready: () => Promise<boolean>) {
  const line = [process.execPath, scriptPath('src/cli/index.ts'), ...words]
    .map((word) => `'${word}'`)
    .join(' ')
  const child = spawn('script', ['-qfec', `stty cols 40; exec ${line}`, '/dev/null'], {
    cwd: folder,
    env: { ...process.env, XDG_CONFIG_HOME: folder, TABULARIUM_TOKEN: '' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text
  })
  child.stdin.on('error', () => {})
  const ended = once(child, 'close')
  while (child.exitCode === null && !(await ready())) await new Promise((resolve) => setTimeout(resolve, 5))
  child.stdin.write('\u0003')
  const [code] = await ended
  return { code: code as number, screen }
}

const left = async () => (await readdir(folder)).sort()

describe.runIf(hasTerminal)('Ctrl-C at a terminal', () => {
  const partial = (name: string) => async () =>
    (await left()).some((one) => one.startsWith(`${name}.partial-`))
  const begun = (name: string) => async () => existsSync(join(folder, name, 'catalog.mdb'))

  it.each([
    ['export', ['export', 'catalog', 'target'], partial('target'), 'absent'],
    ['backup', ['backup', 'catalog', 'target'], partial('target'), 'absent'],
    ['restore', ['restore', 'backup', 'target'], partial('target'), 'absent'],
    ['import', ['import', 'export', 'target'], begun('target'), 'empty'],
    ['copy', ['copy', 'catalog', 'target'], begun('target'), 'empty'],
  ] as const)(
    'in %s leaves nothing in part, and the command can be given again',
    async (name, words, ready, rest) => {
      const target = join(folder, 'target')
      onTestFinished(() => rm(target, { recursive: true, force: true }))
      const before = await left()
      const { code, screen } = await interrupted(words, ready)
      // A command that was faster than the key is done as a whole.
      expect([0, 130]).toContain(code)
      const names = name === 'export' ? undefined : (await run(['list', target])).out.split('\n').length - 1
      if (code === 0) {
        if (name !== 'export') expect(names).toBe(tables)
        return
      }
      expect(screen).toMatch(/tabularium: interrupted\r\n$/)
      if (rest === 'absent') expect(await left()).toEqual(before)
      else {
        expect(names).toBe(0)
        expect(await readdir(target)).not.toContain('tables')
      }
      const again = await run(words.map((word) => (word === name ? word : join(folder, word))))
      expect(again).toMatchObject({ code: 0 })
    },
  )
})

it('a plan is shown line by line', async () => {
  const catalog = join(folder, 'catalog')
  const { out } = await run(['analyze', catalog, 't0', '--filter', 'n > 1'], { terminal: true })
  const [first, ...more] = out.trimEnd().split('\n')
  expect(first).toMatch(/^analysis {2}\S/)
  expect(more.length).toBeGreaterThan(0)
  for (const line of more) expect(line).toMatch(/^ {10}\s*\S/)
})

describe.runIf(hasTerminal)(
  'a command whose other side never answers ends at Ctrl-C, and leaves nothing',
  () => {
    it.each(['migrate', 'import-iceberg'])('%s', async (command) => {
      const own = await freshFolder()
      let asked = false
      const silent = createServer((socket) => {
        asked = true
        socket.on('error', () => {})
      }).listen(0, '127.0.0.1')
      await once(silent, 'listening')
      onTestFinished(() => void silent.close())
      const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`
      const words =
        command === 'migrate'
          ? ['migrate', `postgres://somebody:hunter2@${address}/tables`]
          : ['import-iceberg', `http://${address}`, '--into', join(own, 'new')]
      const { code, screen } = await interrupted(words, async () => asked)
      expect({ code, screen }).toEqual({ code: 130, screen: '^Ctabularium: interrupted\r\n' })
      expect(await readdir(own)).toEqual([])
    })
  },
)

it.each(['csv', 'jsonl'])(
  'a file of %s that grows while it is read is refused, and changes nothing',
  async (kind) => {
    const own = await freshFolder()
    const [location, file] = [join(own, 'catalog'), join(own, `rows.${kind}`)]
    const line = kind === 'csv' ? '1\n' : '{"n":1}\n'
    await run(['create', location, 't', '--data', '[{"n":1}]'])
    await writeFile(file, (kind === 'csv' ? 'n\n' : '') + line.repeat(100_000))
    for (const words of [
      ['insert', location, 't'],
      ['create', location, 'new'],
    ]) {
      let isDone = false
      const ran = run([...words, '--data', file]).finally(() => {
        isDone = true
      })
      while (!isDone) {
        await appendFile(file, line)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      const { code, out, err } = await ran
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(/^tabularium: --data cannot be read from \S+: it was changed while it was read/)
    }
    expect((await run(['count', location, 't'])).out).toBe('{"count":1}\n')
    expect((await run(['describe', location, 'new'])).code).toBe(1)
    // Nobody writes it any more.
    expect(await run(['insert', location, 't', '--data', file])).toMatchObject({ code: 0, err: '' })
  },
)

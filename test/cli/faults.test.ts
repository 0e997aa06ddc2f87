import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../support/folders.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

/*
 * What goes wrong around a command: its input, its output, and a person who has waited enough. A command says so in one
 * line, has the exit code of conventions, and leaves nothing behind.
 */

// Commands are processes of their own.
limitEach(90)

let folder: string
let catalog: string
let temporary: string

beforeAll(async () => {
  folder = await temporaryDirectory()
  catalog = join(folder, 'catalog')
  temporary = join(folder, 'tmp')
  await Promise.all([
    mkdir(temporary),
    mkdir(join(folder, 'directory')),
    writeFile(join(folder, 'empty'), ''),
  ])
  const rows = Array.from({ length: 40_000 }, (_, i) => `{"i":${i},"text":"row number ${i}"}`).join('\n')
  await writeFile(join(folder, 'rows.jsonl'), rows)
  expect((await run(['create', catalog, 't', '--data', join(folder, 'rows.jsonl')])).code).toBe(0)
  expect((await run(['insert', catalog, 't', '--data', '[{"i":-1}]'])).code).toBe(0)
  await promisify(execFile)('mkfifo', [join(folder, 'pipe.csv')])
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The names in the folder of a test, and in that for temporary files. */
async function left(): Promise<readonly string[]> {
  return [...(await readdir(folder)), ...(await readdir(temporary)).map((name) => `tmp/${name}`)].sort()
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly err: string
}

/** A command as a process, with output that nobody reads unless `stdio` says otherwise. */
function started(words: readonly string[], stdio: SpawnOptions['stdio']) {
  const child = spawn(process.execPath, [scriptPath('src/cli/index.ts'), ...words], {
    cwd: folder,
    env: { ...process.env, TMPDIR: temporary, XDG_CONFIG_HOME: temporary, TABULARIUM_TOKEN: '' },
    stdio,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let err = ''
  ;(child.stderr as Readable).setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, err }))
  return { child, ended, told: () => err }
}

/** At most one line of an error, and no stack. */
const oneLine = /^(?:tabularium: [^\n]*\n)?$/

describe('a full disk under standard output', () => {
  it
    .runIf(existsSync('/dev/full'))
    .each([
      ['query', 'catalog', 't'],
      ['query', 'catalog', 't', '--output', '-'],
      ['query', 'catalog', 't', '--no-json'],
      ['diff', 'catalog', 't', '--from', '1', '--to', '2'],
      ['describe', 'catalog', 't'],
      ['--help'],
      ['completion', 'bash'],
    ])('%j', async (...words) => {
    const full = openSync('/dev/full', constants.O_WRONLY)
    const { ended } = started(words, ['ignore', full, 'pipe'])
    closeSync(full)
    expect(await ended).toEqual({
      code: 1,
      signal: null,
      err: 'tabularium: standard output cannot be written: ENOSPC: no space left on device, write\n',
    })
  })
})

describe('a reader that goes away', () => {
  it.each([
    ['query', 'catalog', 't'],
    ['query', 'catalog', 't', '--output', '-'],
    ['diff', 'catalog', 't', '--from', '0', '--to', '2'],
  ])('%j', async (...words) => {
    const { child, ended } = started(words, ['ignore', 'pipe', 'pipe'])
    child.stdout!.once('data', () => child.stdout!.destroy())
    expect(await ended).toMatchObject({ signal: null, err: expect.stringMatching(oneLine) })
  })

  it('of standard error does not end the work', async () => {
    const { child, ended } = started(['import', 'directory', 'catalog'], ['ignore', 'pipe', 'pipe'])
    child.stderr!.destroy()
    expect(await ended).toMatchObject({ code: 1, signal: null })
  })
})

/** A command that waits, and how a test knows that it does. */
interface Waiting {
  readonly words: readonly string[]
  /** Resolves when the command waits for the world outside. */
  readonly until: (child: ReturnType<typeof started>['child']) => Promise<unknown>
}

/** It has taken what it was sent, and awaits more. */
const tookInput: Waiting['until'] = async ({ stdin }) => {
  // More than a pipe holds, so it has begun to read.
  await new Promise((resolve) => stdin!.write(`{"i":1}\n`.repeat(125_000), resolve))
}

/** It has begun to print, and nobody reads on. */
const began: Waiting['until'] = async ({ stdout }) => {
  await once(stdout!, 'readable')
}

const waiting: readonly Waiting[] = [
  { words: ['create', 'catalog', 'new', '--data', '-'], until: tookInput },
  { words: ['insert', 'catalog', 't', '--data', '-'], until: tookInput },
  { words: ['merge', 'catalog', 't', '--on', 'i', '--data', '-'], until: tookInput },
  { words: ['profile', 'add', 'p', 'http://localhost', '--token', '-'], until: tookInput },
  { words: ['query', 'catalog', 't'], until: began },
  { words: ['query', 'catalog', 't', '--output', '-'], until: began },
]

describe.runIf(process.platform === 'linux')('an interrupt', () => {
  it.each(waiting)('$words', async ({ words, until }) => {
    const before = await left()
    const { child, ended } = started(words, ['pipe', 'pipe', 'pipe'])
    ;(child.stdin as Writable).on('error', () => {})
    await until(child)
    child.kill('SIGINT')
    const { code, signal, err } = await ended
    // A shell sees 130 for both: a thread that waits for a pipe leaves the end to the signal.
    expect([code, signal]).toSatisfy(([a, b]) => a === 130 || b === 'SIGINT')
    expect(err).toBe('tabularium: interrupted\n')
    expect(await left()).toEqual(before)
    expect(await run(['count', catalog, 't', '--json'])).toMatchObject({ out: '{"count":40001}\n' })
    expect((await run(['describe', catalog, 'new'])).code).toBe(1)
  })

  it.each([
    ['create', 'catalog', 'new', '--data', 'pipe.csv'],
    ['query', 'catalog', 't', '--output', 'pipe.csv'],
  ])('while nobody has opened the other end of a pipe: %s', async (...words) => {
    const before = await left()
    const { child, ended } = started(words, ['ignore', 'pipe', 'pipe'])
    // The code that handles interrupts is loaded soon, and a later one is tried where it was not.
    const [code, signal, err] = await Promise.all([
      ended,
      new Promise((resolve) => setTimeout(resolve, 3_000)).then(() => child.kill('SIGINT')),
    ]).then(([end]) => [end.code, end.signal, end.err] as const)
    expect([code, signal]).toSatisfy(([a, b]) => a === 130 || b === 'SIGINT')
    expect(err).toMatch(oneLine)
    expect(await left()).toEqual(before)
  })
})

describe('input that is none', () => {
  const commands: Readonly<Record<string, (input: string) => readonly string[]>> = {
    create: (input) => ['create', catalog, 'new', '--data', input],
    insert: (input) => ['insert', catalog, 't', '--data', input],
    merge: (input) => ['merge', catalog, 't', '--on', 'i', '--data', input],
    import: (input) => ['import', input, catalog],
    restore: (input) => ['restore', input, join(folder, 'restored')],
    export: (input) => ['export', input, join(folder, 'exported')],
    backup: (input) => ['backup', input, join(folder, 'copied')],
    copy: (input) => ['copy', input, join(folder, 'other')],
    query: (input) => ['query', input, 't'],
    watch: (input) => ['watch', input],
    changes: (input) => ['changes', input],
    verify: (input) => ['verify', input],
  }
  const inputs = ['nowhere', 'directory', 'empty']
  const pairs = Object.keys(commands).flatMap((name) => inputs.map((input) => [name, input] as const))

  it.each(pairs)('%s of %s is refused in one line, and leaves nothing', async (name, input) => {
    const before = await left()
    const { code, out, err } = await run(commands[name]!(join(folder, input)))
    expect({ code, out }).toEqual({ code: expect.toSatisfy((one) => one === 1 || one === 2), out: '' })
    expect(err).toMatch(/^tabularium: [^\n]+\n$/)
    expect(await left()).toEqual(before)
  })
})

describe('output that cannot be', () => {
  it.each([
    ['of a folder that is not there', join('nowhere', 'x.csv'), /its folder is not there; create it/],
    ['of a folder itself', 'directory/', /end the name in/],
    ...(existsSync('/dev/full') ? [['of a full disk', 'full.csv', /the disk is full/] as const] : []),
  ] as const)('%s', async (_, name, message) => {
    if (name === 'full.csv') await promisify(execFile)('ln', ['-sf', '/dev/full', join(folder, name)])
    const before = await left()
    for (const words of [
      ['query', catalog, 't'],
      ['diff', catalog, 't', '--from', '1', '--to', '2'],
    ]) {
      const { code, err } = await run([...words, '--output', join(folder, name)])
      expect(code).toBe(2)
      expect(err).toMatch(message)
    }
    expect(await left()).toEqual(before)
  })
})

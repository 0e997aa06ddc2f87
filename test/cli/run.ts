import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Output } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import { scriptPath } from '../support/scripts.ts'

/** The output of a command, and its exit code. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** Whether the output is a terminal. */
  readonly terminal?: boolean
  readonly signal?: AbortSignal
  /** Called with each piece of output. */
  readonly onOutput?: (text: string) => void
}

/** Runs the command in this process. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = '', env = {}, terminal = false, signal = new AbortController().signal, onOutput } = options
  const out = collector(terminal, onOutput)
  const err = collector(terminal)
  const io = { stdin: bytesOf(stdin), stdout: out.output, stderr: err.output, env, version: '1.2.3', signal }
  const code = await main(args, io)
  return { code, out: out.text(), err: err.text() }
}

async function* bytesOf(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof text === 'string' ? new TextEncoder().encode(text) : text
}

function collector(
  isTTY: boolean,
  onOutput?: (text: string) => void,
): { output: Output; text: () => string } {
  const chunks: Uint8Array[] = []
  const write = (chunk: string | Uint8Array) => {
    chunks.push(Buffer.from(chunk as Uint8Array))
    onOutput?.(String(chunk))
  }
  return { output: { isTTY, write }, text: () => Buffer.concat(chunks).toString() }
}

/** The lines of JSON that a command printed. */
export function lines({ out }: Ran): unknown[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** Starts the real command as a separate process. */
export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  return spawn(process.execPath, [scriptPath('src/cli/index.ts'), ...args], {
    env: { ...process.env, TABULARIUM_TOKEN: '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Runs the real command to its end. */
export async function runProcess(
  args: readonly string[],
  { stdin = '', env }: Pick<RunOptions, 'stdin' | 'env'> = {},
): Promise<Ran> {
  const child = start(args, env)
  child.stdin.on('error', () => {}).end(stdin)
  const [out, err, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ])
  return { code, out, err }
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

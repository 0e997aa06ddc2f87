import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { madeOnce } from '../../../support/made-once.ts'

const run = promisify(execFile)

/** The extension is in a package of its own, as its own server is not reached everywhere. */
const packages = ['duckdb==1.5.5', 'duckdb-extension-lance==1.5.5']

/** DuckDB with its extension for Lance, in a process. */
export class LanceDuckdb {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(python: string) {
    const script = fileURLToPath(new URL('read_by_duckdb.py', import.meta.url))
    this.#child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
  }

  /** Starts it, or answers why it cannot be had. */
  static async start(): Promise<LanceDuckdb | string> {
    const name = `duckdb-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 12)}`
    try {
      const folder = await madeOnce(name, install, join(homedir(), '.cache/tabularium-lance-kit'))
      const started = new LanceDuckdb(`${folder}/bin/python`)
      await started.#next()
      return started
    } catch (error) {
      return `DuckDB's extension for Lance cannot be had: ${(error as Error).message.slice(0, 500)}`
    }
  }

  /** The rows of the latest version of a dataset: it reads no other ones. */
  async rows(path: string): Promise<[id: number, name: string | null][]> {
    this.#child.stdin!.write(`${path}\n`)
    return (await this.#next()) as [number, string | null][]
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin!.end()
    await ended
  }

  async #next(): Promise<unknown> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('its process ended, and said why on standard error')
    return JSON.parse(value)
  }
}

async function install(folder: string): Promise<void> {
  await run('python3', ['-m', 'venv', '--clear', folder])
  const options = ['install', '--quiet', '--disable-pip-version-check', ...packages]
  await run(`${folder}/bin/pip`, options, { timeout: 280_000 })
}

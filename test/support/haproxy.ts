import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { temporaryDirectory } from './folders.ts'

/** Why tests that need HAProxy are skipped; undefined when they run. */
export const missingHaproxy =
  spawnSync('haproxy', ['-v']).status === 0 ? undefined : 'there is no program haproxy'
if (missingHaproxy !== undefined) console.warn(`Tests of HAProxy are skipped: ${missingHaproxy}.`)

/** An HAProxy process with a configuration file. */
export class Haproxy {
  readonly #process: ChildProcess
  readonly #folder: string
  #errors = ''

  private constructor(folder: string) {
    this.#folder = folder
    const files = ['-f', join(folder, 'haproxy.cfg'), '-f', join(folder, 'stats.cfg')]
    this.#process = spawn('haproxy', ['-db', ...files], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#process.stderr!.setEncoding('utf8').on('data', (text) => {
      this.#errors = (this.#errors + text).slice(-10_000)
    })
  }

  static async start(configuration: string): Promise<Haproxy> {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'haproxy.cfg'), configuration)
    await writeFile(join(folder, 'stats.cfg'), `global\n  stats socket ${join(folder, 'stats')}\n`)
    return new Haproxy(folder)
  }

  /** The state of a server: `UP`, `DOWN`, or a transition between them. Undefined before the start. */
  async statusOf(server: string): Promise<string | undefined> {
    if (this.#process.exitCode !== null) throw new Error(`HAProxy has ended: ${this.#errors}`)
    const table = await this.#tell('show stat').catch(() => '')
    const [names = [], ...rows] = table.split('\n').map((line) => line.split(','))
    return rows.find((row) => row[1] === server)?.[names.indexOf('status')]
  }

  async #tell(command: string): Promise<string> {
    const socket = connect(join(this.#folder, 'stats'))
    socket.end(`${command}\n`)
    let text = ''
    for await (const chunk of socket) text += chunk
    return text
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGKILL')
      await once(this.#process, 'close')
    }
    await rm(this.#folder, { recursive: true, force: true })
  }
}

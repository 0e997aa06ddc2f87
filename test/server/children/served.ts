import { once } from 'node:events'
import { type Child, start } from '../../cli/run.ts'

/** The command `tabularium serve` as a process of its own, which ends with this one at the latest. */
export class Served implements Disposable {
  readonly #child: Child
  readonly #closed: Promise<unknown[]>
  #printed = ''
  #errors = ''

  /** Starts it on a directory, for everybody on this machine. */
  constructor(directory: string, port: number) {
    this.#child = start(['serve', directory, '--no-auth', '--port', String(port)])
    this.#closed = once(this.#child, 'close')
    const kill = () => this[Symbol.dispose]()
    process.once('exit', kill)
    this.#child.once('close', () => process.off('exit', kill))
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Resolves when it has said that it listens, and fails when it ended without. */
  async listens(): Promise<void> {
    while (!this.#printed.includes('\n')) {
      await Promise.race([once(this.#child.stdout, 'data'), this.#closed])
      if (this.ending !== undefined) throw new Error(this.ending)
    }
  }

  /** What it wrote on standard error so far. */
  get errors(): string {
    return this.#errors
  }

  /** How it ended and what it wrote on standard error, once it has ended; undefined until then. */
  get ending(): string | undefined {
    const { exitCode, signalCode } = this.#child
    return exitCode === null && signalCode === null
      ? undefined
      : `The server ended with ${signalCode ?? `exit code ${exitCode}`}: ${this.#errors}`
  }

  /**
   * Sends the signal, and answers with how the process ended and what it wrote on standard error, but for the note of the
   * first one on a directory.
   */
  async end(signal: NodeJS.Signals): Promise<{ by: unknown; errors: string }> {
    this.#child.kill(signal)
    const [code, by] = await this.#closed
    return { by: by ?? code, errors: this.#errors.replace(/^note: a new catalog was created in .*\n/, '') }
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Script, scriptPath } from '../support/scripts.ts'

/** A process that runs a script, with the lines of its output. */
export class Child {
  readonly lines: string[] = []
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  #rest = ''
  #errors = ''
  #answered = 0
  #isOver = false
  #wake: () => void = () => {}

  constructor(script: Script, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#process = spawn(process.execPath, [scriptPath(script), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#closed = once(this.#process, 'close')
    this.#process.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop()!
      this.lines.push(...lines)
      this.#wake()
    })
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    // After its exit, since the last lines may come after that.
    this.#process.on('close', () => {
      this.#isOver = true
      this.#wake()
    })
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** Resolves when the process has written the line. Fails if it ends before. */
  said(line: string): Promise<void> {
    return this.#until(() => this.lines.includes(line))
  }

  /** Resolves when the process has written this many lines. Fails if it ends before. */
  wrote(lines: number): Promise<void> {
    return this.#until(() => this.lines.length >= lines)
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#isOver) throw this.#endedWith()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** The next unread line. Fails if the process ends without one. */
  async answer(): Promise<string> {
    while (this.lines.length === this.#answered) {
      if (this.#isOver) throw this.#endedWith()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.lines[this.#answered++]!
  }

  #endedWith(): Error {
    const { exitCode, signalCode } = this.#process
    return new Error(`The child ended with ${signalCode ?? `exit code ${exitCode}`}: ${this.#errors}`)
  }

  write(text: string): void {
    this.#process.stdin!.write(text)
  }

  /** Closes its standard input. */
  end(): void {
    this.#process.stdin!.end()
  }

  /** Kills the process with SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
    if (this.#process.signalCode !== 'SIGKILL') throw this.#endedWith()
  }

  /** Stops the process until {@link goOn}. */
  pause(): void {
    this.#process.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  /** Asks the process to shut down gracefully. */
  interrupt(): void {
    this.#process.kill('SIGTERM')
  }

  /** Stops the process if it still runs. */
  stop(): void {
    this.#process.kill('SIGKILL')
  }

  /** Waits until the process exits. */
  async ended(): Promise<void> {
    await this.#closed
    if (this.#process.exitCode !== 0) throw this.#endedWith()
  }
}

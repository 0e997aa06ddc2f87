import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { type Script, scriptPath } from '../../support/scripts.ts'

/** A process that runs a script. It is killed when the running test ends. */
export interface Child {
  readonly process: ChildProcess
  /** What it has printed so far, in whole lines. */
  lines(): string[]
  /** Resolves when it has printed so many lines or has ended. */
  printed(lines: number): Promise<void>
  /** Resolves with the exit code, or undefined after a signal. */
  readonly ended: Promise<number | undefined>
}

export function startChild(script: Script, ...args: (string | number)[]): Child {
  const process_ = spawn(process.execPath, [scriptPath(script), ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  let hasEnded = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  process_.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
    wake()
  })
  process_.on('close', () => {
    hasEnded = true
    wake()
  })
  const lines = () => output.split('\n').slice(0, -1)
  const ended = once(process_, 'close').then(([code]) => (code as number | null) ?? undefined)
  onTestFinished(async () => {
    process_.kill('SIGKILL')
    await ended
  })
  return {
    process: process_,
    lines,
    ended,
    printed: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (lines().length < count && !hasEnded) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

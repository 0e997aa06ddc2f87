import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { clearInterval, setInterval } from '../base/time.ts'

/** The interval between checks of npx, in milliseconds. */
const pollMillis = 500

/**
 * Calls back when the `npx` that started this process has ended. npx runs a shell, and the shell runs the command. A
 * signal to npx ends the shell or npx alone and does not reach the command, so a server would stay as an orphan.
 */
export function whenNpxEnds(env: Readonly<Record<string, string | undefined>>, ended: () => void): void {
  if (env.npm_command !== 'exec') return
  const started = ancestorsUpToNpx()
  if (started === undefined) return
  const { ppid } = process
  const timer = setInterval(() => {
    if (process.ppid === ppid && started.every(isAlive)) return
    clearInterval(timer)
    ended()
  }, pollMillis)
  timer.unref?.()
}

/** The ids of the parent processes up to npx. Undefined if npx is further away than the grandparent. */
function ancestorsUpToNpx(): number[] | undefined {
  const parent = readProcess(process.ppid)
  if (parent === undefined) return undefined
  if (isNpx(parent)) return [process.ppid]
  const above = readProcess(parent.ppid)
  return above && isNpx(above) ? [process.ppid, parent.ppid] : undefined
}

interface Ancestor {
  readonly ppid: number
  readonly command: string
}

/** npm sets its process title to its command. */
function isNpx({ command }: Ancestor): boolean {
  return /^(?:npm (?:exec|x) |npx )/.test(command)
}

function readProcess(pid: number): Ancestor | undefined {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
    const [, ppid] = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))!
    return { ppid: Number(ppid), command }
  } catch {
    // Only Linux has /proc.
    const { stdout } = spawnSync('ps', ['-o', 'ppid=,command=', '-p', String(pid)], { encoding: 'latin1' })
    const [, ppid, command] = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '') ?? []
    return command === undefined ? undefined : { ppid: Number(ppid), command }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

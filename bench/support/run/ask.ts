import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Chart, Figure, Finding } from '../figures.ts'
import type { Scale } from '../scale.ts'
import { watchFamily } from './family-memory.ts'
import { titleOf } from './questions.ts'
import { type Answer, benchFolder } from './report.ts'

/** How long a question may take, in milliseconds, before the run goes on without it. */
const patience: Record<Scale, number> = {
  quick: 5 * 60_000,
  short: 8 * 60_000,
  usual: 12 * 60_000,
  full: 60 * 60_000,
}

export interface Asking {
  readonly scale: Scale
  readonly scratch: string
  /** Where what it prints goes. */
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
}

/** Asks one question in a process of its own; whatever happens to it, the run goes on. */
export async function ask(question: string, { scale, scratch, output, signal }: Asking): Promise<Answer> {
  const date = new Date().toISOString()
  const start = performance.now()
  const figures: Figure[] = []
  const charts: Chart[] = []
  let about = ''
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--max-old-space-size=8192', '--import', 'tsx', join(benchFolder, `${question}.ts`)],
    {
      stdio: ['ignore', output, process.stderr, 'ipc'],
      env: { ...process.env, BENCH_SCALE: scale, BENCH_SCRATCH: scratch },
      // A group of its own, so that all it started ends with it.
      detached: true,
    },
  )
  child.on('message', (finding: Finding) => {
    if ('figure' in finding) figures.push(finding.figure)
    else if ('chart' in finding) charts.push(finding.chart)
    else about = finding.about
  })
  const family = child.pid === undefined ? undefined : watchFamily(child.pid)
  const failed = await ending(child, patience[scale], signal)
  const memory = family?.stop()
  endGroup(child)
  const seconds = Math.round((performance.now() - start) / 1_000)
  return { question, title: titleOf(question), about, date, scale, seconds, memory, failed, figures, charts }
}

/** Waits for the end, and tells what was wrong with it. */
function ending(child: ChildProcess, patience: number, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(`It took more than ${patience / 60_000} minutes.`), patience)
    const stop = () => resolve('It was stopped.')
    signal.addEventListener('abort', stop, { once: true })
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => {
      resolve(
        code === 0 ? undefined : `It ended with ${signal ?? `exit code ${code}`}; what it printed says why.`,
      )
    })
    child.once('close', () => clearTimeout(late))
  })
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // All of it has ended already.
  }
}

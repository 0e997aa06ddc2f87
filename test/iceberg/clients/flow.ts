import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { IcebergServer } from './server.ts'

/** What a flow says about one of its steps. `detail` is what came out, or the error. */
export interface FlowStep {
  readonly step: string
  readonly ok: boolean
  readonly detail: string
}

export interface FlowOptions {
  readonly args?: readonly string[]
  readonly timeout?: number
  /** Of its environment. Those that are undefined are left out. */
  readonly variables?: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a flow, which is a script in Python of this folder, against a server, and returns its steps in their order. The
 * script prints a line of JSON for each. One that ends early, or is ended after so many milliseconds, has a last step
 * `end` that is not ok and tells what it wrote.
 */
export async function runFlow(
  python: string,
  script: string,
  { url, warehouse }: Pick<IcebergServer, 'url' | 'warehouse'>,
  { args = [], timeout = 600_000, variables = {} }: FlowOptions = {},
): Promise<FlowStep[]> {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const env = {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUNBUFFERED: '1',
    AWS_REGION: 'us-east-1',
    ...variables,
  }
  // DuckDB leaves an empty folder `data` where it runs.
  const child = spawn(python, [file, url, warehouse, ...args], {
    env,
    cwd: warehouse,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = (errors + text).slice(-5_000)
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), timeout)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  const steps = out.split('\n').flatMap(stepsOf)
  const end = `${script} ended with ${code ?? signal}: ${errors}`
  // A flow says that it is over, so that one that stops midway is not taken for a shorter one.
  if (code !== 0 || steps.at(-1)?.step !== 'end') steps.push({ step: 'end', ok: false, detail: end })
  return steps
}

/** A line may be that of a library. */
function stepsOf(line: string): FlowStep[] {
  try {
    const value = JSON.parse(line)
    return typeof value?.step === 'string' ? [value] : []
  } catch {
    return []
  }
}

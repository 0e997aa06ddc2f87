import { hostname } from 'node:os'
import { invalid } from '../base/errors.ts'
import { wallClock } from '../base/time.ts'

/** The levels, with the numbers that log tools expect. */
const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const

type Level = keyof typeof levels

type Fields = Readonly<Record<string, unknown>>

export interface Logger extends Log {
  info(fields: Fields, message: string): void
}

/** Logs JSON lines at the given level and above; `false` disables logging. */
export function logger(least: Level | false, write: (line: string) => void): Logger {
  if (least !== false && !Object.hasOwn(levels, least))
    throw invalid(`log must be ${Object.keys(levels).join(', ')} or false; it is ${String(least)}.`)
  const lowest = least === false ? Number.POSITIVE_INFINITY : levels[least]
  const about = { pid: process.pid, hostname: hostname() }
  const log = (level: Level) => (fields: Fields, msg: string) => {
    if (levels[level] < lowest) return
    const { err, ...rest } = fields
    const error = err === undefined ? {} : { err: describe(err) }
    write(
      `${JSON.stringify({ level: levels[level], time: wallClock(), ...about, ...error, ...rest, msg })}\n`,
    )
  }
  return { info: log('info'), error: log('error') }
}

/** The log fields of an error and its causes. */
function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const causes = causesOf(error)
  const { code } = error as { code?: unknown }
  return {
    type: error.constructor.name,
    message: causes.map(({ message }) => message).join(': '),
    stack: causes.map(({ stack }) => stack).join('\ncaused by: '),
    name: error.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
  }
}

function causesOf(error: Error): Error[] {
  const found: Error[] = []
  for (let next: unknown = error; next instanceof Error && !found.includes(next); next = next.cause)
    found.push(next)
  return found
}

/** The log for the operators of the server. */
export interface Log {
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

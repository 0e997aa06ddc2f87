#!/usr/bin/env node
import { packageVersion } from '../base/version.ts'
import { scripts } from './completion/scripts.ts'

/*
 * The command `tabularium`. The first interrupt stops the running command gracefully; a second one ends the process.
 */

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader of the output, such as `head`, has closed the pipe.
  if (code === 'EPIPE') process.exit(0)
  process.stderr.write(`tabularium: standard output cannot be written: ${message}\n`)
  process.exit(1)
})
// Nobody can be told, and the work goes on: a server outlives its log.
process.stderr.on('error', () => {})

const args = process.argv.slice(2)
const known = atOnce(args)
if (known === undefined) void run()
else process.stdout.write(known)

/**
 * The output of the command lines that only the program itself can answer, without loading the rest. Every shell runs
 * `completion` at its start.
 */
function atOnce([first, second, ...more]: readonly string[]): string | undefined {
  if (first === '--version' || first === '-V') return `${packageVersion()}\n`
  if (first !== 'completion' || second === undefined || more.length > 0) return undefined
  return Object.hasOwn(scripts, second) ? scripts[second as keyof typeof scripts] : undefined
}

async function run(): Promise<void> {
  // Until the command has ended: when nothing is left to wait for before that, it has failed.
  process.exitCode = 1
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort(new Error(`interrupted by ${signal}`)))
  }
  const { endSoon, exitCodes, main, whenNpxEnds } = await import('./main.ts')
  whenNpxEnds(process.env, () => stop.abort(new Error('interrupted, since npx has ended')))
  const { stdin, stdout, stderr, env } = process
  process.exitCode = await main(args, {
    stdin,
    stdout,
    stderr,
    env,
    version: packageVersion(),
    signal: stop.signal,
  })
  if (process.exitCode === exitCodes.interrupted) endSoon()
  // A shell waits for completions. A pending request to a server or database must not delay the exit.
  if (args[0] === '__complete') process.exit()
}

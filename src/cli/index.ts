#!/usr/bin/env node
import process from 'node:process'
import { packageVersion } from '../base/version.ts'
import { main } from './main.ts'
import { whenNpxEnds } from './npx.ts'

/*
 * The command `tabularium`. The first interrupt stops the running command gracefully; a second one ends the process.
 */

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error(`interrupted by ${signal}`)))
}

whenNpxEnds(process.env, () => stop.abort(new Error('interrupted, since npx has ended')))

// A reader of the output, such as `head`, has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const { stdin, stdout, stderr, env } = process
const version = packageVersion()
process.exitCode = await main(process.argv.slice(2), { stdin, stdout, stderr, env, version }, stop.signal)

// A shell waits for completions. A pending request to a server or database must not delay the exit.
if (process.argv[2] === '__complete') process.exit()

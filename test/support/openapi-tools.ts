import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

const run = promisify(execFile)

/* Third-party tools that read an OpenAPI document. Each set of releases has its own folder. */

const fuzzer = 'schemathesis==4.32.5'
const linter = '@stoplight/spectral-cli@6.16.3'

// Below the timeout for setting up a test.
const timeout = 230_000

async function tried(name: string, make: (folder: string) => Promise<void>, program: string) {
  try {
    return { program: `${await madeOnce(name, make)}/${program}` }
  } catch (error) {
    return `${name} cannot be set up: ${(error as Error).message.slice(0, 500)}`
  }
}

/** The path of schemathesis, which tests a server by its OpenAPI document; or the reason why there is none. */
export function schemathesis(): Promise<{ readonly program: string } | string> {
  const make = async (folder: string) => {
    await run('python3', ['-m', 'venv', '--clear', folder])
    const options = ['install', '--quiet', '--disable-pip-version-check', fuzzer]
    await run(`${folder}/bin/pip`, options, { timeout })
  }
  return tried(fuzzer.replace('==', '-'), make, 'bin/schemathesis')
}

/** The path of Spectral, which lints an OpenAPI document; or the reason why there is none. */
export function spectral(): Promise<{ readonly program: string } | string> {
  const make = async (folder: string) => {
    await run('mkdir', ['-p', folder])
    await writeFile(`${folder}/package.json`, '{ "private": true }')
    const options = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', linter]
    await run('npm', options, { timeout })
  }
  return tried(linter.replace(/^.*\//, '').replace('@', '-'), make, 'node_modules/.bin/spectral')
}

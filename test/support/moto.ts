import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/*
 * moto is a server in Python that speaks the protocol of S3. Its environment is made once, in `node_modules/.cache`, by
 * the first test that needs it, or by `node --import tsx test/support/moto.ts`.
 */

const run = promisify(execFile)

const release = '5.2.5'
const packages = [`moto[s3]==${release}`, 'flask>=3,<4', 'flask-cors>=6,<7']
const folder = fileURLToPath(new URL(`../../node_modules/.cache/moto-${release}`, import.meta.url))

// Its input ends with the process that started it, however that ends. It compares and writes in two steps, so that two
// writers at once may both be told that they made an object: requests are taken one by one.
const program = `
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
import moto.server
run, lock = moto.server.run_simple, threading.Lock()
def serve(host, port, app, **options):
    def one_by_one(environ, start):
        with lock:
            return list(app(environ, start))
    run(host, port, one_by_one, **options)
moto.server.run_simple = serve
moto.server.main(['-H', '127.0.0.1', '-p', sys.argv[1]])
`

/** A server that speaks S3. */
export interface S3Server {
  /** The URL of the service. */
  readonly url: string
}

let started: Promise<S3Server | string> | undefined

/** The server of this process. A text says why there is none. */
export function motoServer(): Promise<S3Server | string> {
  started ??= setUp().then(start, (error: Error) => `moto cannot be set up: ${error.message.slice(0, 500)}`)
  return started
}

/** Makes the environment, unless it is there. One process does it, and others wait. */
export async function setUp(): Promise<string> {
  const python = `${folder}/bin/python`
  const lock = `${folder}.lock`
  const isReady = () =>
    access(`${folder}/ready`).then(
      () => true,
      () => false,
    )
  for (;;) {
    if (await isReady()) return python
    await mkdir(fileURLToPath(new URL('../../node_modules/.cache', import.meta.url)), { recursive: true })
    const isMine = await mkdir(lock).then(
      () => true,
      () => false,
    )
    if (isMine) break
    const age = await stat(lock).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    )
    // The process that made it was killed.
    if (age > 300_000) await rm(lock, { recursive: true, force: true })
    await sleep(200)
  }
  try {
    if (await isReady()) return python
    await run('python3', ['-m', 'venv', '--clear', folder])
    await run(`${folder}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', ...packages], {
      timeout: 280_000,
    })
    await run(python, [
      '-c',
      'import moto.server, pathlib, sys; pathlib.Path(sys.argv[1]).touch()',
      `${folder}/ready`,
    ])
    return python
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

async function start(python: string): Promise<S3Server | string> {
  const port = await freePort()
  const child = spawn(python, ['-c', program, String(port)], { stdio: ['pipe', 'ignore', 'ignore'] })
  let ended: string | undefined
  child.on('exit', (code) => {
    ended = `moto ended with ${code}`
  })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  const url = `http://127.0.0.1:${port}`
  while (ended === undefined) {
    const answers = await fetch(`${url}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (answers) return { url }
    await sleep(50)
  }
  return ended
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setUp()

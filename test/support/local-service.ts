import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

/**
 * Starts a program that serves HTTP on a port, and waits until it responds. The program stops when its input ends, and
 * so with this process in any case. Resolves to a text with the reason if the program exits at once.
 */
export async function startService(
  name: string,
  command: (port: number) => readonly [program: string, ...args: string[]],
): Promise<{ readonly url: string } | string> {
  const port = await freePort()
  const [program, ...args] = command(port)
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'] })
  let ended: string | undefined
  child.on('error', (error) => {
    ended = `${name} cannot be started: ${error.message}`
  })
  child.on('exit', (code) => {
    ended = `${name} ended with ${code}`
  })
  child.unref()
  // The type does not know that the pipe is a socket.
  ;(child.stdin as unknown as { unref(): void }).unref()
  const url = `http://127.0.0.1:${port}`
  while (ended === undefined) {
    const answers = await fetch(url).then(
      () => true,
      () => false,
    )
    if (answers) return { url }
    await sleep(50)
  }
  return ended
}

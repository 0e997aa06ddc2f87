import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { Waits } from './waits.ts'

// It keeps all processors busy on purpose.
limitEach(60)

/** A server that blocks its thread during each response, and its client. */
async function stalling(how: 'asleep' | 'working', millis: number): Promise<{ pid: number; waits: Waits }> {
  const args = [scriptPath('test/soak/children/stall.ts'), how, String(millis)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  const waits = new Waits(child.pid!, `http://127.0.0.1:${Number(port)}`)
  onTestFinished(() => waits[Symbol.asyncDispose]())
  // The first request includes the thread's lazy imports.
  await waits.ask()
  return { pid: child.pid!, waits }
}

describe.skipIf(process.platform !== 'linux')('a wait of a request', () => {
  test('is held by a server that sleeps', async () => {
    const { waits } = await stalling('asleep', 500)
    const { heldMillis, ranMillis } = await waits.ask()
    expect(heldMillis).toBeGreaterThan(250)
    expect(ranMillis).toBeLessThan(250)
  })

  test('is held by a server that works, and its work is measured', async () => {
    const { waits } = await stalling('working', 500)
    const { heldMillis, workedMillis } = await waits.ask()
    expect(heldMillis).toBeGreaterThan(250)
    expect(workedMillis).toBeGreaterThan(250)
  })

  test('is not held by a server that gets no processor', async () => {
    const { pid, waits } = await stalling('working', 20)
    const spinner = spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' })
    onTestFinished(() => void spinner.kill('SIGKILL'))
    execFileSync('taskset', ['-cp', '0', String(pid)])
    setPriority(pid, 19)
    let wait = await waits.ask()
    // The other process needs a moment to start.
    while (wait.tookMillis < 500) wait = await waits.ask()
    expect(wait.heldMillis).toBeLessThan(wait.tookMillis / 2)
    expect(wait.ranMillis).toBeLessThan(wait.tookMillis / 2)
  })

  test('does not grow by what the thread of the caller does', async () => {
    const { waits } = await stalling('working', 0)
    const asked = waits.ask()
    const until = performance.now() + 500
    while (performance.now() < until);
    expect((await asked).heldMillis).toBeLessThan(250)
  })

  test('ends with an error when the server is gone', async () => {
    const { pid, waits } = await stalling('working', 0)
    process.kill(pid, 'SIGKILL')
    await expect(
      (async () => {
        for (;;) await waits.ask()
      })(),
    ).rejects.toThrow()
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { Child } from '../../processes/child-process.ts'
import { freePort } from '../../support/free-port.ts'

/** The command `serve` at a port of its own, in a process that is killed or paused at random moments. */
export class HurtServer {
  readonly counts = { kills: 0, pauses: 0 }
  readonly url: string
  readonly #args: readonly string[]
  #child!: Child
  /** Resolves when it answers. */
  ready!: Promise<unknown>

  private constructor(port: number, args: readonly string[]) {
    this.url = `http://127.0.0.1:${port}`
    this.#args = args
  }

  static async start(location: string, args: readonly string[] = []): Promise<HurtServer> {
    const port = await freePort()
    const options = ['--no-auth', '--port', String(port), '--log', 'error', ...args]
    const server = new HurtServer(port, ['serve', location, ...options])
    server.#begin()
    await server.ready
    return server
  }

  #begin(): void {
    this.#child = new Child('src/cli/index.ts', this.#args)
    this.ready = this.#child.answer()
    // Whoever kills it does not wait for it.
    this.ready.catch(() => {})
  }

  /** Kills it, and starts it again. */
  async kill(): Promise<void> {
    await this.#child.kill()
    this.counts.kills++
    this.#begin()
  }

  async pause(millis: number): Promise<void> {
    this.#child.pause()
    this.counts.pauses++
    await sleep(millis)
    this.#child.goOn()
  }

  stop(): void {
    this.#child.stop()
  }
}

/** How servers are hurt. */
export interface Hurt {
  /** The longest time between two. */
  readonly gap: number
  /** The share of pauses; the others are kills. */
  readonly pauses: number
}

/** Kills or pauses one of the servers at random moments, until the signal aborts. Then all of them answer. */
export async function hurt(
  servers: readonly HurtServer[],
  { gap, pauses }: Hurt,
  random: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(random() * gap)
    const server = servers[Math.floor(random() * servers.length)]!
    if (random() < pauses) await server.pause(random() * 2_000)
    else await server.kill()
    // Now and then it is killed while it opens the catalog.
    if (random() < 0.8) await server.ready
  }
  await Promise.all(servers.map(({ ready }) => ready))
}

import { once } from 'node:events'
import { request as ask, createServer, type Server } from 'node:http'
import { pipeline } from 'node:stream'

/** A round-robin load balancer: each request goes to the next server. */
export class RoundRobin implements AsyncDisposable {
  /** The servers, as URLs. */
  targets: readonly string[]
  readonly #server: Server
  #turn = 0

  private constructor(targets: readonly string[]) {
    this.targets = targets
    this.#server = createServer((request, response) => {
      const { hostname, port } = new URL(this.targets[this.#turn++ % this.targets.length]!)
      const { method, url, headers } = request
      const passed = ask({ hostname, port, method, path: url, headers: { ...headers, connection: 'close' } })
      passed.on('response', (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        pipeline(answer, response, () => {})
      })
      passed.on('error', () => response.destroy())
      response.on('close', () => passed.destroy())
      pipeline(request, passed, () => {})
    })
  }

  static async start(targets: readonly string[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(targets)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): `http://${string}` {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

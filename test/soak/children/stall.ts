import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that blocks its only thread during each response, by work or by sleep. */

const [, , how, millis] = process.argv as string[]
const asleep = new Int32Array(new SharedArrayBuffer(4))

function work(millis: number): void {
  const before = process.cpuUsage()
  for (;;) {
    const { user, system } = process.cpuUsage(before)
    if ((user + system) / 1e3 >= millis) return
  }
}

const server = createServer((_, response) => {
  if (how === 'asleep') Atomics.wait(asleep, 0, 0, Number(millis))
  else work(Number(millis))
  response.end()
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))

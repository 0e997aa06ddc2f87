import { UsageError } from '../usage.ts'

/** The default port of `tabularium serve`. */
const usualPort = 2333

const loopback = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d{1,5}))?\/?$/i
const anyHost = /^([a-z\d-]+(?:\.[a-z\d-]+)*|\[[\d:.a-f]+\]):(\d{1,5})\/?$/i

/**
 * The URL of an address without a scheme, such as `127.0.0.1:2333`; undefined for any other text. Throws for an address
 * of another machine: plain HTTP would send a token unencrypted.
 */
export function serverUrlOf(text: string): string | undefined {
  const [, host, port] = loopback.exec(text) ?? []
  if (host !== undefined) return `http://${host}:${checkedPort(text, port ?? String(usualPort))}`
  const [, other, itsPort] = anyHost.exec(text) ?? []
  if (other === undefined) return undefined
  checkedPort(text, itsPort!)
  const address = text.replace(/\/$/, '')
  throw new UsageError(
    `${address} is a server or a directory: write https://${address} or http://${address} for a server, and ./${address} for a directory`,
  )
}

/** Whether a text has the form of an address without a scheme. */
export function isAddress(text: string): boolean {
  return loopback.test(text) || anyHost.test(text)
}

function checkedPort(text: string, port: string): number {
  const number = Number(port)
  if (number >= 1 && number <= 65_535) return number
  throw new UsageError(`${text} has the port ${port}: a port is a number from 1 to 65535`)
}

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4 } from 'node:net'
import { invalid } from '../base/errors.ts'

/** Finds the address of the caller of a request. */
export type CallerAddress = (request: IncomingMessage) => string | undefined

/** The proxies whose `X-Forwarded-For` is trusted, as in Fastify's option of this name. */
export type TrustProxy = boolean | string | readonly string[] | number | undefined

const ranges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/** Makes the function that finds a caller's address; undefined when that is always the peer's. */
export function callerAddressOf(trust: TrustProxy): CallerAddress | undefined {
  // A number cannot distinguish proxies from callers: a caller could send that many forged addresses.
  if (!trust || typeof trust === 'number') return undefined
  const isTrusted =
    trust === true ? () => true : trustedBy(typeof trust === 'string' ? trust.split(',') : trust)
  return ({ socket, headers }) => {
    const forwarded = headers['x-forwarded-for']
    // Each proxy adds the address of its own caller at the end.
    const addresses = typeof forwarded === 'string' ? forwarded.split(',').reverse() : []
    let address = socket.remoteAddress
    for (const text of addresses) {
      const further = text.trim()
      if (further === '') continue
      if (address === undefined || !isTrusted(address)) break
      address = further
    }
    return address
  }
}

function trustedBy(given: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const item of given) {
    const text = item.trim()
    for (const range of Object.hasOwn(ranges, text) ? ranges[text]! : [text]) addRange(list, range)
  }
  return (address) => {
    const bare = withoutZone(address)
    return isIP(bare) !== 0 && list.check(bare, familyOf(bare))
  }
}

/** Adds an address, `address/bits` or `address/mask`. */
function addRange(list: BlockList, range: string): void {
  const [address = '', size, ...rest] = range.split('/')
  const isV4 = isIPv4(address)
  const bits = size === undefined ? (isV4 ? 32 : 128) : bitsOf(size, isV4)
  if (
    rest.length > 0 ||
    isIP(address) === 0 ||
    address.includes('%') ||
    !(bits >= 1 && bits <= (isV4 ? 32 : 128))
  ) {
    throw invalid(
      `trustProxy names ${JSON.stringify(range)}, which is not a range of addresses. Give addresses, ranges such as 10.0.0.0/8, or ${Object.keys(ranges).join(', ')}.`,
    )
  }
  list.addSubnet(address, bits, familyOf(address))
}

/** The number of fixed bits, from a number or from a mask such as 255.0.0.0; NaN for anything else. */
function bitsOf(size: string, isV4: boolean): number {
  if (/^\d+$/.test(size)) return Number(size)
  if (!isV4 || !isIPv4(size)) return Number.NaN
  const bits = size
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('')
  return /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : Number.NaN
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '')
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

import { existsSync } from 'node:fs'
import { Argument, type Command } from 'commander'
import type { Io } from './io.ts'
import { isUrl } from './open.ts'
import { accessOf, profileNamed } from './profiles/profile-file.ts'
import { UsageError } from './usage.ts'

const locations = new WeakSet<Argument>()

/** An argument that names a catalog. Its value is resolved before the command runs. */
export function locationArgument(name: string, description: string, byDefault?: string): Argument {
  const argument = new Argument(name, description)
  if (byDefault !== undefined) argument.default(byDefault)
  locations.add(argument)
  return argument
}

export function isLocation(argument: Argument | undefined): boolean {
  return argument !== undefined && locations.has(argument)
}

/** The location of a catalog, and the credentials of its profile. */
export interface ResolvedLocation {
  readonly location: string
  readonly token?: string | undefined
  readonly apiKey?: string | undefined
}

/**
 * Resolves a typed location: `@prod` is the profile of that name, and `127.0.0.1:2333` a server on this machine, unless
 * a directory has that name.
 */
export async function resolveLocation(text: string, io: Io): Promise<ResolvedLocation> {
  if (text.startsWith('@')) {
    const profile = await profileNamed(text.slice(1), io)
    return { location: profile.location, ...(await accessOf(profile, io)) }
  }
  if (/^(?:[a-z][a-z\d+.-]+:\/\/|memory:|file:)/i.test(text)) return { location: text }
  if (existsSync(text)) return { location: isAddress(text) ? `./${text}` : text }
  return { location: serverUrlOf(text) ?? text }
}

/**
 * Resolves the locations of a command that is about to run, in place. A profile's credentials override the environment,
 * which may be for any server. Typed credentials override both.
 */
export async function resolveLocations(command: Command, io: Io): Promise<void> {
  for (const [index, argument] of command.registeredArguments.entries()) {
    const typed: unknown = command.processedArgs[index]
    if (!isLocation(argument) || typeof typed !== 'string') continue
    const { location, ...access } = await resolveLocation(typed, io)
    command.processedArgs[index] = location
    if (!isUrl(location)) continue
    for (const [name, value] of Object.entries(access)) {
      if (value !== undefined && command.getOptionValueSource(name) !== 'cli')
        command.setOptionValueWithSource(name, value, 'profile')
    }
  }
}

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
function isAddress(text: string): boolean {
  return loopback.test(text) || anyHost.test(text)
}

function checkedPort(text: string, port: string): number {
  const number = Number(port)
  if (number >= 1 && number <= 65_535) return number
  throw new UsageError(`${text} has the port ${port}: a port is a number from 1 to 65535`)
}

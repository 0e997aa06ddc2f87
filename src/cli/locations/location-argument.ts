import { existsSync } from 'node:fs'
import { Argument, type Command } from 'commander'
import type { Io } from '../io.ts'
import { isUrl } from '../open.ts'
import { accessOf, profileNamed } from '../profiles/profiles.ts'
import { isAddress, serverUrlOf } from './server-address.ts'

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

import { resolve } from 'node:path'
import { Command } from 'commander'
import * as v from 'valibot'
import { isDatabaseUrl, shownLocation } from '../../base/model/location.ts'
import { type Io, readAll } from '../io.ts'
import { resolveLocation } from '../location-argument.ts'
import { isUrl } from '../open.ts'
import { addPrintOptions, type PrintOptions } from '../options.ts'
import { printerOf } from '../print.ts'
import { UsageError } from '../usage.ts'
import { type Profile, profileName, profilePath, readProfiles, writeProfiles } from './profile-file.ts'

interface Typed extends PrintOptions {
  readonly token?: string
  readonly tokenFile?: string
  readonly tokenEnv?: string
  readonly apiKey?: string
  readonly force?: boolean
}

const examples = `
Examples:
  $ tabularium profile add prod https://tables.example --token-env PROD_TOKEN
  $ tabularium profile add prod https://tables.example --token - < token.txt
  $ tabularium profile list
  $ tabularium list @prod
  $ tabularium -C prod list
  $ tabularium profile remove prod
`

/** The commands that manage profiles. None of them prints a token. */
export function profileCommand(io: Io): Command {
  const summary = 'Keep names for catalogs, with what it takes to get in.'
  return new Command('profile')
    .summary(summary)
    .description(
      `${summary} @NAME stands for the location of a profile in every command. They lie in ${profilePath(io)}.`,
    )
    .helpGroup('The command line:')
    .addHelpText('after', examples)
    .addCommand(addCommand(io))
    .addCommand(listCommand(io))
    .addCommand(removeCommand(io))
}

function addCommand(io: Io): Command {
  return addPrintOptions(
    new Command('add')
      .summary('Add a profile.')
      .description(
        'Add a profile. A token on the command line can be seen by other users: prefer the other ways.',
      )
      .argument('<name>', 'such as prod')
      .argument('<location>', 'directory of a catalog, or the URL of a database or of a server')
      .option('--token <token>', 'bearer token for the server; - reads it from standard input')
      .option('--token-file <file>', 'file that holds the token whenever it is needed')
      .option('--token-env <variable>', 'environment variable that holds the token whenever it is needed')
      .option('--api-key <key>', 'API key for the server')
      .option('--force', 'replace a profile of that name'),
  ).action(async (name: string, location: string, typed: Typed) => {
    const checked = v.safeParse(profileName, name)
    if (!checked.success) throw new UsageError(`${JSON.stringify(name)} ${checked.issues[0].message}`)
    const path = profilePath(io)
    const profiles = await readProfiles(path)
    if (Object.hasOwn(profiles, name) && !typed.force)
      throw new UsageError(`there is a profile ${name} already: --force replaces it`)
    const profile = await profileOf(location, typed, io)
    await writeProfiles(path, { ...profiles, [name]: profile })
    print(io, typed, [shown(name, profile)])
  })
}

async function profileOf(location: string, typed: Typed, io: Io): Promise<Profile> {
  if (location.startsWith('@'))
    throw new UsageError('a profile stands for a location, and not for another profile')
  const { location: understood } = await resolveLocation(location, io)
  const { token, tokenFile, tokenEnv, apiKey } = typed
  const tokens = [token, tokenFile, tokenEnv].filter((given) => given !== undefined)
  if (tokens.length > 1) throw new UsageError('give one of --token, --token-file and --token-env')
  if (!isUrl(understood) && (tokens.length > 0 || apiKey !== undefined))
    throw new UsageError('a token or a key is for the URL of a server: a directory or a database takes none')
  const secret = token === '-' ? new TextDecoder().decode(await readAll(io)).trim() : token
  if (secret === '') throw new UsageError('--token is empty')
  const isPath = !isUrl(understood) && !isDatabaseUrl(understood) && !/^(?:file:|memory:)/i.test(understood)
  return {
    location: isPath ? resolve(understood) : understood,
    ...(secret !== undefined && { token: secret }),
    ...(tokenFile !== undefined && { token_file: resolve(tokenFile) }),
    ...(tokenEnv !== undefined && { token_env: tokenEnv }),
    ...(apiKey !== undefined && { api_key: apiKey }),
  }
}

function listCommand(io: Io): Command {
  return addPrintOptions(
    new Command('list').summary('List the profiles.').description('List the profiles.'),
  ).action(async (typed: PrintOptions) => {
    const profiles = await readProfiles(profilePath(io))
    print(
      io,
      typed,
      Object.entries(profiles).map(([name, profile]) => shown(name, profile)),
    )
  })
}

function removeCommand(io: Io): Command {
  return addPrintOptions(
    new Command('remove')
      .alias('rm')
      .summary('Remove a profile.')
      .description('Remove a profile.')
      .argument('<name>'),
  ).action(async (name: string, typed: PrintOptions) => {
    const path = profilePath(io)
    const profiles = await readProfiles(path)
    if (!Object.hasOwn(profiles, name))
      throw new UsageError(
        `there is no profile ${JSON.stringify(name)} in ${path}; tabularium profile list shows which there are`,
      )
    const { [name]: removed, ...others } = profiles
    await writeProfiles(path, others)
    print(io, typed, [shown(name, removed!)])
  })
}

/** A profile without its secrets. */
function shown(name: string, { location, token, token_file, token_env, api_key }: Profile) {
  const kept = token === undefined ? undefined : 'kept in the profile'
  const from = token_file === undefined ? undefined : `file ${token_file}`
  return {
    profile: name,
    location: shownLocation(location),
    token: kept ?? from ?? (token_env === undefined ? null : `variable ${token_env}`),
    api_key: api_key === undefined ? null : 'kept in the profile',
  }
}

function print(io: Io, { json }: PrintOptions, rows: readonly Readonly<Record<string, unknown>>[]): void {
  const printer = printerOf(io, json)
  printer.rows(rows)
  printer.end()
}

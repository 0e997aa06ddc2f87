import { readFile, stat } from 'node:fs/promises'
import { nearest } from '../../base/model/nearest.ts'
import type { Io } from '../io.ts'
import { UsageError } from '../usage.ts'
import { type Profile, profilePath, readProfiles } from './profile-file.ts'

/** A profile with its name. */
export interface NamedProfile extends Profile {
  readonly name: string
}

/** The profile of a name. The error suggests a similar name, or how to add one. */
export async function profileNamed(name: string, io: Io): Promise<NamedProfile> {
  const path = profilePath(io)
  const profiles = await readProfiles(path)
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found !== undefined) return { name, ...found }
  const near = nearest(name, Object.keys(profiles))
  const next =
    near === undefined
      ? `tabularium profile add ${name || 'NAME'} LOCATION makes one`
      : `did you mean @${near}?`
  throw new UsageError(
    `there is no profile ${JSON.stringify(name)} in ${path}; ${next} (./@${name} is a directory of that name)`,
  )
}

const mostTokenBytes = 65_536

/** The credentials of a profile, read from its file or environment variable if it names one. */
export async function accessOf(
  { name, token, token_file, token_env, api_key }: NamedProfile,
  { env }: Io,
): Promise<{ token: string | undefined; apiKey: string | undefined }> {
  if (token_env !== undefined && !env[token_env])
    throw new UsageError(
      `the profile ${name} takes its token from the variable ${token_env}, which is not set`,
    )
  const given = token ?? (token_env === undefined ? undefined : env[token_env])
  return {
    token: token_file === undefined ? given : await tokenIn(token_file, `the profile ${name}`),
    apiKey: api_key,
  }
}

/** The token in a file, without whitespace around it. */
export async function tokenIn(path: string, whose: string): Promise<string> {
  const fail = (why: string) => new UsageError(`${whose} takes its token from the file ${path}, which ${why}`)
  try {
    const { size } = await stat(path)
    if (size > mostTokenBytes) throw fail(`has more than ${mostTokenBytes.toLocaleString('en')} bytes`)
    const token = (await readFile(path, 'utf8')).trim()
    if (token === '') throw fail('is empty')
    return token
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw fail(`cannot be read: ${(error as Error).message}`)
  }
}

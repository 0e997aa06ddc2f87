import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse } from 'lossless-json'
import * as v from 'valibot'
import { nearest } from '../../base/model/nearest.ts'
import type { Io } from '../io.ts'
import { UsageError } from '../usage.ts'

const filled = v.pipe(v.string('must be a text'), v.nonEmpty('is empty'))

export const profileName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "-" or "_"'),
)

/** A location with credentials. At most one of the tokens is set. */
const profile = v.pipe(
  v.strictObject({
    location: filled,
    token: v.optional(filled),
    token_file: v.optional(filled),
    token_env: v.optional(filled),
    api_key: v.optional(filled),
  }),
  v.check(
    ({ token, token_file, token_env }) =>
      [token, token_file, token_env].filter((given) => given !== undefined).length <= 1,
    'has more than one of token, token_file and token_env; keep one',
  ),
)

export type Profile = v.InferOutput<typeof profile>
export type Profiles = Readonly<Record<string, Profile>>

const maxProfiles = 1_000
const maxBytes = 262_144

const content = v.strictObject({
  profiles: v.pipe(
    v.record(profileName, profile),
    v.maxEntries(maxProfiles, `has more than ${maxProfiles} profiles`),
  ),
})

/** The path of the user's profiles, in the system's folder for settings. */
export function profilePath({ env }: Pick<Io, 'env'>, platform: NodeJS.Platform = process.platform): string {
  return join(settingsFolder(env, platform), 'tabularium', 'profiles.json')
}

function settingsFolder(env: Io['env'], platform: NodeJS.Platform): string {
  const home = env.HOME || homedir()
  if (env.XDG_CONFIG_HOME) return env.XDG_CONFIG_HOME
  if (platform === 'win32') return env.APPDATA || join(home, 'AppData', 'Roaming')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  return join(home, '.config')
}

/** The profiles of a file; none where there is no file. An error names the line and the correct form. */
export async function readProfiles(path: string): Promise<Profiles> {
  const text = await readBounded(path)
  if (text === undefined) return {}
  const parsed = v.safeParse(content, parseJsonFile(path, text))
  if (!parsed.success) throw invalidProfile(path, text, parsed.issues[0])
  const { profiles } = parsed.output
  if (Object.values(profiles).some(isSecret)) await refuseReadable(path)
  return profiles
}

async function readBounded(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UsageError(`the profiles cannot be read: ${error.message}`)
  })
  if (file === undefined) return undefined
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes)
      throw new UsageError(`${path} has more than ${maxBytes.toLocaleString('en')} bytes: remove profiles`)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

const parts = 'a profile has location, and may have token, token_file, token_env or api_key'
const form = '{"profiles":{"prod":{"location":"https://…"}}}'

/** The error for an invalid profile. It quotes no value, which may be secret. */
function invalidProfile(path: string, text: string, issue: v.BaseIssue<unknown>): UsageError {
  const names = issue.path?.map(({ key }) => String(key)) ?? []
  const where = names.length > 0 ? names.join('.') : 'the file'
  return new UsageError(`${path}:${lineOf(text, names)}: ${where} ${problemOf(issue, names.length < 3)}`)
}

function problemOf({ type, expected, received, message }: v.BaseIssue<unknown>, isOutside: boolean): string {
  const right = isOutside ? `write ${form}` : parts
  if (type === 'strict_object' && expected === 'never') return `is unknown; ${right}`
  if (type === 'strict_object' && received === 'undefined') return `is missing; ${right}`
  return message.startsWith('Invalid') ? `must be an object; ${right}` : message
}

/** Whether a profile holds a secret. */
function isSecret({ location, token, api_key }: Profile): boolean {
  return token !== undefined || api_key !== undefined || /:\/\/[^/]*:[^/]*@/.test(location)
}

async function refuseReadable(path: string): Promise<void> {
  // Windows has no such modes, and its folder is private to the user.
  if (process.platform === 'win32') return
  const { mode } = await stat(path)
  if ((mode & 0o077) === 0) return
  throw new UsageError(`${path} holds secrets, and other users can read it: run chmod 600 ${path}`)
}

/** Replaces the file atomically. Only its owner can read it. */
export async function writeProfiles(path: string, profiles: Profiles): Promise<void> {
  const text = `${JSON.stringify({ profiles }, null, 2)}\n`
  if (Buffer.byteLength(text) > maxBytes || Object.keys(profiles).length > maxProfiles)
    throw new UsageError(`${path} has no room for one more profile: remove others`)
  // Some users link their settings to another folder.
  const real = await realpath(path).catch(() => path)
  const draft = `${real}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(dirname(real), { recursive: true, mode: 0o700 })
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, real)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw new UsageError(`the profiles cannot be written: ${(error as Error).message}`)
  }
}

/** The value of a JSON file. The error names the line, but quotes no text, which may be secret. */
function parseJsonFile(path: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    const position = Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? text.length)
    const line = text.slice(0, position).split('\n').length
    throw new UsageError(
      `${path}:${line}: this is not JSON; write {"profiles":{"prod":{"location":"https://…"}}}, or mend the line`,
    )
  }
}

/** The line of a member in a JSON text, by its path; 1 where it is missing. */
export function lineOf(text: string, names: readonly string[]): number {
  let position = 0
  for (const name of names) {
    const found = text.indexOf(`${JSON.stringify(name)}`, position)
    if (found !== -1) position = found
  }
  return text.slice(0, position).split('\n').length
}

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

const maxTokenBytes = 65_536

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
    if (size > maxTokenBytes) throw fail(`has more than ${maxTokenBytes.toLocaleString('en')} bytes`)
    const token = (await readFile(path, 'utf8')).trim()
    if (token === '') throw fail('is empty')
    return token
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw fail(`cannot be read: ${(error as Error).message}`)
  }
}

import { randomBytes } from 'node:crypto'
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import type { Io } from '../io.ts'
import { UsageError } from '../usage.ts'
import { lineOf, parseJsonFile } from './json-lines.ts'

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

const mostProfiles = 1_000
const mostBytes = 262_144

const content = v.strictObject({
  profiles: v.pipe(
    v.record(profileName, profile),
    v.maxEntries(mostProfiles, `has more than ${mostProfiles} profiles`),
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
    const { bytesRead, buffer } = await file.read(Buffer.alloc(mostBytes + 1), 0, mostBytes + 1, 0)
    if (bytesRead > mostBytes)
      throw new UsageError(`${path} has more than ${mostBytes.toLocaleString('en')} bytes: remove profiles`)
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
  if (Buffer.byteLength(text) > mostBytes || Object.keys(profiles).length > mostProfiles)
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

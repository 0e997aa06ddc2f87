import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

interface Login {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * The password of a login in a password file, by the rules of PostgreSQL's own programs. Lines are
 * `host:port:database:user:password`, where `*` matches everything and a backslash escapes a colon. A file that others
 * may read is ignored, as there.
 */
export async function readPassword(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  login: Login,
): Promise<string | undefined> {
  const path = given || usualPath(env)
  let text: string
  try {
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      process.emitWarning(`The password file ${path} is ignored, as others may read it: chmod 600 ${path}`)
      return undefined
    }
    text = await readFile(path, 'utf8')
  } catch {
    return undefined
  }
  // The file may have localhost for the folder of a socket.
  const hosts = login.host.startsWith('/') ? [login.host, 'localhost'] : [login.host]
  const wanted = [hosts, [String(login.port)], [login.database], [login.user]]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = fieldsOf(line)
    if (
      fields.length === 5 &&
      wanted.every((values, i) => fields[i] === '*' || values.includes(fields[i]!))
    ) {
      return fields[4]
    }
  }
  return undefined
}

function usualPath(env: Readonly<Record<string, string | undefined>>): string {
  if (process.platform === 'win32') return join(env.APPDATA ?? homedir(), 'postgresql', 'pgpass.conf')
  return join(homedir(), '.pgpass')
}

/** The fields of a line; the last one may hold colons. */
function fieldsOf(line: string): readonly string[] {
  const fields = ['']
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ':' && fields.length < 5) fields.push('')
    else fields[fields.length - 1] += line[i] === '\\' && i + 1 < line.length ? line[++i]! : line[i]!
  }
  return fields
}

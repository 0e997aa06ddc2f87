import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { userInfo } from 'node:os'
import * as tls from 'node:tls'
import { CatalogError, invalid } from '../../base/errors.ts'
import { refuseDemands } from './environment.ts'
import { readPassword } from './password-file.ts'

/** What a connection needs, apart from the password. */
export interface Address {
  /** The host in the server's certificate and in the password file. */
  readonly host: string
  /** The host or address to connect to. The address differs from the host where `hostaddr` is given. */
  readonly target: string
  readonly port: number
  readonly user: string
  readonly database: string
  /** The schema of the catalog. */
  readonly schema: string
  /** The location for messages: without a user and without a password. */
  readonly label: string
  readonly ssl: false | { readonly [name: string]: unknown }
  readonly applicationName: string
  readonly connectMillis: number
  /** After this long without an answer, a connection counts as lost. */
  readonly answerMillis: number
  /** Whether the server must prove that the encrypted connection ends there. */
  readonly channelBinding: boolean
  readonly options: string | undefined
  /** Reads the password when a connection needs it. */
  password(): Promise<string | undefined>
}

type Environment = Readonly<Record<string, string | undefined>>

const schemes = /^postgres(?:ql)?:\/\//i

/** Whether a location is one of a database. */
export function isPostgresUrl(location: string): boolean {
  return schemes.test(location)
}

/** The supported parameters of a URL. */
const parameters = [
  'schema',
  'host',
  'hostaddr',
  'port',
  'user',
  'password',
  'passfile',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'channel_binding',
  'application_name',
  'connect_timeout',
  'options',
] as const

type Parameter = (typeof parameters)[number]

/** The default schema. */
const usualSchema = 'tabularium'

/** Longer than the database lets a statement wait for its turn and then run. */
const answerMillis = 75_000

/**
 * Reads a URL. Missing parts come from the environment, as in PostgreSQL's own programs. Errors never contain the URL:
 * it may have a password in it.
 */
export async function readAddress(url: string, env: Environment = process.env): Promise<Address> {
  refuseDemands(env)
  const parsed = parse(url)
  const given = parametersOf(parsed)
  const address = addressOf(given.get('hostaddr') ?? (env.PGHOSTADDR || undefined))
  const host = hostOf(given.get('host') ?? decode(parsed.hostname), env, address)
  const target = address ?? host
  const port = portOf(given.get('port') ?? (parsed.port || env.PGPORT || '5432'))
  const user = given.get('user') ?? (decode(parsed.username) || env.PGUSER || userInfo().username)
  const database = decode(parsed.pathname.slice(1)) || env.PGDATABASE || user
  const schema = given.get('schema') ?? usualSchema
  if (schema === '' || Buffer.byteLength(schema) > 63 || schema.includes('\0') || /^pg_/i.test(schema)) {
    throw invalid(
      'The parameter schema of the URL is no name for a schema. Give 1 to 63 bytes that do not begin with pg_.',
    )
  }
  const password = given.get('password') ?? (decode(parsed.password) || env.PGPASSWORD || undefined)
  const passfile = given.get('passfile') ?? env.PGPASSFILE
  const timeout = secondsOf(given.get('connect_timeout') ?? (env.PGCONNECT_TIMEOUT || '10'))
  return {
    host,
    target,
    port,
    user,
    database,
    schema,
    label: `the schema ${JSON.stringify(schema)} of the database ${JSON.stringify(database)} on ${host}:${port}${target === host ? '' : ` (${target})`}`,
    ssl: await sslOf(host, target, given, env),
    applicationName: given.get('application_name') ?? env.PGAPPNAME ?? 'tabularium',
    connectMillis: timeout > 0 ? timeout * 1000 : 10_000,
    answerMillis,
    channelBinding: isBound(given.get('channel_binding') ?? (env.PGCHANNELBINDING || 'prefer')),
    options: given.get('options') ?? env.PGOPTIONS,
    password: async () => password ?? (await readPassword(passfile, env, { host, port, database, user })),
  }
}

function parse(url: string): URL {
  const rest = url.replace(schemes, '')
  const authority = rest.split(/[/?]/, 1)[0]!
  if (/,/.test(authority.slice(authority.lastIndexOf('@') + 1))) {
    throw severalHosts()
  }
  // The parser requires a host in a URL with a user: add a placeholder, which is removed later.
  const addsHost = authority === '' || authority.endsWith('@')
  try {
    const parsed = new URL(
      `postgres://${addsHost ? authority + placeholder + rest.slice(authority.length) : rest}`,
    )
    if (parsed.hash === '') return parsed
  } catch {
    // The parser's error contains the URL.
  }
  throw invalid(
    'The URL of the database cannot be read. Write postgres://user@host:5432/database, with %40 for @, %2F for / and %23 for # in a user or password.',
  )
}

const placeholder = 'from-the-environment.invalid'

function parametersOf(parsed: URL): ReadonlyMap<Parameter, string> {
  const given = new Map<Parameter, string>()
  // Parsed here, since in PostgreSQL a plus is not a space, unlike in forms.
  for (const pair of parsed.search.slice(1).split('&')) {
    if (pair === '') continue
    const [name, value] = [pair.split('=', 1)[0]!, pair.slice(pair.indexOf('=') + 1)].map(decode) as [
      string,
      string,
    ]
    if (!pair.includes('=')) {
      throw invalid(
        `The parameter ${JSON.stringify(name)} of the URL of the database has no value. Write ${name}=value, or leave it out.`,
      )
    }
    if (!(parameters as readonly string[]).includes(name)) {
      throw invalid(
        `The URL of the database has the unknown parameter ${JSON.stringify(name)}. Known are ${parameters.join(', ')}.`,
      )
    }
    given.set(name as Parameter, value)
  }
  return given
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('The URL of the database holds a % that begins no escape. Write %25 for it.')
  }
}

function severalHosts(): CatalogError {
  return invalid('The URL of the database, or PGHOST, names several hosts. Name the primary server alone.')
}

function hostOf(given: string, env: Environment, address: string | undefined): string {
  const isLeftOut = given === '' || given === placeholder
  const named = isLeftOut ? env.PGHOST || address || 'localhost' : given
  const host = named.replace(/^\[(.+)\]$/, '$1')
  if (host.includes(',')) throw severalHosts()
  if (host.startsWith('/') || isHost(host)) return host
  throw invalid(
    `The host of the database is ${JSON.stringify(host)}, which no machine can have as its name or address. Check the URL, or PGHOST.`,
  )
}

/** Whether a resolver could find it. An unknown name may appear later; an impossible one cannot. */
function isHost(host: string): boolean {
  if (isIP(host) !== 0) return true
  const labels = host.replace(/\.$/, '').split('.')
  const isNumber = (label: string) => /^\d+$/.test(label)
  if (labels.length === 4 && labels.every(isNumber)) return false
  // The resolver decides about other alphabets and underscores.
  return host.length <= 254 && labels.every((label) => /^[^\s\p{Cc}:/@\\]{1,63}$/u.test(label))
}

/** The address to connect to, as in libpq: one IP address, and no name. */
function addressOf(given: string | undefined): string | undefined {
  if (given === undefined || isIP(given) !== 0) return given
  throw invalid(
    `hostaddr, or PGHOSTADDR, is ${JSON.stringify(given)}. Give one address, such as 10.0.0.1 or ::1, or leave it out.`,
  )
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw invalid(`The port of the database is ${JSON.stringify(text)}. Give a number from 1 to 65535.`)
}

function secondsOf(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && Number.isInteger(seconds)) return seconds
  throw invalid(`connect_timeout is ${JSON.stringify(text)}. Give a whole number of seconds.`)
}

function isBound(mode: string): boolean {
  if (['require', 'prefer', 'disable'].includes(mode)) return mode === 'require'
  throw invalid(`channel_binding is ${JSON.stringify(mode)}. Give require, prefer or disable.`)
}

/** Whether the connection stays on this machine: by a socket, or its loopback interface. */
function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\./.test(host)
}

/**
 * The TLS options. By default, a connection that leaves the machine is encrypted and the server's certificate is
 * verified. A mode that falls back to plain text would give no protection, and is refused.
 */
async function sslOf(
  host: string,
  target: string,
  given: ReadonlyMap<Parameter, string>,
  env: Environment,
): Promise<Address['ssl']> {
  const of = (name: Parameter, variable: string) => given.get(name) ?? (env[variable] || undefined)
  const root = of('sslrootcert', 'PGSSLROOTCERT')
  const isOfSystem = root === 'system'
  const mode =
    of('sslmode', 'PGSSLMODE') ??
    (isLocal(host) && isLocal(target) && !isOfSystem ? 'disable' : 'verify-full')
  if (isOfSystem && !['verify-full', 'require'].includes(mode)) {
    throw invalid(
      `sslmode is ${JSON.stringify(mode)}, and sslrootcert is system: anybody has a certificate of such an authority. Give sslmode=verify-full, or leave sslrootcert and PGSSLROOTCERT out.`,
    )
  }
  // The driver also reads this variable.
  const negotiation = env.PGSSLNEGOTIATION || 'postgres'
  if (negotiation !== 'postgres' && (negotiation !== 'direct' || mode === 'disable')) {
    throw invalid(
      `PGSSLNEGOTIATION is ${JSON.stringify(negotiation)}, and sslmode is ${mode}. Give direct with an encrypted connection, or unset it.`,
    )
  }
  if (mode === 'disable') return false
  if (!['no-verify', 'require', 'verify-ca', 'verify-full'].includes(mode)) {
    throw invalid(
      `sslmode is ${JSON.stringify(mode)}. Give verify-full, verify-ca, no-verify (encrypted, but anybody may answer) or disable.`,
    )
  }
  const ca = isOfSystem ? systemAuthorities() : await read('sslrootcert', root)
  const cert = await read('sslcert', of('sslcert', 'PGSSLCERT'))
  const key = await read('sslkey', of('sslkey', 'PGSSLKEY'))
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    rejectUnauthorized: mode !== 'no-verify',
    // The certificate names the host, even when the connection goes to an address.
    ...(target !== host && {
      ...(isIP(host) === 0 && { servername: host }),
      checkServerIdentity: identityOf(host),
    }),
    // verify-ca does not compare the name in the certificate.
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  }
}

function identityOf(host: string) {
  return (_: string, certificate: tls.PeerCertificate) => tls.checkServerIdentity(host, certificate)
}

/** The authorities that this machine trusts. Node has no way to list them before 22.15, and uses its own then. */
function systemAuthorities(): readonly string[] | undefined {
  const { getCACertificates } = tls as { getCACertificates?: (type: 'system') => readonly string[] }
  return getCACertificates?.('system')
}

async function read(name: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new CatalogError('InvalidInput', `${name}: the file ${JSON.stringify(path)} cannot be read.`, {
      cause,
    })
  }
}

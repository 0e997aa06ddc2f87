import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * moto issues credentials of roles, but does not enforce their policies. This proxy enforces the policies of sessions
 * that began through it. Other sessions may do everything, and invalid or expired credentials nothing.
 */

interface Statement {
  readonly Effect: 'Allow'
  readonly Action: string | readonly string[]
  readonly Resource: string
  readonly Condition?: { readonly StringLike: { readonly 's3:prefix': readonly string[] } }
}

interface Session {
  readonly statements: readonly Statement[]
  readonly token: string
  readonly secret: string
  until: number
}

/** A request of a session, and whether it was allowed. */
export interface Asked {
  readonly action: string
  readonly resource: string
  readonly isAllowed: boolean
}

export class RoleGate implements AsyncDisposable {
  /** The sessions that began, by the ids of their keys. */
  readonly sessions = new Map<string, Session>()
  /** The requests of sessions. */
  readonly asked: Asked[] = []
  /** Whether all new sessions are refused. */
  refusesSessions = false
  readonly #server
  readonly #behind: URL

  private constructor(behind: string) {
    this.#behind = new URL(behind)
    this.#server = createServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing).catch((error) => outgoing.writeHead(500).end(String(error)))
    })
  }

  static async start(behind: string): Promise<RoleGate> {
    const gate = new RoleGate(behind)
    gate.#server.listen(0, '127.0.0.1')
    await once(gate.#server, 'listening')
    return gate
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await read(incoming)
    const text = body.toString('latin1')
    const refusal =
      this.refusesSessions && text.includes('Action=AssumeRole')
        ? 'AccessDenied'
        : this.#refusalOf(incoming, text)
    if (refusal !== undefined) {
      outgoing.writeHead(403, { 'content-type': 'application/xml' })
      outgoing.end(`<Error><Code>${refusal}</Code><Message>no</Message></Error>`)
      return
    }
    const { method, url, headers } = incoming
    const { hostname, port } = this.#behind
    const passed = request({ hostname, port, method, path: url, headers }).end(body)
    const [answer] = (await once(passed, 'response')) as [IncomingMessage]
    const answered = await read(answer)
    this.#notice(new URLSearchParams(text), answered.toString('latin1'))
    outgoing.writeHead(answer.statusCode!, answer.headers).end(answered)
  }

  /** Remembers the policy of a session that begins. */
  #notice(asked: URLSearchParams, answer: string): void {
    if (asked.get('Action') !== 'AssumeRole') return
    const part = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(answer)![1]!
    this.sessions.set(part('AccessKeyId'), {
      statements: (JSON.parse(asked.get('Policy')!) as { Statement: Statement[] }).Statement,
      token: part('SessionToken'),
      secret: part('SecretAccessKey'),
      until: Date.parse(part('Expiration')),
    })
  }

  #refusalOf({ method, url, headers }: IncomingMessage, body: string): string | undefined {
    const session = this.sessions.get(/Credential=([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '')
    if (session === undefined) return undefined
    if (headers['x-amz-security-token'] !== session.token) return 'InvalidToken'
    if (session.until <= Date.now()) return 'ExpiredToken'
    const { pathname, searchParams } = new URL(url!, 'http://gate')
    const [bucket, ...names] = pathname.slice(1).split('/').map(decodeURIComponent)
    const key = names.join('/')
    const allowed = (action: string, key: string, prefix?: string) => {
      const resource = `arn:aws:s3:::${bucket}${key && `/${key}`}`
      const isAllowed = session.statements.some((statement) => allows(statement, action, resource, prefix))
      this.asked.push({ action, resource, isAllowed })
      return isAllowed
    }
    if (key !== '') return allowed(actionOf(method!, searchParams), key) ? undefined : 'AccessDenied'
    if (method === 'POST' && searchParams.has('delete')) {
      const keys = [...body.matchAll(/<Key>(.*?)<\/Key>/gs)].map(([, found]) => found!)
      return keys.every((one) => allowed('s3:DeleteObject', one)) ? undefined : 'AccessDenied'
    }
    const action = method === 'GET' ? 's3:ListBucket' : `s3:${method}Bucket`
    return allowed(action, '', searchParams.get('prefix') ?? '') ? undefined : 'AccessDenied'
  }
}

function actionOf(method: string, query: URLSearchParams): string {
  if (method === 'GET' || method === 'HEAD') return 's3:GetObject'
  if (method === 'DELETE') return query.has('uploadId') ? 's3:AbortMultipartUpload' : 's3:DeleteObject'
  return 's3:PutObject'
}

function allows(statement: Statement, action: string, resource: string, prefix: string | undefined): boolean {
  const { Action, Resource, Condition } = statement
  if (![Action].flat().includes(action) || !isLike(Resource, resource)) return false
  const prefixes = Condition?.StringLike['s3:prefix']
  return prefixes === undefined || prefixes.some((pattern) => isLike(pattern, prefix ?? ''))
}

/** Matches like policies: `*` and `?` are wildcards, `${*}` and `${?}` are literal, and `${$}` is a dollar. */
function isLike(pattern: string, text: string): boolean {
  const source = pattern.replace(/\$\{([*?$])\}|[*?]|[.+^${}()|[\]\\]/g, (found, escaped) => {
    if (escaped !== undefined) return `\\${escaped}`
    return found === '*' ? '.*' : found === '?' ? '.' : `\\${found}`
  })
  return new RegExp(`^${source}$`, 's').test(text)
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

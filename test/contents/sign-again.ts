import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** As AWS escapes text: also what `encodeURIComponent` leaves. */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Signs a request anew whose query or headers were changed on the way, as services compare signatures. It keeps what was
 * signed, apart from headers that are gone. The secret is that of the environment. A request without a signature of AWS
 * stays as it is.
 */
export function signAgain(method: string, url: URL, headers: IncomingHttpHeaders): void {
  const signature = /^AWS4-HMAC-SHA256 Credential=([^,]+), *SignedHeaders=([^,]+), *Signature=/.exec(
    headers.authorization ?? '',
  )
  if (signature === null) return
  const [, credential, list] = signature as unknown as [string, string, string]
  const names = list.split(';').filter((name) => headers[name] !== undefined)
  const query = [...url.searchParams].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const lines = names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const request = [
    ...[method, url.pathname, query.join('&'), lines.join(''), names.join(';')],
    headers['x-amz-content-sha256'],
  ].join('\n')
  const [, ...scope] = credential.split('/')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope.join('/'), hash(request)].join('\n')
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${process.env.AWS_SECRET_ACCESS_KEY}`)
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${createHmac('sha256', key).update(text).digest('hex')}`
}

import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Signs a request anew whose query or headers were changed on the way, as services compare signatures. It keeps what was
 * signed, apart from headers that are gone. The secrets are those of the environment. A request without a signature of
 * AWS or Azure stays as it is.
 */
export function signAgain(method: string, url: URL, headers: IncomingHttpHeaders): void {
  const given = headers.authorization ?? ''
  const aws = /^AWS4-HMAC-SHA256 Credential=([^,]+), *SignedHeaders=([^,]+), *Signature=/.exec(given)
  const azure = /^SharedKey ([^:]+):/.exec(given)
  if (aws) headers.authorization = signedForAws(method, url, headers, aws[1]!, aws[2]!.split(';'))
  if (azure) headers.authorization = signedForAzure(method, url, headers, azure[1]!)
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** As AWS escapes text: also what `encodeURIComponent` leaves. */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

function signedForAws(
  method: string,
  url: URL,
  headers: IncomingHttpHeaders,
  credential: string,
  signed: readonly string[],
): string {
  const names = signed.filter((name) => headers[name] !== undefined)
  const query = [...url.searchParams].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const lines = names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const request = [
    ...[method, url.pathname, query.join('&'), lines.join(''), names.join(';')],
    headers['x-amz-content-sha256'],
  ].join('\n')
  const [, ...scope] = credential.split('/')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope.join('/'), hash(request)].join('\n')
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${process.env.AWS_SECRET_ACCESS_KEY}`)
  const signature = hmac(key, text).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
}

/** Source: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key */
function signedForAzure(method: string, url: URL, headers: IncomingHttpHeaders, account: string): string {
  const fields = [
    ...['content-encoding', 'content-language', 'content-length', 'content-md5', 'content-type', 'date'],
    ...['if-modified-since', 'if-match', 'if-none-match', 'if-unmodified-since', 'range'],
  ].map((name) => (name === 'content-length' && headers[name] === '0' ? '' : (headers[name] ?? '')))
  const own = Object.keys(headers).filter((name) => name.startsWith('x-ms-'))
  const lines = own.sort().map((name) => `${name}:${headers[name]}`)
  const query = [...url.searchParams].map(([name, value]) => `${name.toLowerCase()}:${value}`).sort()
  const text = [method, ...fields, ...lines, `/${account}${url.pathname}`, ...query].join('\n')
  const key = Buffer.from(process.env.AZURE_STORAGE_KEY!, 'base64')
  return `SharedKey ${account}:${hmac(key, text).toString('base64')}`
}

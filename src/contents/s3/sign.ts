import { createHash } from 'node:crypto'
import type { S3Client } from '@aws-sdk/client-s3'
import type { RequestToSign, SignedRequest } from '../../base/content/signer.ts'
import { CatalogError, invalid, unsupported } from '../../base/errors.ts'
import { quote } from '../../base/model/identifier.ts'
import { wallClock } from '../../base/time.ts'
import { bucketTemplate, encodedKey, type Request, type RequestTemplate } from './request-template.ts'

/*
 * Signs requests of other programs, which so reach objects below one folder without credentials of their own. Only what
 * clients of tables send is signed: objects that are read, written, listed and removed. All else is refused, since a
 * signature has the rights of the catalog.
 */

/** What a query may hold, by method, for an object. */
const ofObjects: Readonly<Record<string, readonly string[]>> = {
  GET: ['x-id', 'partNumber', 'uploadId', 'part-number-marker', 'max-parts', 'versionId'],
  HEAD: ['x-id', 'partNumber', 'versionId'],
  PUT: ['x-id', 'partNumber', 'uploadId'],
  POST: ['x-id', 'uploads', 'uploadId'],
  DELETE: ['x-id', 'uploadId', 'versionId'],
}

const ofListings = [
  ...['x-id', 'list-type', 'prefix', 'delimiter', 'continuation-token', 'start-after', 'max-keys'],
  ...['encoding-type', 'fetch-owner', 'marker'],
]

/** Headers that give objects to others. */
const granting = /^x-amz-(acl|grant-.*)$/

/** Most bytes of a body that is checked. The service takes 1,000 keys at once. */
const mostBody = 4 << 20

/** Signs requests for objects of one bucket. */
export class RequestSigner {
  readonly #client: S3Client
  readonly #bucket: string
  #template: Promise<RequestTemplate | undefined> | undefined

  constructor(client: S3Client, bucket: string) {
    this.#client = client
    this.#bucket = bucket
  }

  /** Signs a request for objects whose keys begin with `prefix`, which ends in a slash. */
  async sign(prefix: string, asked: RequestToSign): Promise<SignedRequest> {
    this.#template ??= bucketTemplate(this.#client, this.#bucket)
    const template = await this.#template.catch((error: unknown) => {
      this.#template = undefined
      throw error
    })
    if (template === undefined)
      throw unsupported(
        `Requests for the bucket ${this.#bucket} are not signed: it is of a special kind.`,
        'Give clients credentials.',
      )
    const url = parsed(asked.url)
    const { key, path } = placeIn(url, template, this.#bucket)
    requireWithin({ bucket: this.#bucket, prefix }, key, url.searchParams, asked)
    return this.#signed(template, url, path, asked)
  }

  async #signed(
    { request, signer, scope }: RequestTemplate,
    url: URL,
    path: string,
    { method, headers: given, body }: RequestToSign,
  ): Promise<SignedRequest> {
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(given)) {
      const lower = name.toLowerCase()
      // Others may change on the way, so the signature does not hold them.
      if (/^(x-amz-(?!date$|security-token$|content-sha256$).*|content-md5)$/.test(lower))
        headers[lower] = value
    }
    headers.host = url.host
    headers['x-amz-content-sha256'] =
      body === undefined ? 'UNSIGNED-PAYLOAD' : createHash('sha256').update(body).digest('hex')
    const { systemClockOffset } = this.#client.config
    const query: Record<string, string | string[]> = {}
    for (const name of new Set(url.searchParams.keys())) query[name] = url.searchParams.getAll(name)
    const unsigned = { ...request, method, path, query, headers, hostname: url.hostname }
    const signingDate = new Date(wallClock() + systemClockOffset)
    const signed = await signer.sign(unsigned as Request, { ...scope, signingDate })
    return { url: url.href, headers: signed.headers }
  }
}

function parsed(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.username !== '' || url.password !== '' || url.hash !== '')
    throw invalid(`The uri ${quote(text)} is no plain URL of an object.`)
  // The service takes these as they are, while the URL resolves them.
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) throw invalid(`The uri ${quote(text)} has a segment of dots.`)
  return url
}

/**
 * The key that a URL names, empty for the bucket itself, and the path as the service signs it. Takes both styles of URLs.
 */
function placeIn(
  url: URL,
  { request, base }: RequestTemplate,
  bucket: string,
): { readonly key: string; readonly path: string } {
  const { protocol, hostname, port } = request
  // A default port is not part of a URL's host.
  const isDefault = port === undefined || port === (protocol === 'https:' ? 443 : 80)
  const host = isDefault ? hostname : `${hostname}:${port}`
  const styles = [{ host, base }]
  if (base === `/${bucket}/`) styles.push({ host: `${bucket}.${host}`, base: '/' })
  else if (base === '/' && host.startsWith(`${bucket}.`))
    styles.push({ host: host.slice(bucket.length + 1), base: `/${bucket}/` })
  const path = url.pathname
  for (const style of styles) {
    if (url.protocol !== protocol || url.host !== style.host) continue
    if (path === style.base.slice(0, -1)) return { key: '', path }
    if (!path.startsWith(style.base)) continue
    const key = decoded(path.slice(style.base.length))
    return { key, path: style.base + encodedKey(key) }
  }
  throw denied(`${url.origin}${path} is not in the bucket ${bucket}`)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch (cause) {
    throw invalid(`The path ${quote(path)} is not encoded as URLs are.`, { cause })
  }
}

function denied(why: string): CatalogError {
  return new CatalogError('PermissionDenied', `The request is not signed: ${why}.`)
}

interface Folder {
  readonly bucket: string
  readonly prefix: string
}

/** Refuses a request about anything but objects below a folder. */
function requireWithin(
  folder: Folder,
  key: string,
  query: URLSearchParams,
  { method, headers, body }: RequestToSign,
): void {
  const { prefix } = folder
  for (const [name, value] of Object.entries(headers)) {
    if (granting.test(name.toLowerCase())) throw denied(`the header ${name} gives objects to others`)
    if (name.toLowerCase() === 'x-amz-copy-source') requireSource(folder, value)
  }
  if (key !== '') {
    requireKnown(query, ofObjects[method], method)
    if (body !== undefined) throw denied('only requests that remove many objects have a body to check')
    if (!key.startsWith(prefix)) throw outside(key, prefix)
  } else if (method === 'GET') {
    requireKnown(query, ofListings, method)
    const listed = query.getAll('prefix')
    if (listed.length !== 1 || !listed[0]!.startsWith(prefix)) throw outside(listed.join(), prefix)
  } else {
    requireKnown(query, method === 'POST' && query.has('delete') ? ['delete', 'x-id'] : undefined, method)
    for (const removed of keysToRemove(body)) if (!removed.startsWith(prefix)) throw outside(removed, prefix)
  }
}

function requireKnown(query: URLSearchParams, known: readonly string[] | undefined, method: string): void {
  if (known === undefined) throw denied(`${method} is not a method of such requests`)
  for (const name of query.keys())
    if (!known.includes(name)) throw denied(`the parameter ${name} is not one of ${known.join(', ')}`)
}

/** A copy is made of an object below the same folder, in the same bucket. */
function requireSource({ bucket, prefix }: Folder, source: string): void {
  const path = decoded(source).replace(/^\//, '')
  const end = path.indexOf('/')
  const key = path.slice(end + 1).replace(/\?versionId=[\w.-]*$/, '')
  if (path.slice(0, end) !== bucket || !key.startsWith(prefix) || /(^|\/)\.\.?(\/|$)/.test(key))
    throw outside(path, prefix)
}

/** The keys in the body of a request that removes many objects. */
function keysToRemove(body: string | undefined): string[] {
  if (body === undefined) throw denied('a request that removes many objects needs its body')
  if (body.length > mostBody) throw invalid(`The body has more than ${mostBody} characters. Send fewer keys.`)
  if (/<!|<\?(?!xml )/.test(body)) throw invalid('The body has declarations. Send plain elements.')
  const keys = Array.from(body.matchAll(/<Key>([^<]*)<\/Key>/g), ([, text]) => unescaped(text!))
  const objects = body.match(/<(?:\w+:)?Object[\s>]/g)?.length ?? 0
  if (
    keys.length === 0 ||
    keys.length !== objects ||
    keys.length !== (body.match(/<(?:\w+:)?Key[\s>/]/g)?.length ?? 0)
  )
    throw invalid('The body names no keys, or some in a way that is not known.')
  return keys
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) {
      if (entities[name] === undefined) throw invalid(`The body has the unknown entity ${whole}.`)
      return entities[name]
    }
    const point = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16)
    if (point > 0x10ffff) throw invalid(`The body has the impossible character ${whole}.`)
    return String.fromCodePoint(point)
  })
}

function outside(key: string, prefix: string): CatalogError {
  return denied(`${quote(key)} does not lie below ${quote(prefix)}, the folder of the table`)
}

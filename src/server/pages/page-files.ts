import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Answer } from '../core/answer.ts'
import type { Exchange } from '../core/exchange.ts'

/**
 * A page may load only its own files, and send requests only to its own server. No other site may frame it, or
 * keep a reference to its window. With trusted types, the browser refuses to parse text as markup.
 */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'accept-encoding',
}

/** A file of a page, as it is sent. */
export interface File {
  readonly type: string
  readonly plain: Buffer
  readonly packed: Buffer
  readonly hash: string
}

/** A file of the build of the page. */
export async function readPageFile(name: string): Promise<Buffer> {
  const root = dirname(createRequire(import.meta.url).resolve('tabularium/package.json'))
  return readFile(join(root, 'dist/page', name))
}

export const compress = async (type: string, plain: Buffer): Promise<File> => ({
  type,
  plain,
  packed: await promisify(gzip)(plain, { level: 9 }),
  hash: createHash('sha256').update(plain).digest('base64url').slice(0, 16),
})

/** Sends a file, compressed where the caller takes that, or says that the caller has it. */
export function answerOf({ type, plain, packed, hash }: File, exchange: Exchange): Answer {
  const isPacked = acceptsGzip(exchange.headers['accept-encoding'])
  const etag = `"${hash}${isPacked ? '-gzip' : ''}"`
  const caching = {
    ...headers,
    etag,
    // A URL with the hash never changes. Others are revalidated each time, mostly with status 304.
    'cache-control': exchange.query === hash ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
  if (matchesEtag(exchange.headers['if-none-match'], etag)) return { status: 304, body: '', headers: caching }
  if (!isPacked) return { status: 200, type, body: plain, headers: caching }
  return { status: 200, type, body: packed, headers: { ...caching, 'content-encoding': 'gzip' } }
}

function acceptsGzip(accepted: string | readonly string[] = ''): boolean {
  return String(accepted)
    .split(',')
    .some((coding) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding))
}

function matchesEtag(given: string | undefined, etag: string): boolean {
  return given?.split(',').some((known) => known.trim().replace(/^W\//, '') === etag) ?? false
}

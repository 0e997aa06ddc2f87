import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Answer } from '../core/answer.ts'
import type { Exchange } from '../core/exchange.ts'

/** The server's settings for the page. It gets everything else by operations. */
export interface PageSettings {
  /** Whether it offers changes. */
  readonly editable: boolean
  /** Whether the server asks for a token. */
  readonly token: boolean
  /** The form of table listings. */
  readonly listing: 'recursive' | 'children'
}

/** The page's files, by their paths below the server's. */
export const pagePaths = { html: '', script: '/page/app.js', style: '/page/app.css' } as const

/**
 * The page may load only its own two files, and send requests only to its own server. No other site may frame it, or
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

interface File {
  readonly type: string
  readonly plain: Buffer
  readonly packed: Buffer
  readonly hash: string
}

export interface CatalogPage {
  answer(path: keyof typeof pagePaths, exchange: Exchange): Answer
}

/** Reads and compresses the files of the page, once for each server. */
export async function openCatalogPage(settings: PageSettings): Promise<CatalogPage> {
  const root = dirname(createRequire(import.meta.url).resolve('tabularium/package.json'))
  const read = (name: string) => readFile(join(root, 'dist/page', name))
  const [script, style] = await Promise.all([
    compress('text/javascript; charset=utf-8', await read('app.js')),
    compress('text/css; charset=utf-8', await read('app.css')),
  ])
  const template = await read('index.html')
  const html = template
    .toString()
    .replace('app.js', `app.js?${script.hash}`)
    .replace('app.css', `app.css?${style.hash}`)
    .replace('{settings}', JSON.stringify(settings).replaceAll('"', '&quot;'))
  const files = { html: await compress('text/html; charset=utf-8', Buffer.from(html)), script, style }
  return { answer: (path, exchange) => answerOf(files[path], exchange) }
}

const compress = async (type: string, plain: Buffer): Promise<File> => ({
  type,
  plain,
  packed: await promisify(gzip)(plain, { level: 9 }),
  hash: createHash('sha256').update(plain).digest('base64url').slice(0, 16),
})

function answerOf({ type, plain, packed, hash }: File, exchange: Exchange): Answer {
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

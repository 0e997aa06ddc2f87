import { once } from '../../base/once.ts'
import { type Answer, jsonUtf8 } from '../core/answer.ts'
import type { HttpContext } from '../core/context.ts'
import type { Exchange } from '../core/exchange.ts'
import type { HttpOptions } from '../options.ts'
import type { pagePaths } from './catalog-page.ts'

/** Answers GET requests of one path. */
export type Page = (exchange: Exchange) => Promise<Answer>

/** The pages by path: health, metrics, the description of the operations, and the web page of the catalog. */
export function pagesOf(context: HttpContext): ReadonlyMap<string, Page> {
  const { health = true, metrics = true, docs = true, page = true } = context.options
  return new Map([
    ...(health ? healthPages(context) : []),
    ...(metrics ? metricsPages(context, metrics === 'public') : []),
    ...(docs ? docsPages(context, page !== false) : []),
    ...(page ? catalogPages(context.options, page === 'editable') : []),
  ])
}

function healthPages({ readiness, options }: HttpContext): [string, Page][] {
  const { isCopy } = options.catalog as { readonly isCopy?: boolean }
  // A copy is ready, because it answers reads.
  const ready = isCopy ? '{"status":"ready","changes":"refused","reason":"copy"}' : '{"status":"ready"}'
  return [
    ['/healthz', async () => page(jsonUtf8, '{"status":"ok"}')],
    [
      '/readyz',
      async () => {
        await readiness.check()
        return page(jsonUtf8, ready)
      },
    ],
  ]
}

function metricsPages({ authenticate, metrics }: HttpContext, isPublic: boolean): [string, Page][] {
  return [
    [
      '/metrics',
      async (exchange) => {
        if (!isPublic) await authenticate(exchange)
        const { type, text } = await metrics.text()
        return page(type, text)
      },
    ],
  ]
}

/** The description of the operations, for machines and for people. The second has files of its own. */
function docsPages({ prefix, options }: HttpContext, hasPage: boolean): [string, Page][] {
  const document = once(async () =>
    (await import('./openapi.ts')).openApiDocument(prefix, options.auth === false, options),
  )
  const json = once(async () => JSON.stringify(await document()))
  const files = once(async () => {
    const { openDocsPage } = await import('./docs-page.ts')
    return openDocsPage(await document(), hasPage)
  })
  const file = (name: keyof typeof docsPaths) => async (exchange: Exchange) =>
    (await files()).answer(name, exchange)
  return [
    ['/openapi.json', async () => page(jsonUtf8, await json())],
    [docsPaths.html, file('html')],
    [docsPaths.script, file('script')],
    [docsPaths.style, file('style')],
  ]
}

/** The files of `/docs`, by their paths below the server's. */
const docsPaths = { html: '/docs', script: '/page/docs.js', style: '/page/docs.css' } as const

/** The web page of the catalog. Its files are read at the first request. */
function catalogPages({ auth, listing = 'recursive' }: HttpOptions, editable: boolean): [string, Page][] {
  const files = once(async () => {
    const { openCatalogPage } = await import('./catalog-page.ts')
    return openCatalogPage({ editable, token: auth !== false, listing })
  })
  const file = (name: keyof typeof pagePaths) => async (exchange: Exchange) =>
    (await files()).answer(name, exchange)
  return [
    ['', async (exchange) => redirectToFolder(exchange) ?? file('html')(exchange)],
    ['/page/app.js', file('script')],
    ['/page/app.css', file('style')],
  ]
}

/** The page uses relative URLs for its files and the operations. So its own path must end in a slash. */
function redirectToFolder({ path }: Exchange): Answer | undefined {
  if (path === '' || path.endsWith('/')) return undefined
  return { status: 308, body: '', headers: { location: `./${path.slice(path.lastIndexOf('/') + 1)}/` } }
}

function page(type: string, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: 200, type, body, headers: { 'x-content-type-options': 'nosniff', ...headers } }
}

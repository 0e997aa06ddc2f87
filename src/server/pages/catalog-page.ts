import type { Answer } from '../core/answer.ts'
import type { Exchange } from '../core/exchange.ts'
import { answerOf, compress, readPageFile } from './page-files.ts'

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

export interface CatalogPage {
  answer(path: keyof typeof pagePaths, exchange: Exchange): Answer
}

/** Reads and compresses the files of the page, once for each server. */
export async function openCatalogPage(settings: PageSettings): Promise<CatalogPage> {
  const [script, style] = await Promise.all([
    compress('text/javascript; charset=utf-8', await readPageFile('app.js')),
    compress('text/css; charset=utf-8', await readPageFile('app.css')),
  ])
  const template = await readPageFile('index.html')
  const html = template
    .toString()
    .replace('app.js', `app.js?${script.hash}`)
    .replace('app.css', `app.css?${style.hash}`)
    .replace('{settings}', JSON.stringify(settings).replaceAll('"', '&quot;'))
  const files = { html: await compress('text/html; charset=utf-8', Buffer.from(html)), script, style }
  return { answer: (path, exchange) => answerOf(files[path], exchange) }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const pages = fileURLToPath(new URL('../.pages', import.meta.url))
const index = readFileSync(join(pages, 'docs/index.md'), 'utf8')

export default defineConfig({
  title: 'Tabularium',
  description: 'An embeddable table catalog for TypeScript',
  srcDir: '.pages',
  cleanUrls: false,
  lastUpdated: false,
  markdown: { html: false, anchor: { slugify } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/docs/' },
      { text: 'Operations', link: '/docs/operations' },
      { text: 'Reference', link: '/api/' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: [
      ...['Guides', 'Reference'].map((title) => ({ text: title, items: linksBelow(title) })),
      { text: 'Exports', collapsed: true, items: entryPoints() },
    ],
  },
})

/** The links in the index of the pages, below a heading. So that index alone says which pages there are. */
function linksBelow(title) {
  const part = index.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? ''
  return [...part.matchAll(/\[([^\]]+)\]\(([^)#]+)\.md\)/g)].map(([, text, path]) => ({
    text: text[0].toUpperCase() + text.slice(1),
    link: `/docs/${path.replace(/index$/, '')}`,
  }))
}

function entryPoints() {
  const names = readdirSync(join(pages, 'api'), { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('/index.md'))
  return names.sort().map((name) => {
    const path = name.replace(/index\.md$/, '')
    return { text: path.replace(/\/$/, ''), link: `/api/${path}` }
  })
}

/** Headings are named as in the repository, so that links lead there, too. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { operations } from '../src/catalog/operations/index.ts'
import { limitEach } from './support/time-limit.ts'

// VitePress and TypeDoc make the site.
limitEach(240)

const root = fileURLToPath(new URL('..', import.meta.url))
const out = mkdtempSync(join(tmpdir(), 'tabularium-site-'))
afterAll(() => rmSync(out, { recursive: true, force: true }))

const lacking = lackingTools()

/** Why the tools that make the site are not there, if so. */
function lackingTools(): string | undefined {
  if (existsSync(join(root, 'docs/site/node_modules/vitepress'))) return undefined
  try {
    execFileSync('npm', ['ci', '--prefix', 'docs/site', '--no-audit', '--no-fund'], {
      cwd: root,
      stdio: 'pipe',
      timeout: 230_000,
    })
    return undefined
  } catch (error) {
    const { message } = error as Error
    // Only a registry out of reach excuses it. A list of packages that npm refuses is a fault of this repository.
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/.test(message)) throw error
    return message.slice(0, 300)
  }
}

const title = lacking === undefined ? 'the site' : `the site is not made: ${lacking}`

describe.skipIf(lacking !== undefined)(title, () => {
  test('has all pages, whose links lead to pages, and a reference of what is exported', () => {
    // A link that leads nowhere ends it.
    execFileSync(process.execPath, ['docs/site/build.js', out], { cwd: root, stdio: 'pipe' })
    const guides = readdirSync(join(root, 'docs')).filter(
      (name) => name.endsWith('.md') && name !== 'README.md',
    )
    const made = readdirSync(join(out, 'docs'))
    expect(made).toEqual(expect.arrayContaining(guides.map((name) => name.replace(/\.md$/, '.html'))))

    const catalog = readFileSync(join(out, 'api/tabularium/interfaces/Catalog.html'), 'utf8')
    for (const name of Object.keys(operations)) expect(catalog, name).toContain(`id="${name.toLowerCase()}"`)
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const [entry, { types }] of Object.entries(exports as Record<string, { types?: unknown }>)) {
      if (types !== undefined)
        expect(existsSync(join(out, 'api/tabularium', entry, 'index.html')), entry).toBe(true)
    }
  })

  test('finds words of every page', () => {
    const chunks = join(out, 'assets/chunks')
    const [index] = readdirSync(chunks).filter((name) => name.startsWith('@localSearchIndex'))
    const text = readFileSync(join(chunks, index!), 'utf8')
    for (const page of ['embed', 'serve', 'lance', 'upgrade']) expect(text).toContain(`/docs/${page}.html#`)
  })
})

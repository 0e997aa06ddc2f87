import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { contentSuite } from '../../src/testing/index.ts'
import { forNode } from '../support/bundle.ts'
import { freshFolder } from '../support/catalogs.ts'
import { folderOfRun } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { shelf } from './recipe/shelf.ts'

// The package is bundled, and loaded once more.
limitEach(60)

/*
 * How a content is added, by the recipe of CONTRIBUTING.md: one of a user's own, and a driver with its line in
 * src/contents/open.ts. The line is added to a copy of the sources.
 */

const rows = [{ x: 1 }, { x: 2 }]

describe('a content of a user', () => {
  contentSuite(
    { describe, test },
    async () => {
      const folder = await freshFolder()
      return { open: () => shelf(folder) }
    },
    { name: 'passes the suite', durable: true },
  )

  test('has the rows of a catalog', async () => {
    const content = shelf(await freshFolder())
    await using catalog = await openCatalog({ store: memoryStore(), content })
    await catalog.createTable({ id: ['t'], data: rows })
    await catalog.insertIntoTable({ id: ['t'], data: rows })
    await catalog.createTable({ id: ['gone'], data: rows })
    await catalog.dropTable({ id: ['gone'] })
    expect(await catalog.countTableRows({ id: ['t'], predicate: 'x > 1' })).toEqual({ count: 2 })
    await catalog.vacuum({ graceMillis: 0 })
    expect(await catalog.verify()).toMatchObject({ ok: true, problems: 0 })
  })
})

describe('a driver with a line of open.ts', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const withDriver: Plugin = {
    name: 'one more scheme',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]contents[\\/]open\.ts$/ }, async ({ path }) => {
        const line = `'made-up': {
          async open(url) {
            const { openMadeUp, parseMadeUpUrl } = await import('../../test/contents/recipe/made-up.ts')
            return { content: openMadeUp(url), root: parseMadeUpUrl(url).root }
          },
        },`
        const source = await readFile(path, 'utf8')
        return { contents: source.replace(/\n {2}file: \{\n/, `\n${line}$&`), loader: 'ts' }
      })
    },
  }
  let folder: string
  let built: Pick<typeof import('../../src/tabularium/index.ts'), 'openCatalog' | 'openContent'>

  beforeAll(async () => {
    // Within the package, so that its own package.json and the packages it depends on are found.
    folder = await mkdtemp(join(folderOfRun, 'recipe-'))
    const entry = join(root, 'src/tabularium/index.ts')
    await build({
      entryPoints: [entry],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      plugins: [withDriver],
      ...forNode,
    })
    built = await import(/* @vite-ignore */ pathToFileURL(join(folder, 'index.mjs')).href)
  })

  contentSuite(
    { describe, test },
    () => {
      const url = `made-up://${randomUUID()}/prefix`
      return { open: () => built.openContent(url) }
    },
    { name: 'passes the suite', durable: true },
  )

  test('has the rows of a catalog in a directory, which opens it again by its URL', async () => {
    const records = await freshFolder()
    {
      await using catalog = await built.openCatalog(records, { content: 'made-up://shelf/a' })
      const { location } = await catalog.createTable({ id: ['t'], data: rows })
      expect(location).toMatch(/^made-up:\/\/shelf\/a\/tables\//)
    }
    await using again = await built.openCatalog(records)
    expect(await again.countTableRows({ id: ['t'] })).toEqual({ count: 2 })
    await expect(built.openContent('other://x')).rejects.toThrow('begins with made-up:// or file://')
    await expect(built.openContent('made-up://shelf?x=1')).rejects.toThrow('It takes none.')
  })
})

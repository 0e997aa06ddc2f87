import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
import type { Content } from '../../src/base/content/content.ts'
import { InlineContent } from '../../src/catalog/locations/inline-objects.ts'
import { fileContent } from '../../src/contents/files/index.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from './catalogs.ts'

/** A fresh catalog with the content of its own root. */
export interface Opened {
  readonly catalog: LocalCatalog
  readonly content: Content
}

/** Like `eachCatalog`, for tests that read or modify the content directly. */
export function eachContent(tests: (open: (options?: CatalogOptions) => Promise<Opened>) => void): void {
  describe('on memory', () =>
    tests(async (options) => {
      const content = memoryContent()
      const catalog = await openCatalog({ ...options, store: memoryStore(), content })
      return { catalog: closedAfterwards(catalog), content }
    }))
  describe('on lmdb', () =>
    tests(async (options) => {
      const folder = await freshFolder()
      const catalog = closedAfterwards(await openCatalog(folder, options))
      const store = await openLmdbStore(folder)
      onTestFinished(() => store.close())
      return { catalog, content: new InlineContent(fileContent(folder), store) }
    }))
}

/**
 * A content that passes its calls on to another one, but for those that are replaced. Optional members, such as
 * `group`, are there only if `replaced` has them.
 */
export function contentWith(content: Content, replaced: Partial<Content> = {}): Content {
  return {
    put: (...given) => content.put(...given),
    get: (...given) => content.get(...given),
    list: (...given) => content.list(...given),
    remove: (...given) => content.remove(...given),
    ...replaced,
  }
}

/** The paths of all objects below a prefix, in order. */
export async function pathsOf(content: Content, prefix = 'tables/'): Promise<string[]> {
  const paths: string[] = []
  for await (const { path } of content.list(prefix)) paths.push(path)
  return paths.sort()
}

/** The path of a location below the catalog's own root, ending in a slash. */
export function pathOf(location: string): string {
  return `${location.slice(location.indexOf('tables/'))}/`
}

/** All files below a folder, by their path from there. */
export async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return found
    .filter((item) => !item.isDirectory())
    .map((item) => join(item.parentPath, item.name).slice(folder.length + 1))
    .sort()
}

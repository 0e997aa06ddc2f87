import { availableParallelism } from 'node:os'
import type { Content } from '../../base/content/content.ts'
import { isRemote } from '../../base/scheduling/merge-ranges.ts'
import type { CachedContent, ContentCache } from '../../contents/cache/index.ts'
import type { LanceEngine } from '../../engine/lance/index.ts'
import type { CacheUse, TableEngine } from '../../engine/table/index.ts'
import { InlineContent } from '../locations/inline-objects.ts'
import type { Core } from './core.ts'
import { isolationOptions, type LanceRunOptions } from './lance-options.ts'

/** The options of a catalog that are for its engines. */
export interface EngineOptions {
  readonly cacheBytes?: number
  readonly newId?: () => string
  readonly threads?: number
  readonly growthBytes?: number
  readonly lance?: LanceRunOptions
}

/** Makes the engine of a content when it is first asked for: catalogs that read no rows load none. */
export function engines(
  { cacheBytes, newId, threads, growthBytes = 512 * 1024 * 1024, lance: given }: EngineOptions,
  now: () => number,
  cache: ContentCache | undefined,
): Pick<Core, 'engine' | 'lance' | 'closeEngines' | 'cacheUse' | 'diskCacheUse' | 'lanceUse'> {
  const isolation = given && isolationOptions(given)
  const made = new Map<Content, Promise<TableEngine>>()
  let lance: Promise<LanceEngine> | undefined
  const lanceUse = { memoryBytes: 0, ended: { time: 0, memory: 0, abandoned: 0, crash: 0 } }
  const caches: CacheUse[] = []
  const onDisk: CachedContent['found'][] = []
  const make = async (given: Content) => {
    const [{ tableEngine, namesFrom }, content] = await Promise.all([
      import('../../engine/table/index.ts'),
      throughCache(given, cache, onDisk),
    ])
    const engine = tableEngine({
      content,
      cacheBytes,
      growthBytes,
      threads: threads ?? defaultThreads(),
      now,
      // Given ids make answers repeatable, and versions show the names of objects.
      newName: newId && namesFrom(now, newId),
    })
    caches.push(engine.cacheUse)
    return engine
  }
  return {
    engine(content) {
      let engine = made.get(content)
      if (engine === undefined) {
        engine = make(content)
        made.set(content, engine)
      }
      return engine
    },
    lance() {
      lance ??= import('../../engine/lance/index.ts').then(
        ({ LanceEngine }) =>
          new LanceEngine({ cacheBytes: cacheBytes ?? defaultLanceCache, isolation, use: lanceUse }),
      )
      return lance
    },
    cacheUse: () => {
      const sum = { bytes: 0, limit: 0, hits: 0, misses: 0 }
      for (const { bytes, limit, hits, misses } of caches) {
        sum.bytes += bytes
        sum.limit += limit
        sum.hits += hits
        sum.misses += misses
      }
      return sum
    },
    diskCacheUse: () =>
      cache && {
        hits: onDisk.reduce((sum, { hits }) => sum + hits, 0),
        misses: onDisk.reduce((sum, { misses }) => sum + misses, 0),
      },
    lanceUse: () => isolation && { memoryBytes: lanceUse.memoryBytes, ended: { ...lanceUse.ended } },
    async closeEngines() {
      await Promise.all(Array.from(made.values(), async (engine) => (await engine).close()))
      await (await lance)?.close()
    },
  }
}

/** A content as engines read it: engines give each object a name that is never used again. */
async function throughCache(
  content: Content,
  cache: ContentCache | undefined,
  found: CachedContent['found'][],
): Promise<Content> {
  if (cache === undefined || !isRemote(content)) return content
  // Inline objects are in the store.
  if (content instanceof InlineContent) return content.over(await throughCache(content.below, cache, found))
  const { cachedContent } = await import('../../contents/cache/index.ts')
  // A catalog may have several contents.
  const owner = `${cache.owner} ${content.url?.replace(/[?#].*$/s, '')}`
  // If the folder was removed since, rows are read without a cache.
  const cached = await cachedContent(content, { ...cache, owner }).catch(() => undefined)
  if (cached === undefined) return content
  found.push(cached.found)
  return cached
}

/** Bytes that Lance keeps of its indexes; it would take 6 GiB by itself. */
const defaultLanceCache = 256 * 1024 * 1024

function defaultThreads(): number {
  const processors = availableParallelism()
  return processors > 1 ? Math.min(processors, 4) : 0
}

import { memoryContent } from '../../../src/contents/memory/index.ts'
import type { Content } from '../../../src/tabularium/index.ts'
import type { ContentPlace } from '../../../src/testing/suites/content/trial.ts'
import { contentWith } from '../../support/contents.ts'

function broken(replace: (real: Content) => Partial<Content>, real: Content = memoryContent()): Content {
  const sound = contentWith(real)
  return { ...sound, ...replace(sound) }
}

const place = (open: () => Content): (() => ContentPlace) => {
  return () => ({ open })
}

const joined = (bytes: Uint8Array | readonly Uint8Array[]) =>
  bytes instanceof Uint8Array ? bytes : Buffer.concat(bytes as Uint8Array[])

/** Contents each broken in one way, with the case that must notice. */
export const brokenContents: readonly (readonly [name: string, rule: string, make: () => ContentPlace])[] = [
  [
    'replaces what is there',
    'content.taken',
    place(() =>
      broken((real) => ({
        put: async (path, bytes) => {
          await real.remove(path)
          await real.put(path, bytes)
        },
      })),
    ),
  ],
  [
    'replaces what is there, in a group',
    'content.group',
    place(() =>
      broken((real) => ({
        group: () => ({
          put: async (path, bytes) => {
            await real.remove(path)
            await real.put(path, bytes)
          },
          sync: async () => {},
        }),
      })),
    ),
  ],
  [
    'shows the objects of a group only when it syncs',
    'content.group',
    place(() =>
      broken((real) => ({
        group: () => {
          const puts: (() => Promise<void>)[] = []
          return {
            put: async (path, bytes) => {
              puts.push(() => real.put(path, bytes))
            },
            sync: async () => {
              for (const put of puts.splice(0)) await put()
            },
          }
        },
      })),
    ),
  ],
  [
    'lets two win who put the same path',
    'content.one-wins',
    place(() => broken((real) => ({ put: (path, bytes) => real.put(path, bytes).catch(() => {}) }))),
  ],
  [
    'takes the caller’s bytes for its own',
    'content.own-bytes',
    place(() => {
      const kept = new Map<string, Uint8Array>()
      return broken((real) => ({
        put: async (path, bytes) => {
          if (bytes instanceof Uint8Array) kept.set(path, bytes)
          await real.put(path, bytes)
        },
        get: async (path, range) => (range ? undefined : kept.get(path)) ?? real.get(path, range),
      }))
    }),
  ],
  [
    'takes the end of a range for its length',
    'content.range',
    place(() =>
      broken((real) => ({
        get: (path, range) => real.get(path, range && { start: range.start, end: range.start + range.end }),
      })),
    ),
  ],
  [
    'gives the first part of an object only',
    'content.object',
    place(() =>
      broken((real) => ({
        put: (path, bytes) => real.put(path, bytes instanceof Uint8Array ? bytes : bytes.slice(0, 1)),
      })),
    ),
  ],
  [
    'lists neighbours whose path begins alike',
    'content.list',
    place(() =>
      broken((real) => ({
        list: async function* (prefix) {
          await real.list(prefix)[Symbol.asyncIterator]().next()
          for await (const found of real.list('')) if (found.path.startsWith(prefix.slice(0, -1))) yield found
        },
      })),
    ),
  ],
  [
    'removes one object where it should remove all below',
    'content.remove',
    place(() =>
      broken((real) => ({
        remove: async (path) => {
          if (!path.endsWith('/')) return real.remove(path)
          for await (const found of real.list(path)) return real.remove(found.path)
        },
      })),
    ),
  ],
  [
    'follows dots out of its root',
    'content.path-refused',
    place(() =>
      broken((real) => ({ get: (path) => real.get(path.replaceAll('..', 'a').replaceAll('//', '/')) })),
    ),
  ],
  [
    'shows an object before it is whole',
    'content.whole',
    place(() =>
      broken((real) => ({
        put: async (path, bytes) => {
          const whole = joined(bytes)
          await real.put(path, whole.subarray(0, whole.length / 2))
          await new Promise((resolve) => setImmediate(resolve))
          await real.remove(path)
          await real.put(path, whole)
        },
      })),
    ),
  ],
  [
    'loses its last object when it is opened again',
    'content.reopened',
    () => {
      const live = memoryContent()
      let opened = 0
      return {
        open: async () => {
          if (opened++) await live.remove('t/0/18')
          return broken(() => ({}), live)
        },
      }
    },
  ],
]

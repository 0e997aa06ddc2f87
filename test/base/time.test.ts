import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/*
 * Fake timers of a test suite must not reach what waits in here, so src/base/time.ts is the only one that takes timers and
 * clocks of the runtime.
 */

const source = new URL('../../src/', import.meta.url).pathname

/** Those that do so for a reason. */
const allowed: Readonly<Record<string, string>> = {
  'base/time.ts': 'is the place',
  'web/': 'stands in for the modules of Node',
  'page/': 'is a program of its own in a browser',
  'testing/fake/clock.ts':
    'a delay in milliseconds is of the timers of the test suite, as docs/testing.md says',
}

const timers = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'queueMicrotask',
  'performance',
]

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .filter((file) => !Object.keys(allowed).some((path) => file === path || file.startsWith(path)))

it.each(['a timer', 'a clock'])('no other file takes %s of the runtime', (what) => {
  expect(files.length).toBeGreaterThan(400)
  const found = files.flatMap((file) => {
    const text = readFileSync(join(source, file), 'utf8')
    const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    const imported = /import \{([^}]*)\} from '[^']*\/time\.ts'/.exec(code)?.[1] ?? ''
    const bad =
      what === 'a clock'
        ? [/\bDate\.now\b/, /\bnew Date\(\)/, /\bDate\(\)/]
        : [
            /from 'node:timers/,
            /\bnextTick\b/,
            /globalThis\.set(Timeout|Interval|Immediate)/,
            ...timers
              .filter((name) => !new RegExp(`\\b${name}\\b`).test(imported))
              .map((name) => new RegExp(`(?<![.\\w\`])${name}(?:\\(|\\.now)`)),
          ]
    return bad.filter((pattern) => pattern.test(code)).map((pattern) => `${file}: ${pattern.source}`)
  })
  expect(found).toEqual([])
})

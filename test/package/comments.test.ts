import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { expect, test } from 'vitest'
import { limitEach } from '../support/time-limit.ts'

// It parses the larger sources of two packages.
limitEach(60)

/* Bundles lose comments about members, and nothing else. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const { withoutComments } = (await import(`${root}build/comments.js`)) as {
  withoutComments(code: string): string
}

test('what looks like a comment stays, and so do licenses', () => {
  const stays = [
    'const text = `\n  /** in a text */\n\n/** behind it */\n`\n',
    'const pattern = /[/**]/\n/*! a license */\nf()\n',
    '/** @license MIT */\nf()\n',
    'f(/** beside code */ 1) // at the end of a line\n',
  ]
  for (const code of stays) expect(withoutComments(code)).toBe(code)
  expect(withoutComments(stays.join('/** Goes.\n * All of it. */\n'))).toBe(stays.join(''))
})

test.each(['node_modules/valibot/dist', 'node_modules/@uwdata/flechette/src'])(
  'the code of %s is the same',
  (folder) => {
    const names = readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    const codes = names
      .filter((name) => /\.m?js$/.test(name))
      .map((name) => readFileSync(`${root}${folder}/${name}`, 'utf8'))
    const minified = (code: string) => transformSync(code, { minify: true, legalComments: 'inline' }).code
    const left = codes.map(withoutComments)
    expect(left.map(minified)).toEqual(codes.map(minified))
    expect(left.join('').length).toBeLessThan(codes.join('').length)
  },
)

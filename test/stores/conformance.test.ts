import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { storeSuite } from '../../src/testing/suites/store-suite.ts'
import { lmdbPlace, memoryPlace } from './places.ts'

storeSuite({ describe, test }, memoryPlace, { name: 'the memory store' })
storeSuite({ describe, test }, lmdbPlace, { name: 'the LMDB store', histories: 20 })

test('every store and content of the package is judged by its suite', () => {
  const root = new URL('../../', import.meta.url)
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { exports: object }
  const toAdd = Object.keys(exports).flatMap((entry) => {
    const [, kind, name] = /^\.\/(backends|content)\/(\w+)$/.exec(entry) ?? []
    if (name === undefined) return []
    const [folder, suite] =
      kind === 'backends' ? ['test/stores', 'storeSuite'] : ['test/contents', 'contentSuite']
    const tests = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => readFileSync(new URL(`${folder}/${file}`, root), 'utf8'))
    // The suite of a service of object storage runs that of contents, too.
    const suites = new RegExp(`\\b(${suite}|bucketSuite)\\(`)
    const isJudged = tests.some((text) => suites.test(text) && new RegExp(name, 'i').test(text))
    return isJudged
      ? []
      : [`${folder}/conformance.test.ts: ${suite}({ describe, test }, place, …) for ${entry}`]
  })
  expect(toAdd).toEqual([])
})

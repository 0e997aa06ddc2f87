import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import type { ContentPlace } from '../../../src/testing/suites/content/trial.ts'
import { contentSuite } from '../../../src/testing/suites/content-suite.ts'
import { brokenContents } from './contents.ts'
import { collect, failureOf } from './run-cases.ts'

const casesOf = (place: () => ContentPlace, durable = true) =>
  collect((runner) => contentSuite(runner, place, { durable }))
const sound = casesOf(() => ({ open: memoryContent }), false)

describe('the suite of contents notices a content that', () => {
  test.each(brokenContents)('%s, by %s', async (_name, rule, place) => {
    expect(await failureOf(sound, rule)).toBeUndefined()
    expect(await failureOf(casesOf(place), rule)).toContain(`${rule} (`)
  })
})

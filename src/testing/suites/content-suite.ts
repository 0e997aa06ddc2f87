import type { Content } from '../../content/content.ts'
import { lasting } from './content/lasting.ts'
import { objects } from './content/objects.ts'
import { pathRules } from './content/paths.ts'
import type { ContentTrial } from './content/trial.ts'
import { type Runner, register } from './suite.ts'

/** Somewhere contents can be opened: contents of one place share their objects if they are durable. */
export interface ContentPlace {
  open(): Content | Promise<Content>
  /** Called after each case. */
  dispose?(): void | Promise<void>
}

export interface ContentSuiteOptions {
  /** What the group of cases is called. Default: `the content`. */
  readonly name?: string
  /** Whether what was put must be there when the place is opened again. Default: false. */
  readonly durable?: boolean
}

export const contentTopics = [objects, pathRules, lasting] as const

/**
 * Registers the cases every {@link Content} must pass. Each opens an empty content in a place of its own.
 *
 * ```ts
 * contentSuite({ describe, test }, () => ({ open: () => myContent() }), { durable: true })
 * ```
 */
export function contentSuite(
  runner: Runner,
  place: () => ContentPlace | Promise<ContentPlace>,
  options: ContentSuiteOptions = {},
): void {
  const { name = 'the content', durable = false } = options
  register<ContentTrial>(runner, name, contentTopics, async (body) => {
    const own = await place()
    try {
      await body({ content: await own.open(), place: own, durable })
    } finally {
      await own.dispose?.()
    }
  })
}

import type { Content } from '../../content/content.ts'
import { lasting } from './content/lasting.ts'
import { objects } from './content/objects.ts'
import { pathRules } from './content/paths.ts'
import type { ContentTrial } from './content/trial.ts'
import { type Runner, register } from './suite.ts'

/** A place where contents can be opened. Durable contents of one place share their objects. */
export interface ContentPlace {
  open(): Content | Promise<Content>
  /** Called after each case. */
  dispose?(): void | Promise<void>
}

export interface ContentSuiteOptions {
  /** The name of the group of cases. Default: `the content`. */
  readonly name?: string
  /** Whether objects must still exist when the place is opened again. Default: false. */
  readonly durable?: boolean
}

export const contentTopics = [objects, pathRules, lasting] as const

/**
 * Registers the cases that every {@link Content} must pass. Each case opens an empty content in its own place.
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

import assert from 'node:assert/strict'
import type { Content } from '../../../base/content/content.ts'

/** The context of a case of the content suite: an empty content in its own place. */
export interface ContentTrial {
  readonly content: Content
  readonly place: ContentPlace
  readonly durable: boolean
}

export function bytesOf(value: string): Uint8Array {
  return new TextEncoder().encode(value)
}

/** The object at a path, as text. */
export async function text(
  content: Content,
  path: string,
  range?: { start: number; end: number },
): Promise<string> {
  const bytes = await content.get(path, range)
  assert.ok(bytes, `there is nothing at ${path}`)
  return new TextDecoder().decode(bytes)
}

/** The paths of all objects below a prefix, in order. */
export async function paths(content: Content, prefix: string): Promise<string[]> {
  const found: string[] = []
  for await (const { path } of content.list(prefix)) found.push(path)
  return found.sort()
}

/** A place where contents can be opened. Durable contents of one place share their objects. */
export interface ContentPlace {
  open(): Content | Promise<Content>
  /** Called after each case. */
  dispose?(): void | Promise<void>
}

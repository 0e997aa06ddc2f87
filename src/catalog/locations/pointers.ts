import type { Content } from '../../base/content/content.ts'
import { contentFolderOf, normalLocation, type Roots } from './locations.ts'

/*
 * A version of a format that the catalog does not read points at a file by its URL, wherever the table lies. The file
 * names others by their URLs, too. So neither can move, and a copy of the records points at the same files.
 */

/** Whether the path of a version's file is a URL, or an absolute path. */
export function isPointer(path: string): boolean {
  return path.startsWith('/') || /^[a-z][a-z0-9+.-]+:/i.test(path)
}

/** An object by its path in a content. */
export interface ContentObject {
  readonly content: Content
  readonly path: string
}

/** The object with a URL; undefined when the URL names no object, or one out of reach. */
export function objectAt({ contentRoots }: Roots, url: string): ContentObject | undefined {
  const at = url.lastIndexOf('/')
  const name = url.slice(at + 1)
  if (name === '' || name === '.' || name === '..') return undefined
  const folder = contentFolderOf(contentRoots, normalLocation(url.slice(0, at))!)
  return folder && { content: folder.content, path: folder.prefix + name }
}

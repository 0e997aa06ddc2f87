import { readSync } from 'node:fs'
import { type Meta, number64, pageFlags, readNodes, type TreeMeta } from './page.ts'

/**
 * The most pages of each tree that are checked. They include all pages of a small store, and those of a large one that
 * every access begins with. Reading them takes less than a millisecond.
 */
const mostPages = 64

/** What is wrong with the upper pages of the two trees of a data file; undefined when nothing is. */
export function topPagesFault(file: number, meta: Meta): string | undefined {
  return treeFault(file, meta, meta.main) ?? treeFault(file, meta, meta.free)
}

function treeFault(file: number, meta: Meta, { root, depth }: TreeMeta): string | undefined {
  if ((root === undefined) !== (depth === 0) || depth > 32) return 'has a tree of a wrong depth'
  if (root === undefined) return undefined
  const page = Buffer.alloc(meta.pageSize)
  const pending = [{ at: root, level: 1 }]
  for (let checked = 0; checked < mostPages && pending.length > 0; checked++) {
    const { at, level } = pending.shift()!
    if (!(at >= 2 && at <= meta.lastPage)) return `refers to page ${at}, which cannot exist`
    const read = readSync(file, page, 0, page.length, at * page.length)
    // The file may end within its last page.
    page.fill(0, read)
    const isLeaf = level === depth
    const flags = isLeaf ? pageFlags.leaf : pageFlags.branch
    if (number64(page, 0) !== at || page.readUInt16LE(18) !== flags) return `has a wrong header on page ${at}`
    const nodes = readNodes(page, isLeaf)
    if (typeof nodes === 'string') return `has a page ${at} that ${nodes}`
    if (nodes.length === 0) return `has an empty page ${at}`
    for (const { child, value, isLarge } of nodes) {
      if (!isLeaf) pending.push({ at: child, level: level + 1 })
      else if (isLarge && !isLargeInside(value, meta)) return `has a value on page ${at} of a wrong length`
    }
  }
  return undefined
}

function isLargeInside(value: Buffer, { lastPage }: Meta): boolean {
  const first = number64(value, 0)
  const pages = number64(value, 16)
  return first >= 2 && pages >= 1 && first + pages - 1 <= lastPage
}

import { sep } from 'node:path'
import { invalid } from '../errors.ts'

/**
 * The segments of an object's path. Refuses with `InvalidInput` a path that may not be below the root: an empty or
 * absolute one, and one with an empty segment, `.`, `..` or NUL.
 */
export function segmentsOf(path: string): string[] {
  const segments = path.split('/')
  for (const segment of segments) {
    const fault = faultOf(segment)
    if (fault) {
      throw invalid(
        `The content path ${JSON.stringify(path)} has ${fault}: use names joined by single slashes.`,
      )
    }
  }
  return segments
}

/** As {@link segmentsOf}, for the path of a folder: it ends in a slash, or is empty for the root. */
export function folderSegmentsOf(path: string): string[] {
  if (path === '') return []
  if (!path.endsWith('/')) {
    throw invalid(`The content prefix ${JSON.stringify(path)} does not end in a slash: add one.`)
  }
  return segmentsOf(path.slice(0, -1))
}

function faultOf(segment: string): string | undefined {
  if (segment === '') return 'an empty segment'
  if (segment === '.' || segment === '..') return `the segment ${JSON.stringify(segment)}`
  if (segment.includes('\0')) return 'a NUL character'
  // Windows treats these as separators.
  if (process.platform === 'win32' && /[\\:]/.test(segment)) return 'a backslash or colon'
  return undefined
}

/** The range limited to `size` bytes. A range that begins after its end is empty. */
export function clampRange(
  size: number,
  range: { readonly start: number; readonly end: number } | undefined,
): { start: number; end: number } {
  if (!range) return { start: 0, end: size }
  const start = Math.min(Math.max(range.start, 0), size)
  return { start, end: Math.max(start, Math.min(range.end, size)) }
}

/** Whether a real path is the root or below it. */
export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/** The message for a caller that puts an object at a path that is taken. */
export const takenMessage = (path: string) =>
  `The content path ${JSON.stringify(path)} is taken and objects never change: choose another path.`

/** The mark of an object that is inline: its bytes are in a record, beside the record of the version that names it. */
export const inlineMark = '.inline'

/** Whether an object is inline, or was before it moved into a file. */
export function isInline(path: string): boolean {
  return /\.inline\.(?:arrow|json)$/.test(path)
}

import { CatalogError, invalid } from '../../base/errors.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { retiredSpans } from './retired.ts'

/*
 * Reading by time. The time of a version is that of its commit, by the clock of the process that made it, or of the
 * database where the store has a clock. No version has an earlier time than the one before it on its branch, even if
 * the clock goes back. So the newest version until a time is found by halving, and stays the same ever after.
 */

/** A branch of a table. */
interface Branch {
  /** The internal id of the table. */
  readonly table: string
  readonly branch: string
  /** Its latest version. */
  readonly latest: number
  /** What errors call it: `the table t on branch "b"`. */
  readonly where: string
}

interface Made {
  readonly version: number
  readonly time: number
}

/** The time of a version that follows another one: never an earlier time. */
export function timeAfter(before: VersionRecord | undefined, now: number): number {
  return Math.max(before?.timestamp_millis ?? now, now)
}

/** The milliseconds of a time in ISO 8601. Throws `InvalidInput` for a time to come. */
export function pastTime(at: string, now: number): number {
  const time = Date.parse(at)
  if (time <= now) return time
  throw invalid(
    `at is ${at}, which is still to come: the clock of the catalog says ${isoOf(now)}. Leave at out for the latest version.`,
  )
}

/**
 * The newest version of a branch that was made until a time. Throws `InvalidInput` for a time to come: its version is
 * not known yet. Throws `TableVersionNotFound` for a time before the first version, and for one whose version was
 * removed.
 */
export function versionAt(reader: Reader, of: Branch, at: string, now: number): number {
  const time = pastTime(at, now)
  // Most questions are about a time that is not long ago.
  let next = madeFrom(reader, of, of.latest)
  if (next === undefined || next.time <= time) return of.latest
  let found = madeFrom(reader, of, 0)!
  if (found.time > time) throw tooEarly(reader, of, at, found)
  // No version lies from here up to the next one.
  let end = next.version
  while (end - found.version > 1) {
    const middle = found.version + Math.floor((end - found.version) / 2)
    const made = madeFrom(reader, of, middle)!
    if (made.time <= time) {
      found = made
    } else {
      next = made
      end = middle
    }
  }
  if (next.version - found.version > 1) throw removed(reader, of, at, found, next)
  return found.version
}

/** The first version from a number on. */
function madeFrom(reader: Reader, { table, branch }: Branch, from: number): Made | undefined {
  const range = { prefix: keys.versions(table, branch), start: keys.version(table, branch, from), limit: 1 }
  for (const { key, value } of reader.range<VersionRecord>(range))
    return { version: Number(key[3]), time: value.timestamp_millis }
  return undefined
}

function tooEarly(reader: Reader, of: Branch, at: string, { version, time }: Made): CatalogError {
  return new CatalogError(
    'TableVersionNotFound',
    `At ${at}, ${of.where} had no version that still exists: its first one, version ${version}, was made at ${isoOf(time)}.${retiredBetween(reader, of, 0, version)}`,
  )
}

function removed(reader: Reader, of: Branch, at: string, before: Made, after: Made): CatalogError {
  const [first, last] = [before.version + 1, after.version - 1]
  const missing = first === last ? `version ${first} of that time was` : `versions ${first} to ${last} were`
  return new CatalogError(
    'TableVersionNotFound',
    `What ${of.where} was at ${at} is not known: ${missing} removed, between version ${before.version} of ${isoOf(before.time)} and version ${after.version} of ${isoOf(after.time)}. Name one of these by its number.${retiredBetween(reader, of, before.version, after.version)}`,
  )
}

/** What retention removed between two versions, as the end of a message. */
function retiredBetween(reader: Reader, { table, branch }: Branch, before: number, after: number): string {
  const span = retiredSpans(reader, table, branch).findLast(
    ({ first, last }) => last > before && first < after,
  )
  if (span === undefined) return ''
  return ` Retention removed versions through ${Math.min(span.last, after - 1)} at ${isoOf(span.at)}.`
}

function isoOf(millis: number): string {
  return new Date(millis).toISOString()
}

import { invalid } from '../../base/errors.ts'
import { durationOf } from '../../base/model/duration.ts'
import { quote } from '../../base/model/identifier.ts'
import { isObject } from '../../base/model/options.ts'

/**
 * Which versions of tables stay. A version may go when it is none of the newest `versions` of its branch, and was
 * replaced by a newer one more than `age` ago. One that is left out lets all go.
 */
export interface RetentionRule {
  /** How many of the newest versions of each branch stay: 1 or more. */
  readonly versions?: number | undefined
  /**
   * How long a version stays after the next one was made, in milliseconds. So each time that is not longer ago can be
   * read.
   */
  readonly age?: number | undefined
}

/** The properties of a table that are its own rule, in place of the rule of its catalog. */
export const retentionProperties = {
  versions: 'tabularium.retention.versions',
  age: 'tabularium.retention.age',
} as const

type Properties = Readonly<Record<string, string>>

const most = { versions: 1_000_000_000, age: durationOf('3650d') } as const

/** Whether a table has a rule of its own. */
export function hasOwnRule(properties: Properties): boolean {
  return (
    properties[retentionProperties.versions] !== undefined ||
    properties[retentionProperties.age] !== undefined
  )
}

/**
 * The rule for a table: its own, or else that of its catalog. Undefined when every version stays. So it is for a rule that
 * cannot be read.
 */
export function ruleOf(
  ofCatalog: RetentionRule | undefined,
  properties: Properties,
): RetentionRule | undefined {
  if (!hasOwnRule(properties)) return ofCatalog
  const { versions, age } = retentionProperties
  const rule = { versions: versionsIn(properties[versions]), age: ageIn(properties[age]) }
  return Number.isNaN(rule.versions) || Number.isNaN(rule.age) || rule.versions === all ? undefined : rule
}

const all = Number.POSITIVE_INFINITY

function versionsIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === 'all') return all
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0
  return count >= 1 && count <= most.versions ? count : Number.NaN
}

function ageIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const millis = durationOf(text)
  return millis <= most.age ? millis : Number.NaN
}

/** Refuses properties of a table with a rule that cannot be read. */
export function requireRule(properties: Properties | null | undefined): void {
  if (!properties || !hasOwnRule(properties)) return
  const { versions, age } = retentionProperties
  if (Number.isNaN(versionsIn(properties[versions])))
    throw invalid(
      `The property ${versions} is ${quote(properties[versions]!)}. It is how many of the newest versions stay, from 1 to ${most.versions.toLocaleString('en')}, or all.`,
    )
  if (Number.isNaN(ageIn(properties[age])))
    throw invalid(
      `The property ${age} is ${quote(properties[age]!)}. It is how long versions stay after they were replaced, such as 12h or 30d, and at most 3650d.`,
    )
}

/** The rule of a catalog, from its options. Undefined for one that lets nothing go. */
export function checkedRule(given: RetentionRule | undefined): RetentionRule | undefined {
  if (given === undefined) return undefined
  if (!isObject(given)) throw invalid('retention must be { versions, age }, with one of them or both.')
  const { versions, age, ...others } = given
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalid(`retention has no member ${quote(other)}. It has versions and age.`)
  if (versions !== undefined && !(Number.isInteger(versions) && versions >= 1 && versions <= most.versions))
    throw invalid(
      `retention.versions is ${String(versions)}; it is a whole number from 1 to ${most.versions.toLocaleString('en')}.`,
    )
  if (age !== undefined && !(typeof age === 'number' && age >= 0 && age <= most.age))
    throw invalid(
      `retention.age is ${String(age)}; it is a number of milliseconds from 0 to ${most.age.toLocaleString('en')}, which are ten years.`,
    )
  if (versions === undefined && age === undefined) return undefined
  return { ...(versions !== undefined && { versions }), ...(age !== undefined && { age }) }
}

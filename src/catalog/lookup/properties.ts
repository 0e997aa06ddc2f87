import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { limits, stringMap, text } from '../../base/model/fields.ts'
import { quote } from '../../base/model/identifier.ts'

type Properties = Readonly<Record<string, string>>

/** The property of a table's record that says its format. */
export const formatProperty = 'table_type'

/** The fields by which a request changes properties. */
export const propertyFields = {
  updates: v.nullish(stringMap),
  removals: v.nullish(
    v.pipe(
      v.array(text, 'must be a list of names'),
      v.maxLength(limits.entries, `must hold at most ${limits.entries} names`),
    ),
  ),
}

/** What a request changes. */
export interface PropertiesChange {
  readonly updates?: Properties | null | undefined
  readonly removals?: readonly string[] | null | undefined
}

/** Refuses a request that neither sets nor removes a property. `what` begins the message. */
export function requireProperties({ updates, removals }: PropertiesChange, what: string): void {
  if (Object.keys(updates ?? {}).length > 0 || (removals?.length ?? 0) > 0) return
  throw invalid(`${what} has no property to set or to remove. Give updates or removals.`)
}

export interface ChangedProperties {
  readonly properties: Properties
  /** Names to remove that were not there. */
  readonly missing: readonly string[]
  readonly isChanged: boolean
}

/**
 * The properties after a change, within the limits of new ones. Fails with `InvalidInput` beyond these, and for a name
 * that is set and removed at once. `what` begins its message.
 */
export function changedProperties(
  before: Properties,
  { updates, removals }: PropertiesChange,
  what: string,
): ChangedProperties {
  const set = updates ?? {}
  const names = [...new Set(removals)]
  const both = names.find((name) => Object.hasOwn(set, name))
  if (both !== undefined)
    throw invalid(`${what}: ${quote(both)} is in updates and in removals. Leave it in one of them.`)
  const properties: Record<string, string> = { ...before, ...set }
  for (const name of names) delete properties[name]
  const checked = v.safeParse(stringMap, properties)
  if (!checked.success)
    throw invalid(`${what}: the map of properties ${checked.issues[0].message} after it. Remove some first.`)
  return {
    properties,
    missing: names.filter((name) => !Object.hasOwn(before, name)),
    isChanged:
      Object.entries(set).some(([name, value]) => !Object.hasOwn(before, name) || before[name] !== value) ||
      names.some((name) => Object.hasOwn(before, name)),
  }
}

/** Refuses to change what says of which format a table is: its versions stay what they are. */
export function requireSameFormat(before: Properties, after: Properties, what: string): void {
  if (before[formatProperty] === after[formatProperty]) return
  throw invalid(
    `${what}: ${formatProperty} says of which format the table is, and stays as it was created. Leave it out.`,
  )
}

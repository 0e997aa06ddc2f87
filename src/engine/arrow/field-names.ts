import type { Field } from '@uwdata/flechette'

/*
 * A request may name 10,000 columns of a table that has 10,000. Looking through the columns for each of them would hold
 * the event loop for seconds.
 */

/** Where a name is among fields. */
interface Places {
  readonly exact: ReadonlyMap<string, number>
  /** By names in lower case. `undefined` where several have it. */
  anyCase?: ReadonlyMap<string, number | undefined>
  /** The first by names whose ASCII letters are in lower case. */
  anyAsciiCase?: ReadonlyMap<string, number>
}

const places = new WeakMap<readonly Field[], Places>()

/** The places of the names of fields, kept for as long as the fields are. */
function placesOf(fields: readonly Field[]): Places {
  let known = places.get(fields)
  if (known === undefined) {
    known = { exact: firstOf(fields, (name) => name) }
    places.set(fields, known)
  }
  return known
}

/** The index of the first field with a name; -1 if there is none. */
export function indexOfName(fields: readonly Field[], name: string): number {
  return placesOf(fields).exact.get(name) ?? -1
}

/** The index of the first field whose name differs in the case of ASCII letters at most; -1 if there is none. */
export function indexInAsciiCase(fields: readonly Field[], name: string): number {
  const known = placesOf(fields)
  known.anyAsciiCase ??= firstOf(fields, lowerAscii)
  return known.anyAsciiCase.get(lowerAscii(name)) ?? -1
}

/** The index of the only field whose name differs in case at most; -1 if there is none, or several. */
export function onlyIndexInAnyCase(fields: readonly Field[], name: string): number {
  const known = placesOf(fields)
  known.anyCase ??= onlyOf(fields)
  return known.anyCase.get(name.toLowerCase()) ?? -1
}

function firstOf(fields: readonly Field[], form: (name: string) => string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  fields.forEach((field, i) => {
    const name = form(field.name)
    if (!found.has(name)) found.set(name, i)
  })
  return found
}

function onlyOf(fields: readonly Field[]): ReadonlyMap<string, number | undefined> {
  const found = new Map<string, number | undefined>()
  fields.forEach((field, i) => {
    const name = field.name.toLowerCase()
    found.set(name, found.has(name) ? undefined : i)
  })
  return found
}

function lowerAscii(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

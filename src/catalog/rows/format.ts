import { invalid } from '../../base/errors.ts'

/** Who writes the rows of a table: this catalog, as Arrow files, or Lance. */
export type TableEngineName = 'arrow' | 'lance'

/** Checks the option `format` of a catalog. */
export function formatNamed(given: TableEngineName | undefined = 'arrow'): TableEngineName {
  if (given === 'arrow' || given === 'lance') return given
  throw invalid(`The option format is ${JSON.stringify(given)}. Give 'arrow' or 'lance'.`)
}

/** The property of a table that says who writes its rows. */
const formatProperty = 'format'

/** Whether Lance is to write the rows of a table that has none: its property says so, or else the catalog's option. */
export function isForLance(
  { settings }: { readonly settings: { readonly format: TableEngineName } },
  properties: Readonly<Record<string, string>>,
): boolean {
  const given = properties[formatProperty]?.toLowerCase()
  return (given === 'arrow' || given === 'lance' ? given : settings.format) === 'lance'
}

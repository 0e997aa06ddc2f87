/** Who writes the rows of a table: this catalog, as Arrow files, or Lance. */
export type TableEngineName = 'arrow' | 'lance'

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

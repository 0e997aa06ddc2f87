/** What a table of the catalog is to people. */
export type Kind = 'Table' | 'Iceberg table' | 'View'

/** What sentences call a table of a kind. */
export function nounOf(kind: Kind): 'table' | 'view' {
  return kind === 'View' ? 'view' : 'table'
}

/** The kind that the properties of a table tell. Iceberg REST keeps its tables and views as tables with a type. */
export function kindOf(properties: Readonly<Record<string, string>> | undefined): Kind {
  switch (properties?.table_type?.toUpperCase()) {
    case 'ICEBERG':
      return 'Iceberg table'
    case 'ICEBERG_VIEW':
      return 'View'
    default:
      return 'Table'
  }
}

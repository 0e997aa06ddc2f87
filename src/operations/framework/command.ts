/** How an operation is typed on the command line, besides what its request tells. */
export interface OperationCommand {
  /** Under which heading the help lists it. */
  readonly group:
    | 'Namespaces'
    | 'Tables'
    | 'Rows'
    | 'Versions, tags and branches'
    | 'Transactions and batches'
  /** Short names, the best known one first. */
  readonly aliases?: readonly string[]
  /** Fields that may follow the identifier without their option's name. */
  readonly positional?: readonly string[]
  /**
   * Fields that hold a name, each with the field for its namespace: namespaces that are typed before such a name go
   * there.
   */
  readonly namespaceFields?: Readonly<Record<string, string>>
  /** What the identifier names; a table when absent. */
  readonly id?: 'namespace' | 'table' | 'transaction'
  /** Whether the identifier may be left out, which is the root. */
  readonly rootByDefault?: boolean
  /** Whether it may begin a catalog where there is none. */
  readonly begins?: boolean
  /** For listings: the field of the response that holds what is listed, and what to call one of those. */
  readonly lists?: { readonly field: string; readonly item: string }
  /** What options are for, by their fields: those that no other operation has. */
  readonly options?: Readonly<Record<string, string>>
  /** Arguments after the command's name, as one would type them. */
  readonly examples?: readonly string[]
}

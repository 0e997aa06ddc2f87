import { formatIdentifier } from '../base/model/identifier.ts'
import { nearest } from '../base/model/nearest.ts'
import { type Catalog, CatalogError, type OperationOptions } from '../tabularium/index.ts'

/** The most names that are compared with what was typed. */
const maxNames = 1_000
/** A server that is slow to list must not hold up the error. In milliseconds. */
const patience = 2_000

interface Asked {
  readonly catalog: Catalog
  /** What the command names: its table or namespace, and others. */
  readonly ids: readonly (readonly string[])[]
  readonly delimiter: string
  readonly options: Pick<OperationOptions, 'transaction'>
}

/**
 * An error of a command. That of a table or namespace which is not there also says the nearest name beside it. Names come
 * from a listing that the same caller asks for, so nobody is told a name that is hidden from him.
 */
export async function withNearName(
  error: unknown,
  { catalog, ids, delimiter, options }: Asked,
): Promise<unknown> {
  if (!(error instanceof CatalogError && /^(Table|Namespace)NotFound$/.test(error.code))) return error
  const [, kind, told] =
    /nor a (namespace) (.+?)\. /s.exec(error.message) ??
    /^No (dropped) table (.+?) is held\. /s.exec(error.message) ??
    /^There is no (table|namespace) (.+?)\. /s.exec(error.message) ??
    []
  const named = ids.flatMap((id) => id.map((_, at) => id.slice(0, at + 1)))
  const missing = named.find((names) => formatIdentifier(names) === told)
  if (missing === undefined) return error
  const parent = missing.slice(0, -1)
  const listing = { id: parent, limit: maxNames }
  const asked = { ...options, signal: AbortSignal.timeout(patience) }
  const names: readonly string[] = await (kind === 'dropped'
    ? catalog
        .listDroppedTables({ id: parent, limit: maxNames }, asked)
        .then(({ dropped }) =>
          dropped.filter(({ id }) => id.length === missing.length).map(({ id }) => id.at(-1)!),
        )
    : kind === 'table'
      ? catalog.listTables({ ...listing, recursive: false }, asked).then(({ tables }) => tables)
      : catalog.listNamespaces(listing, asked).then(({ namespaces }) => namespaces)
  ).catch(() => [])
  // Tables may be listed by their whole identifiers.
  const own = names.map((name) => name.slice(name.lastIndexOf('$') + 1))
  const near = nearest(missing.at(-1)!, own)
  if (near === undefined) return error
  const whole = [...parent, near].join(delimiter)
  return new CatalogError(error.code, `${error.message} Did you mean ${whole}?`, { cause: error })
}

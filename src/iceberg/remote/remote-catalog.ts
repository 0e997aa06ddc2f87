import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { Kind } from '../records/formats.ts'
import { type RemoteOptions, RemoteRefused, RestClient, unexpected } from './rest-client.ts'

const texts = v.record(v.string(), v.string())
const level = v.pipe(v.string(), v.nonEmpty())
const config = v.object({
  defaults: v.nullish(v.record(v.string(), v.nullish(v.string())), {}),
  overrides: v.nullish(v.record(v.string(), v.nullish(v.string())), {}),
})
const page = { 'next-page-token': v.nullish(v.string()) }
const namespacesPage = v.object({ ...page, namespaces: v.nullish(v.array(v.array(level)), []) })
const namesPage = v.object({
  ...page,
  identifiers: v.nullish(v.array(v.object({ namespace: v.array(level), name: level })), []),
})
const namespace = v.object({ properties: v.nullish(texts, {}) })
const loaded = v.object({
  'metadata-location': v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)),
  metadata: v.looseObject({}),
})

/** Most names in one listing, and most pages in a row that have none. */
const mostNames = 1_000_000
const mostEmpty = 1_000
const pageSize = 1_000

/** A table or view of a remote catalog. */
export interface RemoteEntry {
  readonly url: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A catalog of Iceberg REST elsewhere. Its answers are checked, and its listings are bounded. */
export class RemoteCatalog {
  readonly #client: RestClient
  readonly #prefix: string
  readonly #separator: string

  private constructor(client: RestClient, prefix: string, separator: string) {
    this.#client = client
    this.#prefix = prefix
    this.#separator = separator
  }

  /** Asks a server for its configuration, and with a credential for a token. */
  static async open(options: RemoteOptions, signal?: AbortSignal): Promise<RemoteCatalog> {
    const client = new RestClient(options, signal)
    await client.authenticate()
    const { warehouse } = options
    const query = warehouse === undefined ? '' : `?${new URLSearchParams({ warehouse })}`
    const { defaults, overrides } = checked(config, await client.get(`config${query}`), 'config')
    const of = (name: string) => overrides?.[name] ?? defaults?.[name] ?? undefined
    // A `uri` or `token` that it gives is not followed: the caller's token is for this server.
    const prefix = of('prefix') ?? ''
    if (prefix.split('/').some((part) => part === '..' || /[?#\\\s]/.test(part)))
      throw unexpected(options.url, `has the prefix ${JSON.stringify(prefix.slice(0, 100))}`)
    return new RemoteCatalog(client, prefix === '' ? '' : `${prefix}/`, of('namespace-separator') ?? '%1F')
  }

  /** The namespaces directly below one. */
  async *namespaces(parent: Identifier): AsyncGenerator<Identifier> {
    const query: Record<string, string> =
      parent.length === 0 ? {} : { parent: parent.join(decodeURIComponent(this.#separator)) }
    const pages = this.#pages(namespacesPage, 'namespaces', query, ({ namespaces }) => namespaces ?? [])
    for await (const id of pages) {
      if (id.length !== parent.length + 1 || parent.some((name, i) => id[i] !== name))
        throw lies(`the namespace ${formatIdentifier(id)}`, parent)
      yield id
    }
  }

  /** The properties of a namespace. */
  async properties(id: Identifier): Promise<Readonly<Record<string, string>>> {
    const path = this.#pathOf(id)
    return checked(namespace, await this.#client.get(path), path).properties ?? {}
  }

  /** The tables or views directly in a namespace. None where the server knows no views. */
  async *names(kind: Kind, parent: Identifier): AsyncGenerator<string> {
    const path = `${this.#pathOf(parent).slice(this.#prefix.length)}/${kind}s`
    try {
      for await (const { namespace, name } of this.#pages(
        namesPage,
        path,
        {},
        (one) => one.identifiers ?? [],
      )) {
        if (namespace.length !== parent.length || namespace.some((level, i) => level !== parent[i]))
          throw lies(`the ${kind} ${formatIdentifier([...namespace, name])}`, parent)
        yield name
      }
    } catch (error) {
      const isUnknown = error instanceof RemoteRefused && [404, 405, 406, 501].includes(error.status)
      if (!(kind === 'view' && isUnknown)) throw error
    }
  }

  /** Loads a table or view; undefined when it is gone. Of a table, only snapshots that refs name are asked for. */
  async load(kind: Kind, id: Identifier): Promise<RemoteEntry | undefined> {
    const path = `${this.#pathOf(id.slice(0, -1))}/${kind}s/${encoded(id.at(-1)!)}`
    try {
      const answer = await this.#client.get(kind === 'table' ? `${path}?snapshots=refs` : path)
      const { 'metadata-location': url, metadata } = checked(loaded, answer, path)
      return { url, metadata }
    } catch (error) {
      if (error instanceof RemoteRefused && error.status === 404) return undefined
      throw error
    }
  }

  /** Creates a namespace, unless it is there. Returns whether it was created. */
  async createNamespace(id: Identifier, properties: Readonly<Record<string, string>>): Promise<boolean> {
    try {
      await this.#client.post(`${this.#prefix}namespaces`, { namespace: id, properties })
      return true
    } catch (error) {
      if (error instanceof RemoteRefused && error.status === 409) return false
      throw error
    }
  }

  /** Points a name at a metadata file. With `overwrite`, one that exists is changed. */
  async register(kind: Kind, id: Identifier, url: string, overwrite: boolean): Promise<void> {
    const path = `${this.#pathOf(id.slice(0, -1))}/${kind === 'table' ? 'register' : 'register-view'}`
    const body = { name: id.at(-1), 'metadata-location': url, ...(overwrite && { overwrite }) }
    await this.#client.post(path, body)
  }

  async *#pages<
    Schema extends v.GenericSchema<unknown, { readonly 'next-page-token'?: string | null | undefined }>,
    T,
  >(
    schema: Schema,
    path: string,
    query: Readonly<Record<string, string>>,
    itemsOf: (page: v.InferOutput<Schema>) => readonly T[],
  ): AsyncGenerator<T> {
    const seen = new Set<string>()
    let names = 0
    let empty = 0
    for (let token = ''; ; ) {
      const asked = new URLSearchParams({ ...query, pageSize: String(pageSize), pageToken: token })
      const page = checked(schema, await this.#client.get(`${this.#prefix}${path}?${asked}`), path)
      const items = itemsOf(page)
      yield* items
      names += items.length
      empty = items.length === 0 ? empty + 1 : 0
      const next = page['next-page-token']
      if (next == null || next === '') return
      if (seen.has(next) || names > mostNames || empty > mostEmpty)
        throw unexpected(path, 'is a listing without an end')
      seen.add(next)
      token = next
    }
  }

  #pathOf(namespace: Identifier): string {
    return `${this.#prefix}namespaces/${guarded(namespace.map(encodeURIComponent).join(this.#separator))}`
  }
}

function encoded(name: string): string {
  return guarded(encodeURIComponent(name))
}

/** Parsers of URLs take such a name for a step in the path. */
function guarded(segment: string): string {
  if (segment !== '.' && segment !== '..') return segment
  throw new CatalogError(
    'InvalidInput',
    `The name ${JSON.stringify(segment)} cannot be asked for over HTTP. Give it another name at the source.`,
  )
}

function checked<Schema extends v.GenericSchema>(
  schema: Schema,
  answer: unknown,
  path: string,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, answer, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const where = v.getDotPath(issue)
  throw unexpected(path, `has ${where === null ? '' : `in ${where.slice(0, 100)} `}an unexpected value`)
}

function lies(what: string, parent: Identifier): CatalogError {
  const where = parent.length === 0 ? 'at the root' : `directly in ${formatIdentifier(parent)}`
  return new CatalogError(
    'InvalidInput',
    `The server lists ${what} as one that lies ${where}. It is left out.`,
  )
}

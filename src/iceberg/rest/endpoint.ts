import type { Identifier } from '../../base/model/identifier.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { MountedRequest } from '../../server/mount.ts'
import type { IcebergEndpoint } from '../endpoint-names.ts'
import type { Entries } from '../records/entries.ts'
import type { TransactionalCatalog } from '../records/lookup.ts'
import type { Caller } from '../records/metadata-files.ts'

/** What endpoints work with. */
export interface Served {
  readonly catalog: TransactionalCatalog
  readonly entries: Entries
  /** Properties that `config` gives to clients. */
  readonly defaults: Readonly<Record<string, string>>
  /** Whether a change is at least as late as all snapshots so far, whatever the catalog's clock says. */
  readonly clientClocks: boolean
}

/** The variables of a path. */
export interface Variables {
  readonly namespace: Identifier
  /** A table, view or other name within the namespace. */
  readonly name: string
}

/** One request to an endpoint. */
export interface Asked extends Variables {
  /** The namespace and the name. */
  readonly id: Identifier
  readonly query: URLSearchParams
  readonly request: MountedRequest & Caller
}

export interface EndpointAnswer {
  /** Default: 200, or 204 without a body. */
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One endpoint of the protocol. */
export interface Endpoint {
  /** The operation in the specification. */
  readonly name: IcebergEndpoint
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE'
  /** The path below `/v1/`, with `{namespace}` and `{name}` for variables. */
  readonly path: string
  /** What the hook `authorize` is asked about the namespace or table of the path. Default: nothing. */
  readonly access?: OperationName | undefined
  readonly body?: 'json' | 'form'
  readonly isPublic?: boolean
  /** The operation whose records the answer depends on, if it depends on nothing else. */
  readonly keptAs?: OperationName
  run(served: Served, asked: Asked): Promise<EndpointAnswer>
}

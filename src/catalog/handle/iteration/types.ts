import type { Identifier } from '../../../base/model/identifier.ts'
import type { OperationOptions } from '../../operations/framework/operation.ts'
import type {
  ListAllTablesRequest,
  ListDroppedTablesRequest,
  ListDroppedTablesResponse,
  ListNamespacesRequest,
  ListTableBranchesRequest,
  ListTableBranchesResponse,
  ListTableIndicesRequest,
  ListTableIndicesResponse,
  ListTablesRequest,
  ListTableTagsRequest,
  ListTableTagsResponse,
  ListTableVersionsRequest,
  ListTableVersionsResponse,
  ListTransactionsRequest,
  ListTransactionsResponse,
  QueryTableRequest,
} from '../../operations/types/methods.ts'

/** Which rows to go over. `limit` is the most rows in all. */
export type RowsRequest = Omit<
  QueryTableRequest,
  'k' | 'vector' | 'full_text_query' | 'order_by' | 'with_row_id'
>

/** Which items of a listing to go over. `limit` is the most items in all. */
export type Listed<Request> = Omit<Request, 'page_token' | 'delimiter'>

export type IterationOptions = Pick<OperationOptions, 'signal' | 'transaction'>

/** Goes over items as they come. Leaving the loop, or `return()`, stops the work and releases what it holds. */
export interface Items<T> extends AsyncIterableIterator<T>, AsyncDisposable {
  next(): Promise<IteratorResult<T, undefined>>
  return(): Promise<IteratorResult<T, undefined>>
  [Symbol.asyncIterator](): Items<T>
}

/** A tag or a branch: its name, and what the listing says of it. */
export type Named<T> = { name: string } & T

/** Ways to go over rows and listings, without pages. Each asks the operations of the same handle, a page at a time. */
export interface Iteration {
  /**
   * Goes over the rows of a table as plain objects, in the order they were inserted. All of them are of one version,
   * whatever others change meanwhile. Memory holds one page of some megabytes.
   *
   * ```ts
   * for await (const { origin, delay } of catalog.rows({ id: ['prod', 'flights'], filter: 'delay > 60' })) …
   * ```
   *
   * Values come out as they went in, and inserting an object again makes the same row. Numbers are numbers, but those
   * of 64 bits are bigints. Timestamps are Dates up to milliseconds, and bigints in smaller units. Dates are Dates,
   * decimals texts, binary values Uint8Arrays, lists arrays, vectors typed arrays, structs objects, and maps Maps.
   * What is missing is null. docs/row-objects.md has them all.
   */
  rows<Row extends object = Record<string, unknown>>(
    request: RowsRequest,
    options?: IterationOptions,
  ): Items<Row>

  /** Goes over the tables in a namespace and below it. Each comes as its identifier, ready to be an `id`. */
  tables(request: Listed<ListTablesRequest>, options?: IterationOptions): Items<Identifier>

  /** Goes over all tables of the catalog. Each comes as its identifier, ready to be an `id`. */
  allTables(request?: Listed<ListAllTablesRequest>, options?: IterationOptions): Items<Identifier>

  /** Goes over the dropped tables that are held, of a namespace and below it. */
  droppedTables(
    request: Listed<ListDroppedTablesRequest>,
    options?: IterationOptions,
  ): Items<ListDroppedTablesResponse['dropped'][number]>

  /** Goes over the namespaces directly in a namespace. Each comes as its identifier, ready to be an `id`. */
  namespaces(request: Listed<ListNamespacesRequest>, options?: IterationOptions): Items<Identifier>

  /** Goes over the versions of a table's branch, oldest first or, with `descending`, latest first. */
  versions(
    request: Listed<ListTableVersionsRequest>,
    options?: IterationOptions,
  ): Items<ListTableVersionsResponse['versions'][number]>

  /** Goes over the tags of a table, each with its `name`. */
  tags(
    request: Listed<ListTableTagsRequest>,
    options?: IterationOptions,
  ): Items<Named<ListTableTagsResponse['tags'][string]>>

  /** Goes over the branches of a table other than the main one, each with its `name`. */
  branches(
    request: Listed<ListTableBranchesRequest>,
    options?: IterationOptions,
  ): Items<Named<ListTableBranchesResponse['branches'][string]>>

  /** Goes over the indexes of a table, by name. */
  indices(
    request: Listed<ListTableIndicesRequest>,
    options?: IterationOptions,
  ): Items<ListTableIndicesResponse['indexes'][number]>

  /** Goes over transactions, the newest first. */
  transactions(
    request?: Listed<ListTransactionsRequest>,
    options?: Pick<IterationOptions, 'signal'>,
  ): Items<ListTransactionsResponse['transactions'][number]>
}

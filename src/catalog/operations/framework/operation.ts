import type * as v from 'valibot'
import { type CatalogError, type ErrorCode, invalid } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import type { RequestMemory, requestMemory } from '../../../base/scheduling/request-memory.ts'
import type { RemovalRecord, SessionServer, TransactionRecord } from '../../../base/store/records.ts'
import type { LanceContext, LanceStaging } from '../../lance/context.ts'
import type { LocationSettings } from '../../locations/context.ts'
import type { AuthorizeHook, CallerHook } from '../../lookup/access.ts'
import type {
  BlobOfVersion,
  ClientRules,
  clientRules,
  readsLance,
  takeBlob,
} from '../../rows/client-rules.ts'
import type { RowsContext, RowsSettings, RowsStaging } from '../../rows/context.ts'
import type { Route } from './route.ts'

/** How an operation is typed on the command line, besides what follows from its request. */
interface OperationCommand {
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
  /** Whether it works with servers only: what it is about ends with the process of a command. */
  readonly needsServer?: boolean
  /** For listings: the field of the response that holds what is listed, and what to call one of those. */
  readonly lists?: { readonly field: string; readonly item: string }
  /** Help texts of options, by their fields, where they differ from `field-docs.ts`. */
  readonly options?: Readonly<Record<string, string>>
  /** Arguments after the command's name, as one would type them. */
  readonly examples?: readonly string[]
}

/** The member of the options with the hook of a server. */
export const callerHook = Symbol('callerHook')

/** The member of the options by which a server passes the id of the request. */
export const requestId = Symbol('requestId')

/** The member of the options by which `beginTransaction` learns how other servers reach this one. */
export const sessionServer = Symbol('sessionServer')

/** What every operation takes besides its request. */
export interface OperationOptions {
  /** Stops the operation; it then rejects with the signal's reason and nothing has changed. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called now and then while rows are read or written. For changes of rows the first call comes as soon as the
   * transaction is recorded, before any row is done.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /**
   * The id of the transaction that the operation belongs to, as `beginTransaction` answered it. The operation sees what
   * the others in there did, and is committed with them by `commitTransaction`. Over HTTP it travels as the header
   * `x-tabularium-transaction`.
   */
  readonly transaction?: string | undefined
  /**
   * A name that the caller chose for this change, of 1 to 256 characters. For a day, the same key with the same request
   * gets the first answer, and the change is made once: after a lost answer, send it again. Another request with the key
   * is refused. A refused change keeps no answer. Keys belong to the caller. Reads, and operations about transactions, do
   * not look at it. Rows are plain objects or bytes. Over HTTP it travels as the header `idempotency-key`.
   */
  readonly idempotencyKey?: string | undefined
  readonly [clientRules]?: ClientRules | undefined
  readonly [readsLance]?: boolean | undefined
  readonly [takeBlob]?: ((blob: BlobOfVersion) => void) | undefined
  readonly [requestMemory]?: Partial<RequestMemory> | undefined
  readonly [sessionServer]?: SessionServer | undefined
  readonly [requestId]?: string | undefined
  readonly [callerHook]?: CallerHook | undefined
}

export interface Progress {
  /** The transaction at work, when the operation changes rows: describe or cancel it by this id. */
  readonly transaction_id?: string
  /** Rows done so far. */
  readonly rows: number
  /** Rows to be done in all; 0 while that is not known. */
  readonly total: number
}

/** What an operation works with: the parts of its catalog. Functions that it calls take those that they need. */
export interface OperationContext extends LanceContext, RowsContext {
  /** A new internal id of a table, which its location shows: it cannot be guessed from any other id. */
  readonly newTableId: () => string
  /** The sessions: transactions that were begun here, until they are committed or rolled back. */
  readonly sessions: SessionSource
  /** Runs a change whose options have an idempotency key, unless that was done before. */
  readonly once: (
    core: OperationContext,
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions & { readonly idempotencyKey: string },
  ) => Promise<unknown>
  readonly settings: OperationSettings
  readonly staging?: OperationStaging
}

/** What was set when the catalog was opened, as far as operations follow from it. */
export interface OperationSettings extends LocationSettings, RowsSettings {
  /** Asked whether an operation may run. */
  readonly authorize: AuthorizeHook | undefined
}

/** What operations inside of a transaction defer to its commit. */
interface OperationStaging extends LanceStaging, RowsStaging {
  readonly outside: OperationContext
  /** The error for a location whose content is still to be removed: no operation inside can wait for that. */
  busy(removal: RemovalRecord, error: Error): Error
}

/** Loads the sessions of a catalog when they are first needed. */
interface SessionSource {
  of(core: OperationContext): Promise<Sessions>
}

/** What the commit of a transaction may compare. */
export const isolations = ['Serializable', 'ReadCommitted'] as const

/** What the commit of a transaction compares. */
export type Isolation = (typeof isolations)[number]

/** A caller, as a server named it; undefined where callers have no names. */
export type SessionOwner = string | undefined

/**
 * The transactions that are open in this process. Each belongs to the caller who began it, and is hidden from others.
 */
export interface Sessions {
  begin(
    owner: SessionOwner,
    given: {
      readonly idleSeconds?: number | undefined
      readonly isolation?: Isolation | undefined
      readonly properties: Readonly<Record<string, string>>
      /** The transaction that this one retries. It must be the caller's, and must have ended without a commit. */
      readonly retryOf?: string | undefined
      /** Cancels it while it waits for turns. */
      readonly signal?: AbortSignal | undefined
      /** The server of the request, if other servers can reach it. */
      readonly server?: SessionServer | undefined
    },
  ): Promise<{ readonly id: string; readonly idleSeconds: number }>
  run(
    id: string,
    owner: SessionOwner,
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
  ): Promise<unknown>
  /** Commits, unless that is done already. When it fails, nothing of the transaction is committed. */
  commit(id: string, owner: SessionOwner): Promise<TransactionRecord | undefined>
  /** Rolls back; with `failure`, it is recorded as Failed. A failed one stays so. Fails when it is committed. */
  rollback(id: string, owner: SessionOwner, failure: TransactionRecord['failure']): Promise<TransactionRecord>
}

/** A request that is not checked yet. */
export type RawRequest = Readonly<Record<string, unknown>>

/** A subject of a request, and the operation that would do the same to it alone. */
export interface Subject {
  readonly operation: string
  readonly id: Identifier
  /** The location that it names for the table. */
  readonly location?: string | undefined
  /** Whether that operation changes anything. Default: as the request does. */
  readonly changes?: boolean
}

/** The `isFromStore` of operations whose answers always follow from the store alone. */
export const always = () => true

/** The complete definition of an operation: routes, clients, commands, fakes, documents and tests derive from it. */
export interface OperationDefinition<
  Name extends string,
  Request extends v.GenericSchema,
  Response extends v.GenericSchema,
> {
  /** The protocol's name in camelCase. */
  readonly name: Name
  /** One sentence: what the caller gets. */
  readonly summary: string
  readonly request: Request
  readonly response: Response
  /**
   * Fields of the public protocol, and of clients in use, that would not change the answer here: they are taken and
   * ignored. Every other field that `request` does not have is refused.
   */
  readonly ignores?: readonly string[]
  /** The codes it may fail with, besides those every operation shares. */
  readonly errors: readonly ErrorCode[]
  /** Whether it changes the catalog or a table's rows. */
  readonly changes: boolean
  /** Whether a change that is asked for again does nothing more, and answers the same. */
  readonly repeatable?: boolean
  /**
   * Whether the answer follows from the request and the records in the store alone: not from the clock, content, a hook
   * or the caller. It gets requests before they are checked.
   */
  readonly isFromStore?: (request: RawRequest) => boolean
  /**
   * What a request names besides its own `id`. Authorization is asked about each, and faults of fakes match each. It
   * gets requests before they are checked and leaves out what is malformed.
   */
  readonly subjects?: (request: RawRequest) => readonly Subject[]
  /** Whether it is about its caller alone, so that nobody is asked. Default: false. */
  readonly asksNobody?: boolean
  /** The location that a request names for its table, for authorization. It gets requests before they are checked. */
  readonly location?: (request: RawRequest) => string | undefined
  /** How it travels over HTTP. */
  readonly route: Route
  /** How it is typed on the command line; absent for what is not supported. */
  readonly command?: OperationCommand
  readonly run: (
    core: OperationContext,
    request: v.InferOutput<Request>,
    options: OperationOptions,
  ) => Promise<v.InferOutput<Response>>
}

/** Any operation, its types forgotten. */
export type AnyOperation = OperationDefinition<string, v.GenericSchema, v.GenericSchema>

/** Whether an operation exists by name only, and always fails with `Unsupported`. */
export function isUnsupported({ errors }: { readonly errors: readonly string[] }): boolean {
  return errors.length === 1 && errors[0] === 'Unsupported'
}

/**
 * The member of a handle that runs an operation, in this process or on a server. The client and the catalog may be two
 * builds, and each takes handles of the other.
 */
export const invoke: unique symbol = Symbol.for('tabularium.invoke')

/** What an operation runs on: the handle of a catalog, local or remote. */
export interface Invocable {
  [invoke](operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown>
}

/** An object with the method of an operation: a wrapper of a catalog, or a test double. */
export type Having<Name extends string> = {
  readonly [Method in Name]: (...given: never[]) => unknown
}

/** What callers may give where a schema takes `T`: the same, whose lists may be readonly. */
type Given<T> = T extends Uint8Array | ((...given: never[]) => unknown)
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: Given<T[Key]> }
    : T

/** An operation: a plain async function that also carries its own description. */
export interface Operation<
  Name extends string = string,
  Request extends v.GenericSchema = v.GenericSchema,
  Response extends v.GenericSchema = v.GenericSchema,
> {
  <Handle extends Having<Name>>(
    catalog: Invocable | Handle,
    request: Given<v.InferInput<Request>>,
    options?: OperationOptions,
  ): Promise<v.InferOutput<Response>>
  readonly definition: OperationDefinition<Name, Request, Response>
}

/** Makes an operation of its definition. */
export function operation<
  const Name extends string,
  Request extends v.GenericSchema,
  Response extends v.GenericSchema,
>(definition: OperationDefinition<Name, Request, Response>): Operation<Name, Request, Response> {
  const call = (catalog: Invocable | Having<Name>, request: unknown, options?: OperationOptions) =>
    callOn(catalog, definition as unknown as AnyOperation, request, options) as Promise<
      v.InferOutput<Response>
    >
  return Object.assign(call, { definition })
}

/**
 * Calls the method of that name, so that a replacement is called, too. A handle of another build may lack the method,
 * and runs the operation by its definition.
 */
function callOn(
  catalog: unknown,
  definition: AnyOperation,
  request: unknown,
  options: OperationOptions | undefined,
): Promise<unknown> {
  try {
    const members = (catalog ?? {}) as Record<string | typeof invoke, unknown>
    const method = members[definition.name]
    if (typeof method === 'function') {
      const given = options === undefined ? [request] : [request, options]
      const answer: unknown = Reflect.apply(method, catalog, given)
      return answer instanceof Promise ? answer : Promise.resolve(answer)
    }
    if (typeof members[invoke] === 'function')
      return (catalog as Invocable)[invoke](definition, request, options ?? {})
    return Promise.reject(noCatalog(definition.name, catalog))
  } catch (error) {
    return Promise.reject(error)
  }
}

function noCatalog(name: string, given: unknown): CatalogError {
  if (typeof (given as { then?: unknown } | undefined)?.then === 'function') {
    return invalid(
      `${name} got the promise of a catalog. Await it first: const catalog = await openCatalog(…).`,
    )
  }
  return invalid(
    `${name} takes a catalog first, and then its request; what came first has no method ${name}. Write ${name}(catalog, { … }) with what openCatalog or connect answered.`,
  )
}

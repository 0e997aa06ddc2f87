/**
 * The types of errors that Iceberg REST knows, with the status that each is answered with. The names are those of the
 * exceptions that the reference server throws; clients choose what they throw by them.
 */
export const errorStatuses = {
  BadRequestException: 400,
  IllegalArgumentException: 400,
  ValidationException: 400,
  NotAuthorizedException: 401,
  ForbiddenException: 403,
  NoSuchNamespaceException: 404,
  NoSuchTableException: 404,
  NoSuchViewException: 404,
  NotFoundException: 404,
  UnsupportedOperationException: 406,
  AlreadyExistsException: 409,
  NamespaceNotEmptyException: 409,
  CommitFailedException: 409,
  AuthenticationTimeoutException: 419,
  UnprocessableEntityException: 422,
  TooManyRequestsException: 429,
  CommitStateUnknownException: 500,
  InternalServerError: 500,
  ServiceUnavailableException: 503,
} as const

export type IcebergErrorType = keyof typeof errorStatuses

/**
 * An error as Iceberg REST answers it: `type` and `message` become members of the body, and `status` that of HTTP.
 *
 * ```ts
 * throw new IcebergError('CommitFailedException', 'Requirement failed: table already exists')
 * ```
 */
export class IcebergError extends Error {
  override readonly name = 'IcebergError'
  readonly type: IcebergErrorType
  readonly status: number

  constructor(
    type: IcebergErrorType,
    message: string,
    options?: { readonly status?: number; readonly cause?: unknown },
  ) {
    super(message, options)
    this.type = type
    this.status = options?.status ?? errorStatuses[type]
  }
}

/** A value that a request must not have. Java's client throws an `IllegalArgumentException` for it. */
export function illegalArgument(message: string): IcebergError {
  return new IcebergError('IllegalArgumentException', message)
}

/** A value that does not fit the table that it is for. */
export function validation(message: string): IcebergError {
  return new IcebergError('ValidationException', message)
}

/** A change on a state of the table that others replaced. The client reads the table again and retries. */
export function commitFailed(message: string): IcebergError {
  return new IcebergError('CommitFailedException', message)
}

/** A request that this server does not understand. */
export function badRequest(message: string): IcebergError {
  return new IcebergError('BadRequestException', message)
}

import type { ErrorCode } from '../../base/errors.ts'
import type { IcebergErrorType } from '../errors.ts'

const byCode: Partial<Record<ErrorCode, IcebergErrorType>> = {
  NamespaceNotFound: 'NoSuchNamespaceException',
  TableNotFound: 'NoSuchTableException',
  NamespaceAlreadyExists: 'AlreadyExistsException',
  TableAlreadyExists: 'AlreadyExistsException',
  NamespaceNotEmpty: 'NamespaceNotEmptyException',
  ConcurrentModification: 'CommitFailedException',
}

const byStatus: Readonly<Record<number, IcebergErrorType>> = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  404: 'NotFoundException',
  406: 'UnsupportedOperationException',
  409: 'CommitFailedException',
  422: 'UnprocessableEntityException',
  503: 'ServiceUnavailableException',
}

/** The type of an error of the catalog, as clients of Iceberg know it. */
export function typeOfStatus(code: ErrorCode, status: number): IcebergErrorType {
  return byCode[code] ?? byStatus[status] ?? 'InternalServerError'
}

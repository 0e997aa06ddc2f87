import type { OperationName, operations } from '../../../src/catalog/operations/index.ts'

/** The request type of an operation for callers. */
export type Request<Name extends OperationName> = Parameters<(typeof operations)[Name]>[1]

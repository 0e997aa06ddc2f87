import type { OperationName, operations } from '../../../src/catalog/operations/index.ts'

/** What an operation takes, as its caller types it. */
export type Request<Name extends OperationName> = Parameters<(typeof operations)[Name]>[1]

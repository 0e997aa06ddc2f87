/** All that derives from the record of operations. */
export { connect } from '../../../../src/client/index.ts'
export { fetchHandler } from '../../../../src/server/index.ts'
export { openApiDocument } from '../../../../src/server/pages/openapi.ts'
export { openCatalog, operations } from '../../../../src/tabularium/index.ts'
export { fakeCatalog } from '../../../../src/testing/index.ts'
export { run } from '../../../cli/run.ts'
export { operationTable } from '../../../support/operation-table.ts'

/** All that derives from the record of operations. */
export { connect } from '../../../src/client.ts'
export { fetchHandler } from '../../../src/http/index.ts'
export { openApiDocument } from '../../../src/http/pages/openapi.ts'
export { openCatalog, operations } from '../../../src/index.ts'
export { fakeCatalog } from '../../../src/testing/index.ts'
export { run } from '../../cli/run.ts'
export { operationTable } from '../../support/operation-table.ts'

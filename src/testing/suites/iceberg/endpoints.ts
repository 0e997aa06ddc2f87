/** The endpoints that cases need, by the names of the specification, as `config` lists them. */
export const endpoints = {
  listNamespaces: 'GET /v1/{prefix}/namespaces',
  createNamespace: 'POST /v1/{prefix}/namespaces',
  loadNamespaceMetadata: 'GET /v1/{prefix}/namespaces/{namespace}',
  namespaceExists: 'HEAD /v1/{prefix}/namespaces/{namespace}',
  dropNamespace: 'DELETE /v1/{prefix}/namespaces/{namespace}',
  updateProperties: 'POST /v1/{prefix}/namespaces/{namespace}/properties',
  listTables: 'GET /v1/{prefix}/namespaces/{namespace}/tables',
  createTable: 'POST /v1/{prefix}/namespaces/{namespace}/tables',
  loadTable: 'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  tableExists: 'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  updateTable: 'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  dropTable: 'DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  registerTable: 'POST /v1/{prefix}/namespaces/{namespace}/register',
  loadCredentials: 'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials',
  reportMetrics: 'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics',
  renameTable: 'POST /v1/{prefix}/tables/rename',
  commitTransaction: 'POST /v1/{prefix}/transactions/commit',
  listViews: 'GET /v1/{prefix}/namespaces/{namespace}/views',
  createView: 'POST /v1/{prefix}/namespaces/{namespace}/views',
  loadView: 'GET /v1/{prefix}/namespaces/{namespace}/views/{view}',
  viewExists: 'HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}',
  replaceView: 'POST /v1/{prefix}/namespaces/{namespace}/views/{view}',
  dropView: 'DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}',
  renameView: 'POST /v1/{prefix}/views/rename',
} as const

export type EndpointName = keyof typeof endpoints

/** What a server has whose `config` lists nothing, as the specification says. */
export const endpointsUnlessListed: readonly EndpointName[] = [
  'listNamespaces',
  'createNamespace',
  'loadNamespaceMetadata',
  'dropNamespace',
  'updateProperties',
  'listTables',
  'createTable',
  'loadTable',
  'updateTable',
  'dropTable',
  'registerTable',
  'reportMetrics',
  'renameTable',
  'commitTransaction',
]

/** The endpoints without which no server can be judged. */
export const indispensable: readonly EndpointName[] = [
  'createNamespace',
  'dropNamespace',
  'listTables',
  'createTable',
  'loadTable',
  'updateTable',
  'dropTable',
]

/** What servers may lack besides endpoints, and how a server shows that it does. */
export const features = {
  etags: 'A loaded table has no ETag.',
  pages: 'A listing has no next page, whatever size is asked for.',
  nested: 'A namespace below another one is refused.',
  v3: 'A table of version 3 is refused.',
} as const

export type IcebergFeature = keyof typeof features

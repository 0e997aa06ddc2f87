import {
  answering,
  asking,
  type Body,
  broken,
  confusing,
  copying,
  failing,
  forgetting,
  ignoring,
  inParts,
  isCommit,
  isListing,
  isTable,
  isTables,
  isView,
  json,
  paging,
  remembering,
  repeating,
  type Send,
  tagged,
  taggedByFile,
  typed,
  withMetadata,
  withoutHeader,
} from './iceberg-ways.ts'

/** Servers each broken in one way, with the case that must notice. */
export const brokenIcebergs: readonly (readonly [
  name: string,
  rule: string,
  make: (real: Send, token: string) => Send,
])[] = [
  // Errors.
  [
    'answers conflicts with 400',
    'iceberg.requirements-all',
    failing(409, (body) => ({ status: 400, body: { error: { ...body.error, code: 400 } } })),
  ],
  [
    'says 400 in the body of a conflict',
    'iceberg.requirements-all',
    failing(409, ({ error }) => ({ status: 409, body: { error: { ...error, code: 400 } } })),
  ],
  [
    'answers errors without an object around them',
    'iceberg.table-missing',
    failing(404, ({ error }) => ({ status: 404, body: error ?? {} })),
  ],
  [
    'answers errors with a page',
    'iceberg.unknown-path',
    failing(400, () => ({ status: 400, body: '<h1>No</h1>', type: 'text/html' })),
  ],
  [
    'calls a missing table a missing file',
    'iceberg.table-missing',
    typed(404, 'NoSuchTableException', 'NotFoundException'),
  ],
  [
    'calls a missing view a missing table',
    'iceberg.view-missing',
    typed(404, 'NoSuchViewException', 'NoSuchTableException'),
  ],
  [
    'calls a missing namespace a missing table',
    'iceberg.namespace-missing',
    typed(404, 'NoSuchNamespaceException', 'NoSuchTableException'),
  ],
  [
    'lets in everybody',
    'iceberg.unauthorized',
    (real, token) =>
      broken((asked, ask) => {
        const headers = new Headers(asked.headers)
        headers.set('authorization', `Bearer ${token}`)
        return ask({ headers })
      })(real),
  ],
  // Configuration.
  [
    'lists an endpoint twice',
    'iceberg.config',
    answering(
      ({ path }) => path === 'config',
      (body) => ({ ...body, endpoints: [...body.endpoints, body.endpoints[0]] }),
    ),
  ],
  [
    'has numbers for defaults',
    'iceberg.config',
    answering(
      ({ path }) => path === 'config',
      (body) => ({ ...body, defaults: { clients: 4 } }),
    ),
  ],
  // Namespaces.
  [
    'loses properties of namespaces',
    'iceberg.namespace',
    asking(
      ({ path }) => path === 'namespaces',
      (body) => ({ ...body, properties: {} }),
    ),
  ],
  [
    'forgets what it removed from a namespace',
    'iceberg.namespace-properties',
    answering(
      ({ path }) => path.endsWith('/properties'),
      (body) => ({ ...body, removed: [] }),
    ),
  ],
  [
    'sets what it is to remove as well',
    'iceberg.namespace-properties-both',
    asking(
      ({ path }) => path.endsWith('/properties'),
      (body) => ({ ...body, removals: body.removals.filter((one: string) => !(one in body.updates)) }),
    ),
  ],
  [
    'lists names below the parent alone',
    'iceberg.namespace-nested',
    answering(
      ({ method, path }) => method === 'GET' && path === 'namespaces',
      (body) => ({ ...body, namespaces: body.namespaces.map((one: string[]) => one.slice(-1)) }),
    ),
  ],
  [
    'lists the root for any parent',
    'iceberg.namespace-nested',
    broken(({ path, method }, ask) =>
      method === 'GET' && path === 'namespaces' ? ask({ query: new URLSearchParams() }) : ask(),
    ),
  ],
  [
    'decodes paths twice',
    'iceberg.namespace-names',
    broken(({ path }, ask) => ask({ path: path.replaceAll('%25', '%') })),
  ],
  [
    'answers HEAD with 200 for what is not there',
    'iceberg.namespace-exists',
    broken(async ({ method }, ask) => {
      const response = await ask()
      return method === 'HEAD' && response.status === 404 ? new Response(null, { status: 200 }) : response
    }),
  ],
  // Tables.
  [
    'lists staged tables, and creates them',
    'iceberg.staged',
    asking(
      ({ method, path }) => method === 'POST' && isTables(path),
      (body) => ({ ...body, 'stage-create': false }),
    ),
  ],
  ['gives a staged table another UUID', 'iceberg.staged', forgetting('assign-uuid')],
  [
    'drops nothing, and says that it did',
    'iceberg.drop',
    broken(async ({ method, path }, ask) =>
      method === 'DELETE' && isTable(path) ? new Response(null, { status: 204 }) : ask(),
    ),
  ],
  ['keeps the old name of a renamed table', 'iceberg.rename', copying],
  [
    'registers under a taken name',
    'iceberg.register-refused',
    asking(
      ({ path }) => path.endsWith('/register'),
      (body) => ({ ...body, overwrite: true }),
    ),
  ],
  ['loses the last item of each page', 'iceberg.table-pages', paging((items) => items.slice(0, -1))],
  ['repeats an item on each page', 'iceberg.table-pages', repeating()],
  [
    'answers all at once, whatever the size of a page',
    'iceberg.table-pages',
    broken(({ path, query }, ask) =>
      isListing(path) && query.has('pageSize') ? ask({ query: new URLSearchParams() }) : ask(),
    ),
  ],
  [
    'lists views as tables',
    'iceberg.view-list',
    broken(({ path }, ask) => ask({ path: path.replace(/\/views$/, '/tables') })),
  ],
  [
    'has all snapshots, whichever are asked for',
    'iceberg.snapshots-refs',
    broken(({ path }, ask) => (isTable(path) ? ask({ query: new URLSearchParams() }) : ask())),
  ],
  [
    'loses properties of new tables',
    'iceberg.table',
    asking(
      ({ method, path }) => method === 'POST' && isTables(path),
      ({ properties, ...body }) => body,
    ),
  ],
  [
    'loses the partition spec of new tables',
    'iceberg.table-parts',
    asking(
      ({ method, path }) => method === 'POST' && isTables(path),
      ({ 'partition-spec': _, ...body }) => body,
    ),
  ],
  // Commits.
  ['ignores the UUID that is required', 'iceberg.assert-table-uuid', ignoring(/^assert-table-uuid$/)],
  [
    'ignores the snapshot that is required',
    'iceberg.assert-ref-snapshot-id',
    ignoring(/^assert-ref-snapshot-id$/),
  ],
  [
    'ignores the default spec that is required',
    'iceberg.assert-default-spec-id',
    ignoring(/^assert-default-spec-id$/),
  ],
  [
    'ignores the current schema that is required',
    'iceberg.assert-current-schema-id',
    ignoring(/^assert-current-schema-id$/),
  ],
  ['ignores requirements that it does not know', 'iceberg.requirement-unknown', ignoring(/weather/)],
  ['ignores updates that it does not know', 'iceberg.update-unknown', forgetting('do-magic')],
  ['ignores removals of properties', 'iceberg.set-properties', forgetting('remove-properties')],
  ['keeps removed snapshots', 'iceberg.remove-snapshots', forgetting('remove-snapshots')],
  [
    'loses tags',
    'iceberg.set-snapshot-ref',
    withMetadata((metadata) => ({
      refs: Object.fromEntries(
        Object.entries(metadata.refs ?? {}).filter(([, ref]) => (ref as Body).type !== 'tag'),
      ),
    })),
  ],
  ['loses statistics', 'iceberg.set-statistics', forgetting('set-statistics')],
  ['loses keys of encryption', 'iceberg.encryption-keys', forgetting('add-encryption-key')],
  [
    'never raises the sequence number',
    'iceberg.add-snapshot',
    withMetadata(() => ({ 'last-sequence-number': 0 })),
  ],
  [
    'never raises the next row id',
    'iceberg.row-lineage',
    withMetadata((metadata) => ('next-row-id' in metadata ? { 'next-row-id': 0 } : {})),
  ],
  ['has no log of metadata files', 'iceberg.metadata-file', withMetadata(() => ({ 'metadata-log': [] }))],
  ['has no log of snapshots', 'iceberg.snapshot-log', withMetadata(() => ({ 'snapshot-log': [] }))],
  [
    'loses digits',
    'iceberg.digits',
    broken(async (_, ask) => {
      const response = await ask()
      return response.ok && response.status === 200
        ? json(200, JSON.stringify(JSON.parse(await response.text())), response.headers)
        : response
    }),
  ],
  [
    'answers a commit with the state before it',
    'iceberg.set-properties',
    broken(async (asked, ask) => {
      if (!isCommit(asked)) return ask()
      const before = await ask({ method: 'GET' })
      const made = await ask()
      return made.ok && before.ok ? before : made
    }),
  ],
  [
    'says that all commits were made',
    'iceberg.one-wins',
    broken(async (asked, ask) => {
      const response = await ask()
      return isCommit(asked) && response.status === 409 ? ask({ method: 'GET' }) : response
    }),
  ],
  [
    'takes a list for an empty body',
    'iceberg.body',
    broken((asked, ask) => (Array.isArray(asked.body) ? ask({ body: {} }) : ask())),
  ],
  // Transactions.
  ['makes half of a transaction', 'iceberg.transaction-none', inParts],
  ['makes half of a transaction with an update that does not fit', 'iceberg.transaction-invalid', inParts],
  ['makes half of a transaction with a missing table', 'iceberg.transaction-missing', inParts],
  ['creates a table before its transaction failed', 'iceberg.transaction-creates', inParts],
  [
    'makes the first change of a transaction alone',
    'iceberg.transaction',
    asking(
      ({ path }) => path === 'transactions/commit',
      (body) => ({ 'table-changes': body['table-changes'].slice(0, 1) }),
    ),
  ],
  // Views.
  [
    'loses earlier versions of a view',
    'iceberg.view-replace',
    withMetadata(
      (metadata) => ({
        versions: metadata.versions.filter(
          (one: Body) => one['version-id'] === metadata['current-version-id'],
        ),
      }),
      isView,
    ),
  ],
  [
    'has no log of versions of a view',
    'iceberg.view-replace',
    withMetadata(() => ({ 'version-log': [] }), isView),
  ],
  ['ignores the UUID that is required of a view', 'iceberg.view-refused', ignoring(/^assert-view-uuid$/)],
  ['loses properties of a view', 'iceberg.view-updates', forgetting('set-properties')],
  [
    'drops no view',
    'iceberg.view-drop',
    broken(async ({ method, path }, ask) =>
      method === 'DELETE' && isView(path) ? new Response(null, { status: 204 }) : ask(),
    ),
  ],
  // Answers that are known already.
  ['has one ETag for all times', 'iceberg.etag', tagged(() => '"always"')],
  ['has an ETag by the metadata file alone', 'iceberg.etag-mode', taggedByFile],
  ['takes no ETag', 'iceberg.etag', withoutHeader('if-none-match')],
  ['answers a load from its memory', 'iceberg.add-snapshot', remembering(({ path }) => isTable(path))],
  ['knows no idempotency key', 'iceberg.idempotency-key', withoutHeader('idempotency-key')],
  ['takes all idempotency keys for one', 'iceberg.idempotency-other-key', confusing()],
]

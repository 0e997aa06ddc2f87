import {
  CatalogError,
  type CatalogOptions,
  openCatalog,
  type RowsRequest,
} from '../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../src/testing/suites/catalog/trial.ts'
import { brokenColumns } from './columns.ts'
import { brokenSessions } from './sessions.ts'
import { brokenFeeds } from './watching.ts'

type Request = Record<string, never> & { [field: string]: unknown }
type Call = (request: Request, options?: object) => Promise<Request>
type Calls = { readonly [Name in keyof CatalogUnderTest]: Call }
type Broken = { readonly [Name in keyof CatalogUnderTest]?: Call }

/** A correct catalog with some operations replaced. The replacements may use the original ones. */
function broken(
  replace: (real: Calls) => Broken,
  options: CatalogOptions = {},
): () => Promise<CatalogUnderTest> {
  return async () => {
    const sound = await openCatalog('memory:', options)
    const others = replace(sound as unknown as Calls)
    return new Proxy(sound, {
      get: (target, name) => Reflect.get(name in others ? others : target, name) as unknown,
    }) as unknown as CatalogUnderTest
  }
}

/** Dropped tables are held in these. */
const holding = { retainDropped: 3_600_000 }

const namesOf = (id: unknown) => id as string[]

/** Pages by position: a token is the number of preceding names. */
function byPosition(real: Calls): Broken {
  return {
    listTables: async ({ page_token, limit = 1000, ...request }) => {
      const { tables } = (await real.listTables(request as Request)) as unknown as { tables: string[] }
      const start = page_token === undefined ? 0 : Number(String(page_token).slice('position-'.length)) || 0
      const end = start + Number(limit)
      const next = end < tables.length ? { page_token: `position-${end}` } : {}
      return { tables: tables.slice(start, end), ...next } as unknown as Request
    },
  }
}

/** Commits the operations of a batch separately. */
function oneByOne(real: Calls): Broken {
  return {
    batchCommitTables: async (request) => {
      const operations = request.operations as unknown as object[]
      if (!Array.isArray(operations) || operations.length === 0) return real.batchCommitTables(request)
      const results: unknown[] = []
      let last: Request = {} as Request
      for (const [i, operation] of operations.entries()) {
        try {
          last = await real.batchCommitTables({ ...request, operations: [operation] } as unknown as Request)
        } catch (error) {
          const { code, message } = error as CatalogError
          throw new CatalogError(code, message.replace('[0]', `[${i}]`))
        }
        results.push(...(last.results as unknown as unknown[]))
        await new Promise((resolve) => setImmediate(resolve))
      }
      return { ...last, results } as unknown as Request
    },
  }
}

const answered = (call: Call, change: (answer: Request, request: Request) => unknown): Call => {
  return async (request, options) => change(await call(request, options), request) as Request
}

const asked = (call: Call, change: (request: Request) => unknown): Call => {
  return (request, options) => call(change(request) as Request, options)
}

const withTables = (call: Call, change: (tables: string[], request: Request) => string[]): Call =>
  answered(call, (answer, request) => ({
    ...answer,
    tables: change(answer.tables as unknown as string[], request),
  }))

/** Turns a refusal with this code into a response. */
const despite = (call: Call, code: string, answer: (request: Request) => unknown): Call => {
  return async (request, options) => {
    try {
      return await call(request, options)
    } catch (error) {
      if ((error as { code?: unknown }).code !== code) throw error
      return (await answer(request)) as Request
    }
  }
}

const versionTaken = ({ version, ...rest }: Request) => ({
  version: { version, timestamp_millis: 0, metadata: {}, ...rest },
})

type Mutant = readonly [name: string, rule: string, open: () => Promise<CatalogUnderTest>]

/** Catalogs each broken in one way, with the case that must notice. */
export const brokenCatalogs: readonly Mutant[] = [
  ['takes names in any case', 'name.as-given', broken((real) => lowerCase(real))],
  [
    'takes names with control characters',
    'name.refused',
    broken((real) => ({
      declareTable: asked(real.declareTable, (request) => ({
        ...request,
        id: namesOf(request.id).map((name) => name.replace(/[\0\n]/g, '')),
      })),
    })),
  ],
  [
    'drops namespaces with all in them unasked',
    'namespace.drop',
    broken((real) => ({
      dropNamespace: asked(real.dropNamespace, (request) => ({ ...request, behavior: 'Cascade' })),
    })),
  ],
  [
    'overwrites a namespace that may exist',
    'namespace.taken',
    broken((real) => ({
      createNamespace: asked(real.createNamespace, (request) => ({
        ...request,
        mode: request.mode ? 'Overwrite' : 'Create',
      })),
    })),
  ],
  [
    'lists tables of one level only',
    'list.recursive',
    broken((real) => ({
      listTables: withTables(real.listTables, (tables, { id }) =>
        tables.filter((name) => name.split('$').length === namesOf(id).length + 1),
      ),
    })),
  ],
  [
    'orders names as JavaScript does',
    'list.order',
    broken((real) => ({ listTables: withTables(real.listTables, (tables) => tables.sort()) })),
  ],
  [
    'lists declared tables always',
    'list.declared',
    broken((real) => ({
      listTables: asked(real.listTables, (request) => ({ ...request, include_declared: true })),
    })),
  ],
  ['pages by position, so that pages shift', 'list.stable', broken(byPosition)],
  ['takes a token for any request', 'list.token', broken(byPosition)],
  [
    'gives one name more than the limit',
    'list.paging',
    broken((real) => ({
      listTables: asked(real.listTables, (request) => ({ ...request, limit: Number(request.limit) + 1 })),
    })),
  ],
  [
    'takes limit 0 for none',
    'list.limit',
    broken((real) => ({
      listTables: asked(real.listTables, (request) => ({ ...request, limit: request.limit || undefined })),
    })),
  ],
  [
    'does not end its listing with a missing token',
    'list.paging',
    broken((real) => ({
      listTables: answered(real.listTables, (answer) => ({ page_token: 'end', ...answer })),
    })),
  ],
  [
    'joins names by `$` whatever the delimiter',
    'list.delimiter',
    broken((real) => ({ listTables: asked(real.listTables, ({ delimiter, ...request }) => request) })),
  ],
  [
    'says TableNotFound of a missing namespace',
    'list.missing',
    broken((real) => ({
      listTables: despite(real.listTables, 'NamespaceNotFound', () =>
        Promise.reject(new CatalogError('TableNotFound', 'There is no such table.')),
      ),
    })),
  ],
  [
    'answers for tables that are not there',
    'table.missing',
    broken((real) => ({
      describeTable: despite(real.describeTable, 'TableNotFound', () => ({ location: 's3://bucket/none' })),
    })),
  ],
  [
    'declares a table over another',
    'table.taken',
    broken((real) => ({
      declareTable: despite(real.declareTable, 'TableAlreadyExists', () => ({
        location: 's3://bucket/other',
      })),
    })),
  ],
  [
    'gives one location to two tables',
    'table.one-location',
    broken((real) => ({
      declareTable: despite(real.declareTable, 'TableAlreadyExists', ({ id }) =>
        real.declareTable({ id } as unknown as Request),
      ),
    })),
  ],
  [
    'does not look at the signal',
    'table.aborted',
    broken((real) => ({ declareTable: (request) => real.declareTable(request) })),
  ],
  [
    'answers with properties that it does not keep',
    'table.properties',
    broken((real) => ({
      updateTableProperties: async ({ id, updates, removals }) => {
        const { properties } = await real.describeTable({ id } as unknown as Request)
        const kept: Record<string, string> = {
          ...(properties as unknown as object),
          ...(updates as unknown as object),
        }
        const names = removals as unknown as string[]
        const missing = names.filter((name) => !Object.hasOwn(properties as unknown as object, name))
        for (const name of names) delete kept[name]
        return { properties: kept, missing } as unknown as Request
      },
    })),
  ],
  [
    'replaces all properties of a table',
    'table.properties',
    broken((real) => ({
      updateTableProperties: async (request, options) => {
        const { properties } = await real.describeTable({ id: request.id } as unknown as Request)
        const set = Object.keys((request.updates ?? {}) as unknown as object)
        const removals = Object.keys(properties as unknown as object).filter((name) => !set.includes(name))
        return real.updateTableProperties({ ...request, removals } as unknown as Request, options)
      },
    })),
  ],
  [
    'removes no properties of a namespace',
    'namespace.properties',
    broken((real) => ({
      updateNamespaceProperties: asked(
        real.updateNamespaceProperties,
        ({ removals: _, ...request }) => request,
      ),
    })),
  ],
  [
    'forgets the location of what it deregisters',
    'table.deregister',
    broken((real) => ({
      deregisterTable: answered(real.deregisterTable, ({ location, ...answer }) => answer),
    })),
  ],
  [
    'loses tags when it renames',
    'rename.keeps',
    broken((real) => ({
      renameTable: async (request, options) => {
        const { tags } = await real.listTableTags({ id: request.id } as unknown as Request)
        for (const tag of Object.keys(tags ?? {}))
          await real.deleteTableTag({ id: request.id, tag } as unknown as Request)
        return real.renameTable(request, options)
      },
    })),
  ],
  [
    'renames over a taken name',
    'rename.taken',
    broken((real) => ({
      renameTable: despite(real.renameTable, 'TableAlreadyExists', async (request) => {
        const target = [...namesOf(request.id).slice(0, -1), String(request.new_table_name)]
        await real.dropTable({ id: target } as unknown as Request)
        return real.renameTable(request)
      }),
    })),
  ],
  [
    'does not move to the root',
    'rename.root',
    broken((real) => ({
      renameTable: asked(real.renameTable, ({ new_namespace_id, ...request }) =>
        namesOf(new_namespace_id ?? []).length ? { ...request, new_namespace_id } : request,
      ),
    })),
  ],
  [
    'takes any higher version number',
    'version.next',
    broken((real) => ({
      createTableVersion: despite(real.createTableVersion, 'ConcurrentModification', versionTaken),
    })),
  ],
  [
    'gives the number of a deleted version again',
    'version.never-reused',
    broken((real) => ({
      createTableVersion: despite(real.createTableVersion, 'ConcurrentModification', versionTaken),
    })),
  ],
  ['refuses the same version again', 'version.again', broken((real) => refusingAgain(real))],
  [
    'has the end of a range in it',
    'version.delete',
    broken((real) => ({
      batchDeleteTableVersions: asked(real.batchDeleteTableVersions, (request) => ({
        ...request,
        ranges: (request.ranges as unknown as { start_version: number; end_version: number }[]).map(
          ({ start_version, end_version }) => ({
            start_version,
            end_version: end_version < 0 ? -1 : end_version + 1,
          }),
        ),
      })),
    })),
  ],
  [
    'deletes tagged versions',
    'tag.protects',
    broken((real) => ({
      batchDeleteTableVersions: despite(
        real.batchDeleteTableVersions,
        'InvalidTableState',
        async (request) => {
          const { tags } = await real.listTableTags({ id: request.id } as unknown as Request)
          for (const tag of Object.keys(tags ?? {}))
            await real.deleteTableTag({ id: request.id, tag } as unknown as Request)
          return real.batchDeleteTableVersions(request)
        },
      ),
    })),
  ],
  [
    'creates the tag it should only move',
    'tag.update',
    broken((real) => ({
      updateTableTag: despite(real.updateTableTag, 'TableTagNotFound', (request) =>
        real.createTableTag(request),
      ),
    })),
  ],
  [
    'takes any branch for the main branch',
    'branch.numbering',
    broken((real) => ({
      createTableVersion: asked(real.createTableVersion, ({ branch, ...request }) => request),
    })),
  ],
  ['commits the parts of a batch alone', 'batch.atomic', broken(oneByOne)],
  ['lets others see half of a batch', 'batch.seen-whole', broken(oneByOne)],
  [
    'does not say which operation of a batch failed',
    'batch.atomic',
    broken((real) => ({
      batchCommitTables: (request) =>
        real.batchCommitTables(request).catch(({ code, message }) => {
          throw new CatalogError(code, String(message).replace(/operations\[\d+\]/, 'an operation'))
        }),
    })),
  ],
  [
    'answers a batch in another order',
    'batch.results',
    broken((real) => ({
      batchCommitTables: answered(real.batchCommitTables, (answer) => ({
        ...answer,
        results: (answer.results as unknown as unknown[]).toReversed(),
      })),
    })),
  ],
  [
    'makes a change without a transaction',
    'transaction.recorded',
    broken((real) => ({
      renameTable: answered(real.renameTable, ({ transaction_id, ...answer }) => answer),
    })),
  ],
  [
    'forgets transactions at once',
    'transaction.recorded',
    broken(() => ({
      describeTransaction: () =>
        Promise.reject(new CatalogError('TransactionNotFound', 'There is no such transaction.')),
    })),
  ],
  [
    'lists the oldest transaction first',
    'transaction.listed',
    broken((real) => ({
      listTransactions: answered(real.listTransactions, (answer) => ({
        ...answer,
        transactions: (answer.transactions as unknown as unknown[]).toReversed(),
      })),
    })),
  ],
  [
    'lists transactions of any status',
    'transaction.listed',
    broken((real) => ({
      listTransactions: asked(real.listTransactions, ({ status, ...request }) => request),
    })),
  ],
  [
    'tells statuses in small letters',
    'transaction.status-case',
    broken((real) => ({
      alterTransaction: answered(real.alterTransaction, (answer) => ({
        ...answer,
        status: String(answer.status).toLowerCase(),
      })),
    })),
  ],
  [
    'counts the latest version always',
    'rows.count',
    broken((real) => ({ countTableRows: asked(real.countTableRows, ({ version, ...request }) => request) })),
  ],
  [
    'deletes rows of which nothing is known',
    'rows.null',
    broken((real) => ({
      deleteFromTable: asked(real.deleteFromTable, (request) => ({
        ...request,
        predicate: `(${request.predicate}) IS NOT FALSE`,
      })),
    })),
  ],
  [
    'makes no version of a delete that matches nothing',
    'rows.versions',
    broken((real) => ({
      deleteFromTable: async (request) => {
        const { count } = await real.countTableRows({
          id: request.id,
          predicate: request.predicate,
        } as unknown as Request)
        return count ? real.deleteFromTable(request) : ({ version: 3 } as unknown as Request)
      },
    })),
  ],
  [
    'keeps some rows of an insert it refuses',
    'rows.insert-refused',
    broken((real) => ({
      insertIntoTable: despite(real.insertIntoTable, 'TableSchemaValidationError', async ({ id }) => {
        await real.insertIntoTable({ id, data: [{ n: 1, odd: true, text: 'x' }] } as unknown as Request)
        throw new CatalogError('TableSchemaValidationError', 'A row has another column.')
      }),
    })),
  ],
  [
    'fills what an insert leaves out with values of its own',
    'rows.left-out',
    broken((real) => ({
      insertIntoTable: asked(real.insertIntoTable, (request) => ({
        ...request,
        data: (request.data as unknown as object[]).map((row) => ({ odd: false, text: '', ...row })),
      })),
    })),
  ],
  [
    'updates one column after the other',
    'rows.update',
    broken((real) => ({
      updateTable: asked(real.updateTable, (request) => ({
        ...request,
        updates: (request.updates as unknown as [string, string][]).map(([column, value]) => [
          column,
          column === 'odd' ? value.replace('n > 50', 'n + 100 > 50') : value,
        ]),
      })),
    })),
  ],
  [
    'updates other rows where the value of one fails',
    'rows.update-refused',
    broken((real) => ({
      updateTable: despite(real.updateTable, 'InvalidInput', async (request) => {
        await real.updateTable({ ...request, updates: [['n', 'n + 1']] } as unknown as Request)
        throw new CatalogError('InvalidInput', 'A value failed.')
      }),
    })),
  ],
  [
    'inserts what it should update',
    'rows.merge',
    broken((real) => ({
      mergeInsertIntoTable: async (request) => {
        if (!request.when_matched_update_all) return real.mergeInsertIntoTable(request)
        const { id, data } = request
        await real.insertIntoTable({ id, data } as unknown as Request)
        return {
          num_inserted_rows: 1,
          num_updated_rows: 1,
          num_deleted_rows: 0,
          version: 2,
        } as unknown as Request
      },
    })),
  ],
  [
    'takes NULL for a key like any other',
    'rows.merge-keys',
    broken((real) => ({
      mergeInsertIntoTable: async (request) => {
        const { id } = request
        const answer = await real.mergeInsertIntoTable(request)
        await real.deleteFromTable({ id, predicate: 'text IS NULL AND n = 9' } as unknown as Request)
        return answer
      },
    })),
  ],
  [
    'loses an update where several come at once',
    'rows.no-lost-update',
    broken((real) => {
      let updates = 0
      return {
        updateTable: (request) =>
          ++updates % 3 === 2
            ? real.updateTable({ ...request, predicate: 'false' } as unknown as Request)
            : real.updateTable(request),
      }
    }),
  ],
  [
    'searches without regard to the measure',
    'rows.search',
    broken((real) => ({
      queryTable: asked(real.queryTable, ({ distance_type, ...request }) => request),
    })),
  ],
  [
    'filters what a search found rather than what it searches',
    'rows.search',
    broken((real) => ({
      queryTable: asked(real.queryTable, (request) =>
        request.vector ? ({ ...request, prefilter: false, k: 1 } as never) : request,
      ),
    })),
  ],
  [
    'counts the rows of the first version',
    'rows.plans',
    broken((real) => ({
      getTableStats: answered(real.getTableStats, (stats) => ({ ...stats, num_rows: 5 })),
    })),
  ],
  [
    'explains any query',
    'rows.plans',
    broken(() => ({ explainTableQueryPlan: async () => ({ plan: 'scan' }) as unknown as Request })),
  ],
  [
    'lists the indexes of today for any version',
    'rows.indices',
    broken((real) => ({
      listTableIndices: asked(real.listTableIndices, ({ version, ...request }) => request),
    })),
  ],
  [
    'lists indexes with other numbers of rows than their statistics have',
    'rows.indices',
    broken((real) => ({
      listTableIndices: answered(real.listTableIndices, ({ indexes, ...answer }) => ({
        ...answer,
        indexes: (indexes as unknown as object[]).map((index) => ({
          ...index,
          num_indexed_rows: 0,
          num_unindexed_rows: 5,
        })),
      })),
    })),
  ],
  [
    'replaces an index of another column',
    'rows.indices',
    broken((real) => ({
      createTableIndex: despite(real.createTableIndex, 'TableIndexAlreadyExists', async (request) => {
        await real.dropTableIndex({ id: request.id, index_name: request.name } as unknown as Request)
        return real.createTableIndex(request)
      }),
    })),
  ],
  ['adds metadata to what there was', 'rows.metadata', broken((real) => addingMetadata(real))],
  [
    'changes the main branch for any',
    'rows.branch',
    broken((real) => ({ deleteFromTable: asked(real.deleteFromTable, ({ branch, ...request }) => request) })),
  ],
  [
    'clones the latest version, whichever is named',
    'rows.clone',
    broken((real) => ({
      cloneTable: asked(real.cloneTable, ({ source_version, ...request }) =>
        source_version === 1 ? request : { ...request, source_version },
      ),
    })),
  ],
  [
    'drops the rows of clones with their source',
    'rows.clone',
    broken((real) => {
      const clones = new Map<string, unknown[]>()
      return {
        cloneTable: answered(real.cloneTable, (answer, { id, source }) => {
          clones.set(String(source), [...(clones.get(String(source)) ?? []), id])
          return answer
        }),
        dropTable: answered(real.dropTable, async (answer, { id }) => {
          for (const clone of clones.get(String(id)) ?? [])
            await real.deleteFromTable({ id: clone, predicate: 'true' } as unknown as Request).catch(() => {})
          return answer
        }),
      }
    }),
  ],
  [
    'gives the clone and its source one content',
    'rows.clone',
    broken((real) => {
      let clone: string | undefined
      let source: unknown
      return {
        cloneTable: answered(real.cloneTable, (answer, request) => {
          clone ??= String(request.id)
          source ??= request.source
          return answer
        }),
        deleteFromTable: async (request) => {
          const answer = await real.deleteFromTable(request)
          if (String(request.id) === clone)
            await real.deleteFromTable({ ...request, id: source } as unknown as Request)
          return answer
        },
      }
    }),
  ],
  [
    'leaves the content of what it drops',
    'rows.dropped',
    broken((real) => ({ dropTable: (request) => real.deregisterTable(request) })),
  ],
  [
    'loses an insert',
    'rows.at-once',
    broken((real) => {
      let inserts = 0
      return {
        insertIntoTable: (request) =>
          ++inserts === 3
            ? real.deleteFromTable({ id: request.id, predicate: 'false' } as unknown as Request)
            : real.insertIntoTable(request),
      }
    }),
  ],
  ...brokenColumns,
  ...brokenSessions,
  ...brokenFeeds,
  [
    'does nothing where it should refuse',
    'lacking.createMaterializedView',
    broken(() => ({ createMaterializedView: async () => ({}) as Request })),
  ],
  [
    'computes a column from its name alone',
    'rows.computed',
    broken((real) => ({
      queryTable: asked(real.queryTable, (request) => {
        const { columns } = request as { columns?: { column_aliases?: Record<string, string> } }
        if (columns?.column_aliases?.m === undefined) return request
        return { ...request, columns: { column_aliases: { ...columns.column_aliases, m: 'n' } } }
      }),
    })),
  ],
  [
    'sorts by the first key alone',
    'rows.order',
    broken((real) => ({
      queryTable: asked(real.queryTable, (request) => {
        const { order_by } = request as { order_by?: object[] }
        return order_by ? { ...request, order_by: order_by.slice(0, 1) } : request
      }),
    })),
  ],
  [
    'tells differences without regard to keys',
    'rows.differences',
    broken((real) => ({ tableChanges: asked(real.tableChanges, ({ on, ...request }) => request) })),
  ],
  [
    'tells differences to the latest version only',
    'rows.differences',
    broken((real) => ({ tableChanges: asked(real.tableChanges, ({ to, ...request }) => request) })),
  ],
  ['brings dropped tables back without their versions', 'table.undrop', broken(forgettingVersions, holding)],
  ['brings dropped tables back over others', 'table.undrop', broken(undroppingOver, holding)],
  [
    'lists dropped tables and says that none comes back',
    'table.undrop',
    broken(
      (real) => ({ undropTable: asked(real.undropTable, (request) => ({ ...request, table_id: 'x' })) }),
      holding,
    ),
  ],
  [
    'holds tables that are to be purged',
    'table.undrop',
    broken((real) => ({ dropTable: asked(real.dropTable, ({ purge, ...request }) => request) }), holding),
  ],
  [
    'brings back what it does not list',
    'table.undrop',
    broken(() => ({ listDroppedTables: async () => ({ dropped: [] }) as unknown as Request }), holding),
  ],
  [
    'takes rows by their places for their ids',
    'rows.ids',
    broken((real) => ({
      queryTable: asked(real.queryTable, (request) => {
        const { filter } = request as { filter?: string }
        return filter === undefined ? request : { ...request, filter: filter.replace('_rowid', '_rowoffset') }
      }),
    })),
  ],
  [
    'freezes its answers',
    'answer.own',
    broken((real) => ({ describeTable: answered(real.describeTable, frozen) })),
  ],
  [
    'gives the same answer to all who ask',
    'answer.own',
    broken((real) => ({ describeTable: once(real.describeTable) })),
  ],
  [
    'gives the same properties to all who ask',
    'answer.own',
    broken((real) => {
      const given = new Map<string, unknown>()
      return {
        describeNamespace: answered(real.describeNamespace, (answer, { id }) => {
          const key = String(id)
          given.set(key, given.get(key) ?? answer.properties)
          return { ...answer, properties: given.get(key) }
        }),
      }
    }),
  ],
  [
    'freezes its answers inside of transactions',
    'answer.own-inside',
    broken((real) => ({
      listTableVersions: async (request, options) => {
        const answer = await real.listTableVersions(request, options)
        return options && 'transaction' in options ? (frozen(answer) as Request) : answer
      },
    })),
  ],
  [
    'goes over the first page of rows only',
    'rows.objects',
    async () => {
      const sound = await openCatalog('memory:')
      const { rows } = sound
      return Object.assign(sound, { rows: (request: RowsRequest) => rows({ ...request, limit: 1_000 }) })
    },
  ],
]

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}

/** Caches the response of each request. */
function once(call: Call): Call {
  const kept = new Map<string, Promise<Request>>()
  return (request, options) => {
    const key = JSON.stringify([request, options])
    const answer = kept.get(key) ?? call(request, options)
    kept.set(key, answer)
    return answer
  }
}

/** Drops tables as they are without their versions. */
function forgettingVersions(real: Calls): Broken {
  return {
    dropTable: async (request) => {
      const ranges = [{ start_version: 1, end_version: 2 }]
      const { id } = request
      await real.deleteTableTag({ id, tag: 'kept' } as unknown as Request).catch(() => {})
      await real.batchDeleteTableVersions({ id, ranges } as unknown as Request).catch(() => {})
      return real.dropTable(request)
    },
  }
}

/** Brings a table back over one that has its name. */
function undroppingOver(real: Calls): Broken {
  return {
    undropTable: async (request) => {
      if (request.new_table_name === undefined)
        await real.dropTable({ id: request.id, purge: true } as unknown as Request).catch(() => {})
      return real.undropTable(request)
    },
  }
}

function lowerCase(real: Calls): Broken {
  const lower = (call: Call) =>
    asked(call, (request) => ({ ...request, id: namesOf(request.id).map((name) => name.toLowerCase()) }))
  return { declareTable: lower(real.declareTable), describeTable: lower(real.describeTable) }
}

function refusingAgain(real: Calls): Broken {
  const made = new Set<string>()
  return {
    createTableVersion: (request) => {
      const name = JSON.stringify([request.id, request.version])
      if (made.has(name)) throw new CatalogError('ConcurrentModification', 'This version exists already.')
      made.add(name)
      return real.createTableVersion(request)
    },
  }
}

function addingMetadata(real: Calls): Broken {
  let all: object = {}
  return {
    updateTableSchemaMetadata: (request) => {
      all = { ...all, ...(request.metadata as object | undefined) }
      return real.updateTableSchemaMetadata({ ...request, metadata: all } as unknown as Request)
    },
  }
}

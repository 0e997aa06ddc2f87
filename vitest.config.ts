import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { leftOutWithoutLance } from './test/support/without-lance.ts'

/** Tests that take longer, many of them with servers of their own. `npm run test:long` runs them. */
const long = [
  'test/catalog/handle/held-memory.test.ts',
  'test/cli/{database,faults,mcp/process,output,restored,shells,streamed-rows,terminal,watch}.test.ts',
  'test/contents/{azure,gcs,s3}/*.test.ts',
  'test/stores/postgres/{adopt,bad-network,catalog,connections,cuts,failover,failures,full-disk,guessed-inserts,pooler,retention,side-by-side,turns}.test.ts',
  'test/processes/{clock-postgres,crash,dropped,full-disk,keyed,linear-postgres,opening,races,retention,rolling,servers,shares,slow-function,slow-function-postgres,upkeep-postgres,versions}.test.ts',
  'test/examples/*.test.ts',
  'test/server/auth/{own-namespace,own-namespace-servers}.test.ts',
  'test/server/{memory,openapi/tools,pages/metrics,readiness,restart,retry-of,steady}.test.ts',
  'test/server/valid-requests.test.ts',
  'test/server/dialects/lancedb/{flows,types/all-types}.test.ts',
  'test/catalog/lance/{append-clients,arriving,arriving-kills,blobs,clients,copies,damaged,differences,duckdb,files-elsewhere,full-disk,isolated,java,kills,newer-formats,objects,process,raced-numbers,schema-metadata-clients,suite-s3,transaction-clients,transaction-histories}.test.ts',
  'test/histories/{batches,combined-long}.test.ts',
  'test/iceberg/clients/{duckdb,faults,import,kit,pyiceberg,signing,spark,suite}.test.ts',
  'test/iceberg/{hostile,kills/kills,large-turns,remote/hostile}.test.ts',
  'test/catalog/maintenance/{clone-histories,vacuum-moments}.test.ts',
  'test/engine/predicate/memory.test.ts',
  'test/engine/predicate/kernels/{functions,kernels,numbers}.test.ts',
  'test/engine/predicate/reference/*.test.ts',
  'test/catalog/rows/{given-bytes,insert-casts,reference,streams-memory,wide-turns}.test.ts',
  'test/stores/lmdb/{damaged-open,inspect,processes,turns}.test.ts',
  'test/engine/parquet/{clients,damaged,spark}.test.ts',
  'test/engine/table/{long-values,memory}.test.ts',
  'test/engine/table/{columns/computed-threads,indexes/oracle,optimize/levels,read/few-rows,read/many-columns,read/order-threads,search/quantized,scan/prefetch-depth}.test.ts',
  'test/package/*.test.ts',
  'test/page/{browser,docs,home,named,table,waiting,widths}.test.ts',
  'test/simulation/{long,mutants}.test.ts',
  'test/{recipes,site}.test.ts',
  'test/soak/waits.test.ts',
  'test/support/scripts.test.ts',
  'test/python/*.test.ts',
  'test/testing/hostile/{fake-timers,timeouts}.test.ts',
  'test/testing/mutants/transactions.test.ts',
  'test/testing/stores/sqlite.test.ts',
  'test/catalog/transactions/{canceled-elsewhere,upkeep}.test.ts',
  'test/web/browser.test.ts',
]

/** What takes a minute or more, the longest first. */
const longest = [
  'test/examples/examples.test.ts',
  'test/catalog/rows/streams-memory.test.ts',
  'test/package/types.test.ts',
  'test/iceberg/large-turns.test.ts',
  'test/server/dialects/lancedb/types/all-types.test.ts',
  'test/iceberg/kills/kills.test.ts',
  'test/simulation/mutants.test.ts',
  'test/contents/gcs/gcs.test.ts',
  'test/examples/proxies.test.ts',
  'test/processes/rolling.test.ts',
  'test/processes/servers.test.ts',
  'test/simulation/long.test.ts',
  'test/server/openapi/tools.test.ts',
  'test/examples/deploy.test.ts',
  'test/catalog/lance/isolated.test.ts',
  'test/catalog/lance/full-disk.test.ts',
  'test/engine/table/memory.test.ts',
]

/** These begin first, so that no worker is left alone with one of them. Vitest begins with the largest files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const first = longest.flatMap((name) => sorted.filter(({ moduleId }) => moduleId.endsWith(`/${name}`)))
    return [...new Set([...first, ...sorted])]
  }
}

/** The entry points of the package, which what is published of the tests imports as its users do. */
const alias = [
  { find: /^tabularium$/, replacement: source('tabularium') },
  { find: /^tabularium\/testing$/, replacement: source('testing') },
  { find: /^tabularium\/content\/memory$/, replacement: source('contents/memory') },
]

function source(room: string): string {
  return fileURLToPath(new URL(`src/${room}/index.ts`, import.meta.url))
}

const left = leftOutWithoutLance()

export default defineConfig(({ mode }) => ({
  resolve: { alias },
  test: {
    ...(mode === 'long'
      ? { include: long, exclude: left }
      : { include: ['test/**/*.test.ts'], exclude: ['node_modules/**', ...long, ...left] }),
    globalSetup: ['test/support/scripts.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Processes rather than threads: LMDB and killed children are part of what is tested.
    pool: 'forks',
    // One more than a small machine has processors: while one waits for a disk or a child, another works.
    maxWorkers: 3,
    // A process runs many files: loading and warming up the same code anew for each takes as long as the tests.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // These limits end what hangs, and say nothing of speed: six times what most tests take on a machine that does nothing
    // else. Files that are rightly slower call `limitEach`. Tests that run for as long as a variable says multiply theirs.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    expect: { poll: { timeout: 15_000 } },
  },
}))

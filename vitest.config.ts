import { defineConfig } from 'vitest/config'

/** Tests against servers of object storage, and the longer ones against PostgreSQL: `npm run test:services`. */
const services = [
  'test/content/{azure,gcs,s3}/*.test.ts',
  'test/store/postgres/{catalog,cuts,failures,turns}.test.ts',
  'test/processes/linear-postgres.test.ts',
]

export default defineConfig(({ mode }) => ({
  test: {
    ...(mode === 'services'
      ? { include: services }
      : { include: ['test/**/*.test.ts'], exclude: ['node_modules/**', ...services] }),
    globalSetup: ['test/support/scripts.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Processes rather than threads: LMDB and killed children are part of what is tested.
    pool: 'forks',
    // One more than a small machine has processors: while one waits for a disk or a child, another works.
    maxWorkers: 3,
    // A process runs many files: loading and warming up the same code anew for each takes as long as the tests.
    isolate: false,
    // These limits end what hangs, and say nothing of speed: a machine may be ten times as busy as it has processors.
    // So most tests need no limit of their own. Those that run for as long as a variable says multiply theirs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
  },
}))

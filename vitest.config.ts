import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/scripts.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Processes rather than threads: LMDB and killed children are part of what is tested.
    pool: 'forks',
    // One more than a small machine has processors: while one waits for a disk or a child, another works.
    maxWorkers: 3,
    // A process runs many files: loading and warming up the same code anew for each takes as long as the tests.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/scripts.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Processes rather than threads: LMDB and killed children are part of what is tested.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

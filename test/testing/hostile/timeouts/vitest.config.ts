import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/testing/hostile/timeouts/by-vitest.ts'],
    pool: 'forks',
    hookTimeout: 100_000,
  },
})
